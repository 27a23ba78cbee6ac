import type { Client, CreatedFlow, FlowMemberInput } from "../../../src/client/client.ts";
import { type ErrorCode, MillraceError } from "../../../src/core/errors.ts";
import { FLOW_QUEUE } from "../../../src/core/flow.ts";
import { printOfJob } from "../../history/print.ts";
import type { Begun, Recorder } from "../../history/recorder.ts";
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
    return refused(begun, error);
  }
}

/** Creates a flow, and writes down the same. */
export async function createFlow(
  client: Pick<Client, "flow">,
  recorder: Recorder,
  members: readonly FlowMemberInput[],
): Promise<CreatedFlow | null> {
  const begun = recorder.begin("enqueue", { queue: FLOW_QUEUE, key: null, print: "" });
  try {
    const flow = await client.flow(members);
    begun.end("ok", { job: flow.id, created: flow.created });
    return flow;
  } catch (error) {
    return refused(begun, error);
  }
}

function refused(begun: Begun<"enqueue">, error: unknown): null {
  if (!(error instanceof MillraceError) || ![...UNSURE, ...REFUSED].includes(error.code)) throw error;
  begun.end(UNSURE.includes(error.code) ? "unknown" : "fail", { code: error.code });
  return null;
}
