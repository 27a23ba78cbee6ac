import { MAX_LOG_LINES } from "../../core/job.ts";
import { startedAfter } from "../../core/lifecycle.ts";
import { decodeLimits } from "../../core/limits.ts";
import { takeFromRate } from "../../core/rate.ts";
import type { NewStep } from "../../core/steps.ts";
import { type Claim, type Lease, type LeaseAnswer, type LeasedRecord, type Note, REPEAT_REMEMBERED_MS, type Settlement } from "../store.ts";
import type { Context } from "./context.ts";
import { insertJob } from "./insert.ts";
import { leaveNotice } from "./notices.ts";
import { insertCalls, keepSteps, suspended } from "./steps.ts";
import { takeJobs } from "./take.ts";
import { leasedCopy, type StoredJob } from "./stored-job.ts";

export function settleJob(memory: Context, settlement: Settlement): LeaseAnswer {
  const answer = applySettlement(memory, settlement);
  if (answer === "ok" && settlement.followUp) insertJob(memory, settlement.followUp);
  return answer;
}

/** What a settlement says of the rates and the limit key of its job. Before its lease ends: then the lines of the key are looked at again. */
function useLimits({ now }: Context, { record, queue, wasFree }: StoredJob, { unstarted, holdMs, spend = 0 }: Settlement): void {
  const units = spend - (unstarted === true && !wasFree ? record.cost : 0);
  const limits = decodeLimits(queue.settings.limits);
  if (units !== 0 && limits.rate !== null) queue.rate = takeFromRate(limits.rate, queue.rate, units, now);
  if (record.limitKey === null) return;
  const key = queue.limitKeys.of(record.limitKey);
  if (units !== 0) key.take(key.limits(limits), units, now);
  if (holdMs !== undefined) key.heldUntil = Math.max(key.heldUntil, now + holdMs);
}

function applySettlement(memory: Context, settlement: Settlement): LeaseAnswer {
  const { jobs, feed, now } = memory;
  const { id, fence, outcome, transition, ifExpired, heldMs = 0 } = settlement;
  const job = jobs.get(id);
  if (!holds(job, fence)) return isRepeat(job, settlement) && !ifExpired ? "ok" : refusal(job, fence);
  if (ifExpired && job.leaseUntil > now) return "stale";

  useLimits(memory, job, settlement);
  job.record.startedAt = startedAfter(job.record.startedAt!, heldMs, now);
  jobs.apply(job, suspended(memory, job, settlement), now);
  insertCalls(memory, settlement);
  if (settlement.notice !== undefined) leaveNotice(memory, settlement.notice);
  job.settledFence = fence;
  job.settledOutcome = outcome;
  if (transition.losses === "add") feed.sendHint("lease");
  return "ok";
}

/** Takes jobs queue by queue until the claim is filled. If the claim's answer was lost, returns what it took before. */
export function claimJobs(memory: Context, claim: Claim): { jobs: LeasedRecord[]; againInMs: number | null } {
  const { jobs } = memory;
  const isLate = isOvertaken(memory, claim);
  const granted = claim.again && claim.turn > 0 ? grantAgain(memory, claim) : [];
  if (granted.length > 0 || isLate) return { jobs: granted, againInMs: null };
  let againInMs: number | null = null;
  for (const name of claim.queues) {
    const queue = jobs.queues.get(name);
    if (granted.length === claim.limit) break;
    if (queue === undefined || queue.paused) continue;
    const give = (job: StoredJob): void => void granted.push(grant(memory, job, claim));
    againInMs = earliest(againInMs, takeJobs(queue, claim.types, claim.limit - granted.length, memory.now, give));
  }
  return { jobs: granted, againInMs };
}

function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function grant({ jobs, now }: Context, job: StoredJob, claim: Claim): LeasedRecord {
  const { record } = job;
  record.fence++;
  record.attempt++;
  record.startedAt = now;
  record.updatedAt = now;
  record.workerId = claim.workerId;
  record.progress = null;
  job.leaseUntil = now + claim.leaseMs;
  job.turn = claim.turn;
  job.wasFree = job.isResumed;
  job.isResumed = false;
  jobs.enter(job, "running");
  return leasedCopy(job);
}

/** Whether a repeat of this claim came before it. Each repeat leaves a mark. */
function isOvertaken({ shared: { marks }, now }: Context, { workerId, turn, again }: Claim): boolean {
  if (turn === 0) return false;
  const name = `claim ${workerId} ${turn}`;
  const isMarked = marks.has(name, now);
  if (again) marks.set(name, true, now + REPEAT_REMEMBERED_MS);
  return isMarked;
}

/** The jobs that this turn's claim took before its answer to a remote worker was lost. */
function grantAgain({ jobs, now }: Context, claim: Claim): LeasedRecord[] {
  const taken = [...jobs.leases].filter((job) => job.record.workerId === claim.workerId && job.turn === claim.turn);
  return taken.map((job) => {
    jobs.extendLease(job, now + claim.leaseMs);
    return leasedCopy(job);
  });
}

export function extendLease({ jobs, now }: Context, { id, fence, leaseMs }: Lease & { readonly leaseMs: number }): LeaseAnswer {
  const job = jobs.get(id);
  if (!holds(job, fence)) return refusal(job, fence);
  jobs.extendLease(job, now + leaseMs);
  return "ok";
}

export function writeNote({ jobs, now }: Context, { id, fence, progress, lines }: Note): LeaseAnswer {
  const job = jobs.get(id);
  if (!holds(job, fence)) return refusal(job, fence);
  const { record } = job;
  if (progress !== null) {
    record.progress = { ...progress };
    record.updatedAt = now;
  }
  if (lines.length === 0) return "ok";
  const logs = (job.logs ??= []);
  for (const text of lines.slice(0, MAX_LOG_LINES - logs.length)) {
    logs.push({ number: logs.length + 1, at: now, attempt: record.attempt, text });
  }
  return "ok";
}

export function keepStepsUnder(
  memory: Context,
  { id, fence, steps }: Lease & { readonly steps: readonly NewStep[] },
): LeaseAnswer | "full" {
  const job = memory.jobs.get(id);
  return holds(job, fence) ? keepSteps(memory, job, steps) : refusal(job, fence);
}

/** Whether the job runs under this fence. */
function holds(job: StoredJob | undefined, fence: number): job is StoredJob {
  return job !== undefined && job.record.status === "running" && job.record.fence === fence;
}

/** The answer to a lease that does not hold. */
function refusal(job: StoredJob | undefined, fence: number): LeaseAnswer {
  return job?.record.status === "cancelled" && job.cancelledFence === fence ? "cancelled" : "stale";
}

/** Whether this very settlement was applied last: its answer was lost. */
function isRepeat(job: StoredJob | undefined, { fence, outcome }: Settlement): boolean {
  return job !== undefined && job.settledFence === fence && job.settledOutcome === outcome;
}
