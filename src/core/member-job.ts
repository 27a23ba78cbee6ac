/** THE JOBS OF MEMBERS. A file of its own, because a browser has no digests, and reads core/flow.ts. */
import { callId } from "./called-id.ts";
import { isFirst, type Member } from "./flow.ts";
import { parentOf } from "./flow-parent.ts";
import type { NewJob } from "./job.ts";
import { partitionOf } from "./partition.ts";

/** The job that a member has now. */
export function jobOf(flow: string, member: Member): NewJob {
  const { name, plan } = member;
  return { ...plan.job, id: jobIdOf(flow, member), parent: parentOf(flow, name), blocked: !isFirst(plan) };
}

export function jobIdOf(flow: string, { name, plan, state }: Member): string {
  return state.job === 0 ? plan.job.id : memberId(flow, name, plan.job.queue, state.job);
}

/** The id of a member's job follows from its flow and its name, so that it is stored once. */
export function memberId(flow: string, name: string, queue: string, job: number = 0): string {
  return callId({ id: flow, life: job }, name, partitionOf(queue));
}
