import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/client/client.ts";
import { clientOver } from "../../../src/assembly/client-over.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { machineNow, type Recorder, recordToFile } from "../../history/recorder.ts";
import { recordingStore } from "../../history/recording-store.ts";
import { Random } from "../../simulation/random.ts";

/** What a process of a run is told. */
export interface MemberWishes {
  readonly url: string;
  readonly history: string;
  /** This incarnation of this process. */
  readonly by: string;
  readonly seed: string;
  /** 0: no worker. */
  readonly slots: number;
  readonly leaseMs: number;
}

/** A process of a run, with its client. */
export interface Member {
  readonly wishes: MemberWishes;
  readonly client: Client;
  readonly recorder: Recorder;
  readonly random: Random;
}

const WATCH_EVERY_MS = 50;
const LEAST_STEP_MS = 1_000;

/** Joins the run: opens the store, however long that takes, and writes down all that is asked of it. */
export async function join(): Promise<Member> {
  const wishes = JSON.parse(process.argv[2]!) as MemberWishes;
  const { url, history, by, seed } = wishes;
  watchClock();
  const random = new Random(seed);
  // Half of it is what a call is waited for: with less, a machine that is only busy would look like a store that is away.
  const deadlineMs = random.pick(wishes.slots > 0 ? [3_000, 10_000] : [1_000, 3_000, 10_000]);
  const { recorder } = recordToFile(history, by);
  const store = await openPatiently(url, deadlineMs);
  const client = clientOver(recordingStore(store, recorder), {
    // Leases are renewed as users have it, from a thread; by some processes from the loop, where the renewals are written down.
    ...(random.chance(0.7) ? { url } : {}),
    clock: systemClock,
    random: Math.random,
    deadlineMs,
    onTrouble: ({ message }) => console.error(message),
  });
  return { wishes, client, recorder, random };
}

/** Says that it is ready, and runs `stop` when it is told to end. */
export function untilStopped(stop: () => Promise<void>): void {
  process.once("SIGTERM", () => void stop());
  console.log("ready");
}

/** A service manager would start it again and again. */
async function openPatiently(url: string, deadlineMs: number): Promise<Store> {
  for (;;) {
    try {
      return await openStore(url, { deadlineMs });
    } catch (error) {
      if (!(error instanceof MillraceError) || (error.code !== "store_unavailable" && error.code !== "store_full")) throw error;
      await sleep(100);
    }
  }
}

/** Says that its clock was set, so that the one who did it knows that it took effect. */
function watchClock(): void {
  let offset = Date.now() - machineNow();
  setInterval(() => {
    const before = offset;
    offset = Date.now() - machineNow();
    if (Math.abs(offset - before) > LEAST_STEP_MS) console.log("clock stepped");
  }, WATCH_EVERY_MS).unref();
}
