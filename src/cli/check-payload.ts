/** Refuses a payload that live workers would refuse, by the rule of a server. A server does it itself. */
import type { PlainClient } from "../client/client.ts";
import { isServerUrl } from "../config/store-url.ts";
import { type HandledType, schemasFor } from "../core/handled-type.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";
import type { PayloadCheck } from "../http/payload-check.ts";
import { systemClock } from "../lib/clock.ts";
import type { Session } from "./session.ts";

interface JobPlace {
  readonly queue?: string | undefined;
  /** Undefined: the client refuses it, and says why. */
  readonly type?: string | undefined;
}

/** Throws `invalid_input`. */
export async function checkPayload(client: PlainClient, job: JobPlace, payload: unknown, session: Session): Promise<void> {
  if (job.type !== undefined) await (await payloadChecker(client, session))(job, payload);
}

/** The same for many payloads. Loads what applies schemas only if workers publish one for a queue and type. */
export async function payloadChecker(client: PlainClient, session: Session): Promise<(job: JobPlace, payload: unknown) => Promise<void>> {
  const { config } = await session.settings("url");
  if (isServerUrl(config.url)) return async () => {};
  // As on a server: without an answer the job is accepted, and the worker checks it.
  const handled: HandledType[] = await client.types().catch(() => []);
  let check: PayloadCheck | null = null;
  return async ({ queue = DEFAULT_QUEUE, type }, payload) => {
    if (type === undefined || schemasFor(handled, { queue, type }) === null) return;
    check ??= new (await import("../http/payload-check.ts")).PayloadCheck({ types: async () => handled }, systemClock);
    await check.check({ queue, type }, payload);
  };
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
