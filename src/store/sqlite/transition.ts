import { counterOf, countsTimes } from "../../core/counters.ts";
import { attemptOutcome, isTerminal } from "../../core/job.ts";
import type { Transition } from "../../core/lifecycle.ts";
import { rank } from "../../core/rank.ts";
import { STATE, statusOf } from "../numbers.ts";
import { encodeError } from "../stored-error.ts";
import { isKeyed } from "./lane-numbers.ts";
import { endLease, finishMove, prepareMove } from "./lines.ts";
import { ADD_ATTEMPT, APPLY_TRANSITION, DROP_KEY, FACTS_OF_JOB } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

/** What a transition needs to know about the job. */
export interface Facts {
  readonly id: Uint8Array;
  readonly seq: number;
  readonly queue: number;
  readonly lane: number;
  readonly state: number;
  readonly priority: number;
  readonly fence: number;
  readonly settled: number;
  readonly leaseUntil: number | null;
  readonly runAt: number;
  readonly attempt: number;
  readonly retryCount: number;
  readonly lostCount: number;
  readonly snoozes: number;
  readonly worker: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly runMs: number | null;
  readonly error: string | null;
  readonly key: string | null;
  readonly keyTtlMs: number | null;
  readonly line: number | null;
  /** Its rare fields: see codec.ts. */
  readonly extra: string | null;
}

export function factsOf(tx: Transaction, id: Uint8Array): Facts | null {
  const row = tx.on.get(FACTS_OF_JOB, id);
  if (row === undefined) return null;
  const numbers = row as number[];
  return {
    id,
    seq: numbers[0]!,
    queue: numbers[1]!,
    state: numbers[2]!,
    priority: numbers[3]!,
    fence: numbers[4]!,
    settled: numbers[5]!,
    leaseUntil: row[6] as number | null,
    runAt: numbers[7]!,
    attempt: numbers[8]!,
    retryCount: numbers[9]!,
    snoozes: numbers[10]!,
    worker: row[11] as string | null,
    startedAt: row[12] as number | null,
    endedAt: row[13] as number | null,
    runMs: row[14] as number | null,
    error: row[15] as string | null,
    key: row[16] as string | null,
    keyTtlMs: row[17] as number | null,
    lostCount: numbers[18]!,
    lane: numbers[19]!,
    line: row[20] as number | null,
    extra: row[21] as string | null,
  };
}

/**
 * Writes a transition. The caller has checked its condition in this transaction. `mark` identifies a settlement, to recognise its repeat;
 * it is null for a change that somebody asked for.
 */
export function applyTransition(tx: Transaction, job: Facts, transition: Transition, mark: number | null): void {
  const to = STATE[transition.to];
  const wasRunning = job.state === STATE.running;
  const ends = wasRunning && transition.endsAttempt;
  const runMs = ends ? (transition.runMs ?? tx.now - job.startedAt!) : job.runMs;
  const error = writesError(transition, wasRunning) ? encodeError(transition.error) : job.error;
  const runAt = transition.delayMs === null ? job.runAt : tx.now + transition.delayMs;
  const queue = tx.catalog.queueById(job.queue);

  if (isTerminal(statusOf(job.state))) leaveTerminalStatus(tx, job);
  else if (ends && !isTerminal(transition.to)) {
    tx.on.run(ADD_ATTEMPT, job.seq, job.attempt, job.worker, job.startedAt, tx.now, runMs, "failed", error);
  }
  if (wasRunning) endLease(tx, job.queue, isKeyed(job.lane) ? job.line : null);
  if (isKeyed(job.lane)) prepareMove(tx, queue, job, to);
  tx.on.run(
    APPLY_TRANSITION,
    to,
    fenceAfter(job, transition),
    job.attempt - (transition.giveBackAttempt ? 1 : 0),
    countAfter(job.retryCount, transition.retries),
    countAfter(job.lostCount, transition.losses),
    snoozesAfter(job, transition),
    runAt,
    transition.to === "pending" ? rank(runAt, job.priority, queue.settings.headStartMs) : null,
    transition.result === undefined ? 1 : 0,
    transition.result ?? null,
    error,
    mark ?? job.settled,
    job.startedAt,
    isTerminal(transition.to) ? tx.now : null,
    runMs,
    keepsKey(tx, job) ? job.key : null,
    leaseUntilAfter(job, transition, runAt),
    tx.now,
    job.seq,
  );
  if (isKeyed(job.lane)) finishMove(tx, queue, job, to);
  countTransition(tx, job, transition, runMs);
  // A cancel or upkeep ended it: its holder may not know.
  const endsOthersLease = wasRunning && (mark === null || transition.losses === "add");
  sendHints(tx, transition, endsOthersLease, queue.name, runAt);
}

export function fenceAfter({ fence }: Facts, { bumpFence }: Transition): number {
  return fence + (bumpFence ? 1 : 0);
}

function leaseUntilAfter(job: Facts, { to, delayMs }: Transition, runAt: number): number | null {
  // Kept if a cancel ended the lease: its holder is then answered `cancelled`, not `stale`.
  if (to === "cancelled" && job.state === STATE.running) return job.leaseUntil;
  return to === "blocked" && delayMs !== null ? runAt : null;
}

function writesError(transition: Transition, wasRunning: boolean): boolean {
  return transition.error !== undefined && (wasRunning || !transition.errorOnlyIfRunning);
}

function countAfter(count: number, change: "keep" | "add" | "reset"): number {
  if (change === "reset") return 0;
  return count + (change === "add" ? 1 : 0);
}

function snoozesAfter(job: Facts, transition: Transition): number {
  if (transition.retries === "reset") return 0;
  return job.snoozes + (transition.countSnooze ? 1 : 0);
}

/** The row's facts about its last attempt are about to be overwritten. `insert or ignore`: the history may have them already. */
function leaveTerminalStatus(tx: Transaction, job: Facts): void {
  if (!keepsKey(tx, job)) tx.on.run(DROP_KEY, job.queue, job.key, job.id);
  if (job.attempt === 0) return;
  const outcome = attemptOutcome(statusOf(job.state));
  tx.on.run(ADD_ATTEMPT, job.seq, job.attempt, job.worker, job.startedAt, job.endedAt, job.runMs, outcome, job.error);
}

/** An expired key may belong to another job by now. Only a cancelled job can come back after that. */
function keepsKey(tx: Transaction, job: Facts): boolean {
  return job.key !== null && !(job.state === STATE.cancelled && job.endedAt! + job.keyTtlMs! <= tx.now);
}

function countTransition(tx: Transaction, job: Facts, transition: Transition, runMs: number | null): void {
  tx.counts.move(job.queue, job.priority, job.state, STATE[transition.to]);
  const counter = counterOf(transition.to);
  const type = tx.catalog.countedAs(job.lane);
  if (counter !== null) tx.counts.count(job.queue, type, counter);
  if (transition.losses === "add") tx.counts.count(job.queue, type, "lost");
  if (job.state === STATE.running && countsTimes(transition)) {
    tx.counts.time(job.queue, type, "run", runMs!);
    tx.counts.time(job.queue, type, "wait", job.startedAt! - job.runAt);
  }
}

function sendHints(tx: Transaction, transition: Transition, endsLease: boolean, queue: string, runAt: number): void {
  if (transition.to === "pending") tx.sendHint({ topic: "work", queue });
  const waitsForTime =
    transition.to === "retrying" || transition.to === "scheduled" || (transition.to === "blocked" && transition.delayMs !== null);
  if (waitsForTime) tx.sendHint({ topic: "due", inMs: Math.max(0, runAt - tx.now) });
  if (endsLease) tx.sendHint({ topic: "lease" });
}
