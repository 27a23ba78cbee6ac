import type { Client } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { type Clock, sleep } from "../../src/lib/clock.ts";
import { SIGNAL } from "./durable-plan.ts";
import type { Random } from "./random.ts";

const LATEST_MS = 9_000;
/** A signal whose answer was lost is sent again, with the same id. */
const MOST_TRIES = 4;
const UNSURE: ReadonlySet<string> = new Set(["store_unavailable", "store_full"]);
const EXPECTED: ReadonlySet<string> = new Set(["wrong_status", "not_found", "closed"]);

/** Who sends signals. */
export interface Sender {
  readonly client: Client;
  readonly clock: Clock;
  /** One incarnation of one process. */
  readonly by: string;
  /** How fast time passes: see DurableWishes. */
  readonly pace: number;
  /** Told what should never happen. */
  readonly onBroken: (error: unknown) => void;
}

/** Sends a job up to three signals of one name, before, while or after it waits for it. */
export async function sendSignals({ client, clock, by, pace, onBroken }: Sender, job: string, random: Random): Promise<void> {
  await Promise.all(
    Array.from({ length: random.int(0, 3) }, async (_, number) => {
      await sleep(clock, random.chance(0.3) ? 0 : random.int(0, LATEST_MS * pace));
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        try {
          return await signalOnce(client, job, `${by} ${number}`);
        } catch (error) {
          const code = error instanceof MillraceError ? error.code : "";
          if (UNSURE.has(code)) continue;
          if (!EXPECTED.has(code)) onBroken(error);
          return undefined;
        }
      }
      return undefined;
    }),
  );
}

export function signalOnce(client: Client, job: string, signal: string): Promise<unknown> {
  return client.signal(job, SIGNAL, { by: signal }, { id: signal });
}
