/**
 * A JOB AS IT IS WRITTEN INTO AN ANSWER: payload and result with the texts that are stored, not with what JavaScript would write for them. The
 * texts are joined by hand, so that no body is read and written once more: this runs for every job that goes out.
 */
import type { EnqueuedJob, LeasedJob } from "../../client/client.ts";
import type { Job, JobSummary } from "../../core/job.ts";
import { JsonText, jsonOf, payloadOf, resultOf } from "../../core/json-text.ts";
import type { PrunedJobWire } from "../contract/schemas.ts";
import { toSummaryWire } from "./job.ts";
import { toTime } from "./values.ts";

export function jobText(job: Job): string {
  return `${openText(job)},"payload":${jsonOf(payloadOf(job))},"result":${jsonOf(resultOf(job))}}`;
}

/** What enqueue answers with. `sent` is the payload as it came in; with `minimal` it is left out: who sent it has it. `notice` is what the caller should know. */
export function enqueuedText(job: EnqueuedJob, sent: unknown, minimal: boolean, notice?: string): string {
  if (job.pruned) {
    const { id, type, queue, status } = job;
    return JSON.stringify({ id, type, queue, status, pruned: true } satisfies PrunedJobWire);
  }
  const payload = minimal ? "" : `,"payload":${jsonOf(job.created && sent instanceof JsonText ? sent : payloadOf(job))}`;
  const said = notice === undefined ? "" : `,"notice":${JSON.stringify(notice)}`;
  return `${openText(job)}${payload},"result":${jsonOf(resultOf(job))}${said}}`;
}

export function leasedText({ job, leaseUntil, texts }: LeasedJob): string {
  const payload = texts === undefined ? JSON.stringify(job.payload) : texts.payload;
  const result = texts === undefined ? JSON.stringify(job.result) : (texts.result ?? "null");
  return `${openText(job)},"payload":${payload},"result":${result},"lease_expires_at":"${toTime(leaseUntil)}"}`;
}

/** A text in the place of the body that it says, whatever that is, for an answer. */
export function written(text: string): never {
  return new JsonText(text, undefined) as never;
}

/** Without its last brace. */
function openText(job: JobSummary): string {
  return JSON.stringify(toSummaryWire(job)).slice(0, -1);
}
