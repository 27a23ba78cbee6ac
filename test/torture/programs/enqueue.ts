import type { Client } from "../../../src/client/client.ts";
import { type ErrorCode, MillraceError } from "../../../src/core/errors.ts";
import { printOfJob } from "../../history/print.ts";
import type { Recorder } from "../../history/recorder.ts";
import type { NewTortureJob } from "../jobs.ts";

/** What the store may answer in a run; of the first two nobody knows whether the job is there. Anything else is a bug. */
const UNSURE: readonly ErrorCode[] = ["store_unavailable", "store_full"];
const REFUSED: readonly ErrorCode[] = ["queue_full", "key_conflict", "closed"];

/** Enqueues a job and writes down what its producer is told. Null when it was not accepted. */
export async function enqueueOne(client: Client, recorder: Recorder, job: NewTortureJob): Promise<string | null> {
  const { type, payload, ...options } = job;
  const { queue, idempotencyKey: key = null } = job;
  const begun = recorder.begin("enqueue", { queue, key, print: printOfJob(type, JSON.stringify(payload)) });
  try {
    const { id, created } = await client.enqueue(type, payload, options);
    begun.end("ok", { job: id, created });
    return id;
  } catch (error) {
    if (!(error instanceof MillraceError) || ![...UNSURE, ...REFUSED].includes(error.code)) throw error;
    begun.end(UNSURE.includes(error.code) ? "unknown" : "fail", { code: error.code });
    return null;
  }
}
