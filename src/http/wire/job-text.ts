/**
 * THE JSON TEXT OF A JOB IN AN ANSWER: payload and result are the stored texts, not what JavaScript would write for them. The texts are
 * joined by hand, so that nothing is parsed and written again: this runs for every job in an answer.
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

/** The answer of enqueue. `sent` is the payload as it came in; `minimal` leaves it out. `notice` is what the caller should know. */
export function enqueuedText(job: EnqueuedJob, sent: unknown, minimal: boolean, notice?: string): string {
  if (job.pruned) {
    const { id, type, queue, status } = job;
    return JSON.stringify({ id, type, queue, status, pruned: true } satisfies PrunedJobWire);
  }
  const payload = minimal ? "" : `,"payload":${jsonOf(job.created && sent instanceof JsonText ? sent : payloadOf(job))}`;
  const noticeText = notice === undefined ? "" : `,"notice":${JSON.stringify(notice)}`;
  const outcome = job.outcome === undefined ? "" : `,"outcome":${JSON.stringify(job.outcome)}`;
  return `${openText(job)}${payload},"result":${jsonOf(resultOf(job))}${outcome}${noticeText}}`;
}

export function leasedText({ job, leaseUntil, facts, texts }: LeasedJob): string {
  const payload = texts === undefined ? JSON.stringify(job.payload) : texts.payload;
  const result = texts === undefined ? JSON.stringify(job.result) : (texts.result ?? "null");
  const lease = `"lease_expires_at":"${toTime(leaseUntil)}","snoozes":${facts.snoozes},"dead_letters":${facts.deadLetters}`;
  return `${openText(job)},"payload":${payload},"result":${result},${lease}}`;
}

/** JSON text in place of a body of any type. */
export function written(text: string): never {
  return new JsonText(text, undefined) as never;
}

/** Without its last brace. */
function openText(job: JobSummary): string {
  return JSON.stringify(toSummaryWire(job)).slice(0, -1);
}
