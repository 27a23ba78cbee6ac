import { type Member, readMember } from "../../src/core/flow.ts";
import { jobIdOf } from "../../src/core/member-job.ts";
import { isFlowParent } from "../../src/core/flow-parent.ts";
import type { NewJob } from "../../src/core/job.ts";
import type { SentJob, SentMember } from "./line.ts";
import { printOfJob } from "./print.ts";

/** A job as a history tells of it when it is sent. */
export function sentOf(job: NewJob): SentJob {
  const { id, queue, type, priority, maxRetries, maxLost, retryDelayMs, delayMs, runAt, idempotencyKey, keyTtlMs, limitKey, payload } = job;
  const { parent } = job;
  const print = printOfJob(type, payload);
  const sent = { job: id, queue, type, priority, maxRetries, maxLost, retryDelayMs, delayMs, runAt, key: idempotencyKey, keyTtlMs, print };
  return {
    ...sent,
    ...(limitKey === null ? {} : { limitKey }),
    ...(parent === null || parent === undefined ? {} : { parent: { job: parent.id, step: parent.step, ...flowMark(parent) } }),
    ...(job.blocked === true ? { isBlocked: true } : {}),
    ...(job.flow === undefined ? {} : { flow: job.flow.members.map((text) => sentMemberOf(id, readMember(text))) }),
  };
}

function flowMark(parent: NewJob["parent"] & object): { isFlow?: true } {
  return isFlowParent(parent) ? { isFlow: true } : {};
}

/** A member as its flow keeps it. */
export function sentMemberOf(flow: string, member: Member): SentMember {
  const { after, onFailure } = member.plan;
  return { name: member.name, job: jobIdOf(flow, member), after, onFailure };
}
