import { MAX_LOG_LINES } from "../../core/job.ts";
import { isPlainEnd, type PlainEnd, startedAfter } from "../../core/lifecycle.ts";
import type { NewStep } from "../../core/steps.ts";
import { settledMark, STATE } from "../numbers.ts";
import {
  type Claim,
  type ExchangeAnswer,
  type Lease,
  type LeaseAnswer,
  type LeasedRecord,
  type Note,
  REPEAT_REMEMBERED_MS,
  type Settlement,
} from "../store.ts";
import { ID_BYTES, idToBlob, laneOf, readClaimed, readJob, type Row, seqOf } from "./codec.ts";
import {
  ADD_LOG,
  CLAIM_REMOTE_JOB,
  CLAIM_JOB,
  COMPLETE_GRANTED,
  COMPLETE_JOB,
  EXTEND_LEASE,
  LOG_COUNT,
  RENEW_TAKEN,
  SET_LOG_COUNT,
  SET_PROGRESS,
  TAKEN_BY_TURN,
} from "./statements.ts";
import type { QueueRow } from "./catalog.ts";
import { insertJob } from "./insert.ts";
import { useLimits, usesLimits } from "./limits.ts";
import { countWaiting, endLease } from "./lines.ts";
import { readMarks, setMark } from "./shared.ts";
import { leaveNotice } from "./notices.ts";
import { insertCalls, keepSteps, suspended } from "./steps.ts";
import { takeJobs } from "./take.ts";
import type { Transaction } from "./transaction.ts";
import { applyTransition, type Facts, factsOf } from "./transition.ts";

export function settleJob(tx: Transaction, settlement: Settlement): LeaseAnswer {
  const answer = applySettlement(tx, settlement);
  if (answer === "ok" && settlement.followUp) insertJob(tx, settlement.followUp);
  return answer;
}

function applySettlement(tx: Transaction, settlement: Settlement): LeaseAnswer {
  const { id, fence, outcome, transition, ifExpired, heldMs = 0 } = settlement;
  const mark = settledMark(fence, outcome);
  const grant = tx.granted?.take(id, fence);
  const isUsing = usesLimits(settlement);
  if (!ifExpired && !isUsing && isPlainEnd(transition) && completeJob(tx, settlement, transition, mark, grant)) {
    if (settlement.notice !== undefined) leaveNotice(tx, settlement.notice);
    return "ok";
  }
  const job = factsOf(tx, idToBlob(id));
  if (!holds(job, fence)) return answerRefused(job, fence, ifExpired ? null : mark);
  if (ifExpired && job.leaseUntil! > tx.now) return "stale";
  if (isUsing) useLimits(tx, job, settlement);
  applyTransition(tx, { ...job, startedAt: startedAfter(job.startedAt!, heldMs, tx.now) }, suspended(tx, job, settlement), mark);
  insertCalls(tx, settlement);
  if (settlement.notice !== undefined) leaveNotice(tx, settlement.notice);
  return "ok";
}

const ID = new Uint8Array(ID_BYTES);

/** Completes a job in one statement if the transition changes nothing else. */
function completeJob(
  tx: Transaction,
  settlement: Settlement,
  { result, runMs }: PlainEnd,
  mark: number,
  grant: Grant | undefined,
): boolean {
  const { fence, heldMs = 0 } = settlement;
  const id = idToBlob(settlement.id, ID);
  if (grant !== undefined) {
    const startedAt = startedAfter(grant.startedAt, heldMs, tx.now);
    if (tx.on.run(COMPLETE_GRANTED, result, mark, startedAt, tx.now, tx.now, runMs, grant.seq, id, fence) === 0) return false;
    endLease(tx, grant.queue, grant.line);
    countCompleted(tx, grant, startedAt, runMs);
    return true;
  }
  const row = tx.on.get(COMPLETE_JOB, result, mark, heldMs, tx.now, tx.now, tx.now, runMs, id, fence);
  if (row === undefined) return false;
  const [queue, lane, priority, startedAt, runAt] = row as [number, number, number, number, number];
  endLease(tx, queue, row[5] as number | null);
  countCompleted(tx, { queue, lane, priority, runAt }, startedAt, runMs);
  return true;
}

function countCompleted(
  tx: Transaction,
  { queue, lane, priority, runAt }: Pick<Grant, "queue" | "lane" | "priority" | "runAt">,
  startedAt: number,
  runMs: number,
): void {
  const type = tx.catalog.countedAs(lane);
  tx.counts.move(queue, priority, STATE.running, STATE.completed);
  tx.counts.count(queue, type, "completed");
  tx.counts.time(queue, type, "run", runMs);
  tx.counts.time(queue, type, "wait", startedAt - runAt);
}

function holds(job: Facts | null, fence: number): job is Facts {
  return job !== null && job.state === STATE.running && job.fence === fence;
}

/** Why a lease does not hold, or `ok` if this settlement ended it before. */
function answerRefused(job: Facts | null, fence: number, mark: number | null): LeaseAnswer {
  if (job === null) return "stale";
  if (job.settled === mark) return "ok";
  // A cancel raises the fence by one. If it ended a lease, it leaves the end of that lease in the row.
  return job.state === STATE.cancelled && job.fence === fence + 1 && job.leaseUntil !== null ? "cancelled" : "stale";
}

export function extendLease(tx: Transaction, lease: Lease & { readonly leaseMs: number }): LeaseAnswer {
  const id = idToBlob(lease.id);
  if (tx.on.run(EXTEND_LEASE, tx.now + lease.leaseMs, id, lease.fence) === 1) return "ok";
  return answerRefused(factsOf(tx, id), lease.fence, null);
}

export function writeNote(tx: Transaction, note: Note): LeaseAnswer {
  const job = factsOf(tx, idToBlob(note.id));
  if (!holds(job, note.fence)) return answerRefused(job, note.fence, null);
  if (note.progress !== null) tx.on.run(SET_PROGRESS, JSON.stringify(note.progress), tx.now, job.seq);
  if (note.lines.length > 0) addLines(tx, job, note.lines);
  return "ok";
}

function addLines(tx: Transaction, job: Facts, lines: readonly string[]): void {
  const present = tx.on.number(LOG_COUNT, job.seq)!;
  const kept = lines.slice(0, MAX_LOG_LINES - present);
  kept.forEach((text, index) => tx.on.run(ADD_LOG, job.seq, present + index + 1, tx.now, job.attempt, text));
  tx.on.run(SET_LOG_COUNT, present + kept.length, job.seq);
}

export function keepStepsUnder(
  tx: Transaction,
  { id, fence, steps }: Lease & { readonly steps: readonly NewStep[] },
): LeaseAnswer | "full" {
  const job = factsOf(tx, idToBlob(id));
  return holds(job, fence) ? keepSteps(tx, job, steps) : answerRefused(job, fence, null);
}

/** What a claim took, and when the next job may start if one waits for a rate or a held key. */
interface Taken {
  readonly jobs: LeasedRecord[];
  readonly againInMs: number | null;
}

export function exchange(tx: Transaction, settlements: readonly Settlement[], claims: readonly Claim[]): ExchangeAnswer {
  const settled = settlements.map((settlement) => settleJob(tx, settlement));
  const taken = claims.map((claim) => claimJobs(tx, claim));
  const claimed = taken.map(({ jobs }) => jobs);
  return taken.every(({ againInMs }) => againInMs === null)
    ? { settled, claimed }
    : { settled, claimed, againInMs: taken.map(({ againInMs }) => againInMs) };
}

/** Takes jobs queue by queue until the claim is filled. If the claim's answer was lost, returns what it took before. */
function claimJobs(tx: Transaction, claim: Claim): Taken {
  // An answer within this process is never lost, so only the turns of remote workers are stored.
  const isCounted = claim.turn > 0 && !claim.local;
  const isLate = isCounted && isOvertaken(tx, claim);
  const jobs = isCounted && claim.again ? takenBefore(tx, claim) : [];
  let againInMs: number | null = null;
  if (jobs.length > 0 || isLate) return { jobs, againInMs };
  for (const name of claim.queues) {
    if (jobs.length >= claim.limit) break;
    const queue = tx.catalog.findQueue(name);
    if (queue === null || queue.paused) continue;
    const grant = (row: Row, line: number | null): void => void jobs.push(grantJob(tx, row, line, queue, claim));
    const waitMs = takeJobs(tx, queue, claim.types, claim.limit - jobs.length, grant);
    if (waitMs !== null) againInMs = Math.min(waitMs, againInMs ?? waitMs);
  }
  return { jobs, againInMs };
}

/** Whether a repeat of this claim came before it. Each repeat leaves a mark. */
function isOvertaken(tx: Transaction, { workerId, turn, again }: Claim): boolean {
  const name = `claim ${workerId} ${turn}`;
  const [wasHere = false] = readMarks(tx, [name]);
  if (again) setMark(tx, name, REPEAT_REMEMBERED_MS);
  return wasHere;
}

function takenBefore(tx: Transaction, { workerId, turn, leaseMs }: Claim): LeasedRecord[] {
  const leaseUntil = tx.now + leaseMs;
  return tx.on.all(TAKEN_BY_TURN, workerId, turn).map((row) => {
    const names = tx.catalog.namesOf(laneOf(row));
    tx.on.run(RENEW_TAKEN, leaseUntil, seqOf(row));
    return { ...readJob(row, names), leaseUntil, deadLetters: tx.catalog.findQueue(names.queue)!.settings.deadLetters };
  });
}

function grantJob(tx: Transaction, row: Row, line: number | null, queue: QueueRow, claim: Claim): LeasedRecord {
  const { workerId, leaseMs, turn, local } = claim;
  const leaseUntil = tx.now + leaseMs;
  if (local) tx.on.run(CLAIM_JOB, leaseUntil, tx.now, tx.now, workerId, seqOf(row));
  else tx.on.run(CLAIM_REMOTE_JOB, leaseUntil, tx.now, tx.now, workerId, turn, seqOf(row));
  const { deadLetters } = queue.settings;
  const job = readClaimed(row, tx.catalog.namesOf(laneOf(row)), { now: tx.now, leaseUntil, workerId, deadLetters });
  tx.counts.move(queue.id, job.priority, STATE.pending, STATE.running);
  if (line !== null) countWaiting(tx, queue, line, -1);
  tx.granted?.add(job.id, {
    seq: seqOf(row),
    fence: job.fence,
    queue: queue.id,
    lane: laneOf(row),
    priority: job.priority,
    startedAt: tx.now,
    runAt: job.runAt,
    line,
  });
  return job;
}

/** Whether it must survive a power cut. */
export function isDurable(settlements: readonly Settlement[], claims: readonly Claim[]): boolean {
  return settlements.length > 0 || claims.some((claim) => !claim.local);
}

/** What the end of an attempt needs to know about the job, from when this process claimed it. */
interface Grant {
  readonly seq: number;
  readonly fence: number;
  readonly queue: number;
  readonly lane: number;
  readonly priority: number;
  readonly startedAt: number;
  readonly runAt: number;
  readonly line: number | null;
}

/** More than any process has slots. Lost leases leave entries behind; the oldest are dropped. */
const MOST = 20_000;

/**
 * The leases that this process was granted. A completion that finds its job by row number and reads nothing takes 3 µs; one that looks it
 * up by id and returns what to count takes 8. The write still checks id, state and fence; without an entry the slow way is taken.
 */
export class GrantedLeases {
  readonly #grants = new Map<string, Grant>();

  add(id: string, grant: Grant): void {
    if (this.#grants.size >= MOST) this.#forgetOldest();
    this.#grants.set(id, grant);
  }

  /** Removes and returns the grant: a lease ends once. */
  take(id: string, fence: number): Grant | undefined {
    const grant = this.#grants.get(id);
    if (grant === undefined || grant.fence !== fence) return undefined;
    this.#grants.delete(id);
    return grant;
  }

  #forgetOldest(): void {
    for (const id of this.#grants.keys()) {
      this.#grants.delete(id);
      return;
    }
  }
}
