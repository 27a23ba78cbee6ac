/**
 * WHERE JOBS WITH A LIMIT KEY STAND. A pending one stands in the line of its type, priority and key. Every road to `pending` puts it there, and
 * every end of a lease lets lines of its key that were parked take part again. take.ts takes jobs from the lines.
 */
import { decodeLimits } from "../../core/limits.ts";
import { STATE } from "../numbers.ts";
import type { QueueRow } from "./catalog.ts";
import { limitKeyIn } from "./codec.ts";
import { plainLane } from "./lane-numbers.ts";
import {
  ADD_LIMIT_KEY,
  ADD_LINE,
  ADD_RING,
  ENTER_RING,
  EXTRA_OF_JOB,
  FIND_LIMIT_KEY,
  FIND_LINE,
  HAS_PARKED,
  KEY_OF_LINE,
  LEAVE_IF_EMPTY,
  MARK_KEYED,
  SET_LINE_OF_JOB,
  UNPARK,
  WAKE_LINE,
} from "./limit-statements.ts";
import { KEYED, PLACE } from "./line-numbers.ts";
import { TALLY_OF_STATE } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

/** What a transaction has found out, so that a batch of jobs of one key looks once. */
export class LineMemory {
  /** Lines by type, priority and key that are not empty: a job that comes needs nothing but their numbers. */
  readonly filled = new Map<string, number>();
  /** Whether a queue has a parked line, and lines whose keys have none. */
  readonly areParked = new Map<number, boolean>();
  readonly unparked = new Set<number>();
  /** The last queue without limits in which a lease of a job without a key ended: the next one needs no look. */
  unlimited: number | null = null;
  /** How many leases of a queue the tallies knew when the transaction began. */
  readonly leases = new Map<number, number>();

  /** Call it before lines become empty, are parked or are dropped, and when limits change. */
  forget(): void {
    this.unlimited = null;
    this.filled.clear();
    this.areParked.clear();
    this.unparked.clear();
  }
}

/** The line of a new job, or of one that nobody counted. If the job is pending, the line takes part in the turns. */
export function lineFor(tx: Transaction, queue: QueueRow, lane: number, priority: number, key: string, isPending: boolean): number {
  const { filled } = tx.lines;
  const name = `${lane} ${priority} ${key}`;
  const known = filled.get(name);
  if (known !== undefined) return known;
  const [id, found, place] = (tx.on.get(FIND_LINE, lane, priority, queue.id, key) ?? []) as [number?, (number | null)?, number?];
  const line = found ?? addLine(tx, queue, id ?? addKey(tx, queue, key), lane, priority, isPending);
  if (!isPending) return line;
  if (place === PLACE.empty) tx.on.run(ENTER_RING, line);
  filled.set(name, line);
  return line;
}

function addLine(tx: Transaction, queue: QueueRow, limitKey: number, lane: number, priority: number, isPending: boolean): number {
  tx.on.run(ADD_RING, queue.id, lane, priority);
  return tx.on.number(ADD_LINE, queue.id, limitKey, lane, priority, isPending ? PLACE.ring : PLACE.empty)!;
}

/** The number of a limit key; makes it if it is new. */
export function keyNumber(tx: Transaction, queue: QueueRow, name: string): number {
  return tx.on.number(FIND_LIMIT_KEY, queue.id, name) ?? addKey(tx, queue, name);
}

function addKey(tx: Transaction, queue: QueueRow, name: string): number {
  markKeyed(tx, queue, KEYED.jobs);
  return tx.on.number(ADD_LIMIT_KEY, queue.id, name)!;
}

/** The key of a line. */
export function keyOfLine(tx: Transaction, line: number): number {
  return tx.on.number(KEY_OF_LINE, line)!;
}

/** Remembers what a queue has of limit keys. */
export function markKeyed(tx: Transaction, { id, keyed }: QueueRow, bits: number): void {
  if ((keyed & bits) === bits) return;
  tx.on.run(MARK_KEYED, bits, id);
  tx.catalog.forgetSettings();
}

/** What a change of state needs to know of a job with a limit key. */
export interface KeyedJob {
  readonly seq: number;
  readonly lane: number;
  readonly priority: number;
  readonly state: number;
  readonly line: number | null;
}

/** Before the state changes: finds the line of a job that will wait. If it had ended or was blocked, its line may have been dropped. */
export function prepareMove(tx: Transaction, queue: QueueRow, job: KeyedJob, to: number): void {
  const was = isWaiting(job.state);
  if (!isWaiting(to)) {
    if (was) countWaiting(tx, queue, job.line!, -1);
    return;
  }
  let { line } = job;
  if (!was && job.state !== STATE.running) {
    const key = limitKeyIn(tx.on.get(EXTRA_OF_JOB, job.seq)![0] as string);
    line = lineFor(tx, queue, plainLane(job.lane), job.priority, key, to === STATE.pending);
    tx.on.run(SET_LINE_OF_JOB, line, job.seq);
  }
  if (to === STATE.pending) tx.on.run(ENTER_RING, line);
  if (!was) countWaiting(tx, queue, line!, 1);
}

/** After it left the state: a line that it left empty has nothing to wait for, and the next job of another may cost less. */
export function finishMove(tx: Transaction, queue: QueueRow, job: KeyedJob, to: number | null): void {
  if (job.state !== STATE.pending || to === STATE.pending) return;
  tx.lines.forget();
  if (tx.on.run(LEAVE_IF_EMPTY, job.line) === 0 && tx.on.run(WAKE_LINE, job.line) > 0) tx.sendHint({ topic: "work", queue: queue.name });
}

const isWaiting = (state: number): boolean => state < STATE.running;

/** Counts waiting jobs of the key of a line, in a queue where somebody has limited them. */
export function countWaiting(tx: Transaction, { keyed }: QueueRow, line: number, more: number): void {
  if ((keyed & KEYED.waiting) !== 0) tx.counts.countWaiting(keyOfLine(tx, line), more);
}

/** How many leases a queue has: the stored tally and what this transaction has added to it. */
export function leasesOf(tx: Transaction, queue: number): number {
  let stored = tx.lines.leases.get(queue);
  if (stored === undefined) tx.lines.leases.set(queue, (stored = tx.on.number(TALLY_OF_STATE, queue, STATE.running)!));
  return stored + tx.counts.added(queue, STATE.running);
}

/** Before a lease ends: what stood aside because of it may start, and is told so. The line is null if the job has no key. */
export function endLease(tx: Transaction, queueId: number, line: number | null): void {
  if (line === null && queueId === tx.lines.unlimited) return;
  const { id, name, settings, keyed } = tx.catalog.queueById(queueId);
  if (settings.limits === null && (line === null || (keyed & KEYED.own) === 0)) {
    tx.lines.unlimited = id;
    return;
  }
  const { running, perKey } = decodeLimits(settings.limits);
  const mayBeParked = line !== null && (perKey.running !== null || (keyed & KEYED.own) !== 0);
  const wasParked = mayBeParked && unpark(tx, id, line);
  if (wasParked || (running !== null && leasesOf(tx, id) >= running)) tx.sendHint({ topic: "work", queue: name });
}

/** Puts the parked lines of a line's key back. Remembers the line, not the key: nearly every key has one. */
function unpark(tx: Transaction, queue: number, line: number): boolean {
  const { areParked, unparked } = tx.lines;
  let isAnyParked = areParked.get(queue);
  if (isAnyParked === undefined) areParked.set(queue, (isAnyParked = tx.on.get(HAS_PARKED, queue) !== undefined));
  if (!isAnyParked || unparked.has(line)) return false;
  unparked.add(line);
  return tx.on.run(UNPARK, line) > 0;
}
