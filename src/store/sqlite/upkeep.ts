import { AUDIT_KEPT_MS } from "../../core/audit.ts";
import { TIMES_BY_MINUTE_MS } from "../../core/counters.ts";
import { rank } from "../../core/rank.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { FORMER_WORKERS_MS } from "../../core/worker-entry.ts";
import { BUCKETS_PER_TYPE, KEPT_STATES, readTyped, STATE, STEP } from "../numbers.ts";
import { addPacked, type Amounts, packTimes, WHOLE_QUEUE } from "../packed-times.ts";
import type { ExpiredRecord, Promoted, PromotedJob, PruneRule } from "../store.ts";
import { facetsIn, hexToId, laneOf, queueIdOf, readSummary, stepsIn } from "./codec.ts";
import { isKeyed } from "./lane-numbers.ts";
import { sweepLimitKeys } from "./limits.ts";
import { prepareMove } from "./lines.ts";
import { deleteJob } from "./manage.ts";
import {
  DROP_EXPIRED_KEYS,
  DROP_FORMER_WORKERS,
  DROP_HOUR_TIMES,
  DROP_MINUTE_COUNT,
  DROP_OLD_AUDIT,
  DROP_OLD_HOURS,
  DROP_OLD_MARKS,
  DROP_OLD_MUTES,
  DROP_OLD_MINUTES,
  DROP_OLD_NEWS,
  DROP_OLD_SCHEMAS,
  DROP_UNUSED_ALLOWANCES,
  DUE_JOBS,
  DUE_SUSPENDED,
  ENDED_BEFORE,
  EXPIRED_LEASES,
  HIGHEST_SEQ,
  HOUR_TIMES,
  JOBS_TO_RERANK,
  NEXT_DUE,
  NEXT_EXPIRY,
  OUTLIVE_KEY,
  PROMOTE_JOB,
  SET_HOUR_TIMES,
  SET_RANK,
  SET_RERANKED,
  SET_TIMES_MOVED_TO,
  TALLY_OF_STATE,
  TIMES_MOVED_TO,
  TIMES_TO_MOVE,
} from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

type DueRow = [seq: number, queue: number, state: number, priority: number, runAt: number, lane: number, id: string, line: number | null];

export function promoteJobs(tx: Transaction, limit: number, tell = false): Promoted {
  const due = dueJobs(tx, limit);
  for (const [seq, queueId, state, priority, runAt, lane, , line] of due) {
    const queue = tx.catalog.queueById(queueId);
    if (isKeyed(lane)) prepareMove(tx, queue, { seq, lane, priority, state, line }, STATE.pending);
    tx.on.run(PROMOTE_JOB, rank(runAt, priority, queue.settings.headStartMs), tx.now, seq);
    tx.counts.move(queueId, priority, state, STATE.pending);
    tx.sendHint({ topic: "work", queue: queue.name });
  }
  const answer = { moved: due.length, nextInMs: untilNext(tx.on.number(NEXT_DUE), tx.now) };
  if (!tell) return answer;
  const jobs = due.map(([, queueId, , , , lane, hex]): PromotedJob => {
    return { id: hexToId(hex), type: tx.catalog.namesOf(lane).type, queue: tx.catalog.queueById(queueId).name };
  });
  return { ...answer, jobs };
}

function dueJobs(tx: Transaction, limit: number): DueRow[] {
  const waiting = tx.on.all(DUE_JOBS, tx.now, limit) as DueRow[];
  const suspended = tx.on.all(DUE_SUSPENDED, tx.now, limit) as DueRow[];
  if (suspended.length === 0) return waiting;
  return [...waiting, ...suspended].sort((one, other) => one[4] - other[4] || one[0] - other[0]).slice(0, limit);
}

export function expiredJobs({ on, catalog, now }: View, limit: number): { jobs: ExpiredRecord[]; nextInMs: number | null } {
  const jobs = on.all(EXPIRED_LEASES, now, limit).map((row) => ({
    ...readSummary(row, catalog.namesOf(laneOf(row))),
    deadLetters: catalog.queueById(queueIdOf(row)).settings.deadLetters,
  }));
  return { jobs, nextInMs: jobs.length === limit ? 0 : untilNext(on.number(NEXT_EXPIRY, now), now) };
}

export function untilNext(time: number | null, now: number): number | null {
  return time === null ? null : Math.max(0, time - now);
}

interface Ended {
  readonly seq: number;
  readonly id: Uint8Array;
  readonly state: number;
  readonly priority: number;
  readonly key: string | null;
  readonly keyTtlMs: number | null;
  readonly endedAt: number;
  readonly extra: string | null;
}

export function pruneJobs(tx: Transaction, rules: readonly PruneRule[], limit: number): { removed: number } {
  let removed = 0;
  for (const rule of rules) {
    const queue = tx.catalog.findQueue(rule.queue);
    if (queue !== null && removed < limit) removed += pruneQueue(tx, queue.id, rule, limit - removed);
  }
  return { removed };
}

function pruneQueue(tx: Transaction, queue: number, rule: PruneRule, limit: number): number {
  let beyond = KEPT_STATES.reduce((kept, state) => kept + tallyOf(tx, queue, state), -rule.count);
  let removed = 0;
  for (const job of earliestEnded(tx, queue, tx.now - rule.keepAtLeastMs, limit)) {
    if (beyond <= 0 && job.endedAt >= tx.now - rule.ageMs) break;
    if (job.key !== null) keepKey(tx, queue, job);
    deleteJob(tx, queue, job.seq, { facets: facetsIn(job.extra), hasSteps: stepsIn(job.extra) !== null });
    tx.counts.move(queue, job.priority, job.state, null);
    beyond--;
    removed++;
  }
  return removed;
}

/** The stored tally and what this transaction has added to it. */
function tallyOf(tx: Transaction, queue: number, state: number): number {
  return tx.on.number(TALLY_OF_STATE, queue, state)! + tx.counts.added(queue, state);
}

function earliestEnded(tx: Transaction, queue: number, before: number, limit: number): Ended[] {
  return KEPT_STATES.flatMap((state) => tx.on.all(ENDED_BEFORE, queue, state, before, limit))
    .map(
      ([seq, id, state, priority, key, keyTtlMs, endedAt, extra]) => ({ seq, id, state, priority, key, keyTtlMs, endedAt, extra }) as Ended,
    )
    .sort((a, b) => a.endedAt - b.endedAt || a.seq - b.seq)
    .slice(0, limit);
}

function keepKey(tx: Transaction, queue: number, job: Ended): void {
  tx.on.run(OUTLIVE_KEY, job.endedAt + job.keyTtlMs!, job.state, queue, job.key, job.id);
}

const NEWS_KEPT_MS = 60_000;

export function sweep(tx: Transaction, keep: { readonly minutesMs: number; readonly hoursMs: number }, limit: number): { removed: number } {
  const moved = moveTimes(tx, limit);
  const removed =
    moved.cells +
    tx.on.run(DROP_EXPIRED_KEYS, tx.now, limit) +
    tx.on.run(DROP_FORMER_WORKERS, tx.now - FORMER_WORKERS_MS, limit, tx.now) +
    tx.on.run(DROP_OLD_MINUTES, tx.now - keep.minutesMs, moved.to, limit) +
    tx.on.run(DROP_OLD_HOURS, STEP.hour, tx.now - keep.hoursMs, limit) +
    tx.on.run(DROP_OLD_HOURS, STEP["hour-times"], tx.now - keep.hoursMs, limit) +
    tx.on.run(DROP_HOUR_TIMES, tx.now - keep.hoursMs, limit) +
    tx.on.run(DROP_OLD_NEWS, tx.now - NEWS_KEPT_MS, limit) +
    tx.on.run(DROP_UNUSED_ALLOWANCES, tx.now, limit) +
    tx.on.run(DROP_OLD_MARKS, tx.now, limit) +
    tx.on.run(DROP_OLD_SCHEMAS, tx.now, limit) +
    tx.on.run(DROP_OLD_MUTES, tx.now, limit) +
    tx.on.run(DROP_OLD_AUDIT, tx.now - AUDIT_KEPT_MS, limit) +
    sweepLimitKeys(tx, limit);
  return { removed };
}

/**
 * Moves cells of histograms from their minutes to their hours, the earliest first. Begins where the last call stopped, so that minutes whose
 * histograms were moved are not read again.
 */
function moveTimes(tx: Transaction, limit: number): { readonly cells: number; readonly to: number } {
  const from = tx.on.number(TIMES_MOVED_TO) ?? 0;
  const cells = tx.on.all(TIMES_TO_MOVE, from, tx.now - TIMES_BY_MINUTE_MS, limit) as [number, number, number, number][];
  const hours = new Map<string, Amounts>();
  for (const [queue, at, metric, value] of cells) {
    const { type, metric: own } = readTyped(metric, BUCKETS_PER_TYPE);
    for (const number of [type, WHOLE_QUEUE]) {
      const key = [queue, number, at - (at % HOUR_MS)].join();
      const amounts: Amounts = hours.get(key) ?? new Map();
      hours.set(key, amounts.set(own, (amounts.get(own) ?? 0) + value));
    }
    tx.on.run(DROP_MINUTE_COUNT, at, queue, metric);
  }
  for (const [key, amounts] of hours) addToHour(tx, key.split(",").map(Number), amounts);
  const to = cells.at(-1)?.[1] ?? from;
  if (to !== from) tx.on.run(SET_TIMES_MOVED_TO, to);
  return { cells: cells.length, to };
}

/** `hour` is a queue, the number of a type, and the start of an hour. */
function addToHour(tx: Transaction, hour: readonly number[], amounts: Amounts): void {
  const known = tx.on.get(HOUR_TIMES, ...hour) as [string] | undefined;
  if (known !== undefined) addPacked(amounts, known[0]);
  tx.on.run(SET_HOUR_TIMES, ...hour, packTimes(amounts));
}

/** Walks the table by sequence, `limit` rows per call. Jobs that are inserted meanwhile have the new rank already. */
export function rerankJobs(tx: Transaction, name: string, limit: number): boolean {
  const queue = tx.catalog.findQueue(name);
  if (queue === null || queue.rerankedTo === null) return false;
  const to = queue.rerankedTo + limit;
  for (const [seq, priority, runAt] of tx.on.all(JOBS_TO_RERANK, queue.rerankedTo, to, queue.id) as [number, number, number][]) {
    tx.on.run(SET_RANK, rank(runAt, priority, queue.settings.headStartMs), seq);
  }
  const more = to < tx.on.number(HIGHEST_SEQ)!;
  tx.on.run(SET_RERANKED, more ? to : null, queue.id);
  tx.catalog.forgetSettings();
  return more;
}
