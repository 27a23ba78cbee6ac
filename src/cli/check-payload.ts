/** Refuses a payload that live workers would refuse, by the rule of a server. A server does it itself. */
import type { PlainClient } from "../client/client.ts";
import { isServerUrl } from "../config/store-url.ts";
import { type HandledType, schemasFor } from "../core/handled-type.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";
import { systemClock } from "../lib/clock.ts";
import type { Session } from "./session.ts";

interface JobPlace {
  readonly queue?: string | undefined;
  /** Undefined: the client refuses it, and says why. */
  readonly type?: string | undefined;
}

/** Throws `invalid_input`. Loads what applies schemas only if workers publish one for this queue and type. */
export async function checkPayload(client: PlainClient, job: JobPlace, payload: unknown, session: Session): Promise<void> {
  const { queue = DEFAULT_QUEUE, type } = job;
  const { config } = await session.settings("url");
  if (type === undefined || isServerUrl(config.url)) return;
  // As on a server: without an answer the job is accepted, and the worker checks it.
  const handled: HandledType[] = await client.types().catch(() => []);
  if (schemasFor(handled, { queue, type }) === null) return;
  const { PayloadCheck } = await import("../http/payload-check.ts");
  await new PayloadCheck({ types: async () => handled }, systemClock).check({ queue, type }, payload);
}

/** The same for a signal, by the schema of the wait that is open. */
export async function checkSignalPayload(client: PlainClient, id: string, name: string, payload: unknown, session: Session): Promise<void> {
  const { config } = await session.settings("url");
  if (isServerUrl(config.url)) return;
  const steps = await client.steps(id);
  if (!steps.some((step) => step.name === name && step.schema !== null)) return;
  const { checkSignal } = await import("../http/fit-schema.ts");
  checkSignal(steps, name, payload);
}
