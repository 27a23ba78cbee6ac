/** The limits of keys, how much of them is used, and what a settlement says of them. take.ts applies them. */
import { decodeKeyLimits, decodeLimits, type EffectiveLimits, limitsOfKey, type QueueLimits } from "../../core/limits.ts";
import { rank, STRICT_HEAD_START_MS } from "../../core/rank.ts";
import { type RateState, takeFromRate } from "../../core/rate.ts";
import { STATE } from "../numbers.ts";
import { type KeyLimitsRecord, type KeyUse, type LimitUse, type Settlement } from "../store.ts";
import type { QueueRow } from "./catalog.ts";
import { costIn, hexToId } from "./codec.ts";
import { isKeyed } from "./lane-numbers.ts";
import {
  ALL_RINGS,
  DROP_EMPTY_LINES,
  DROP_IDLE_KEYS,
  DROP_RING,
  ENTER_IF_NOT_EMPTY,
  FIND_LIMIT_KEY,
  FORGET_KEYED,
  HAS_RANKED,
  HOLD_KEY,
  HOLDERS_OF_KEY,
  KEYS_WITH_LEASES,
  KEYS_WITH_LIMITS,
  KEYS_WITHOUT_LEASES,
  LEAVE_IF_ALL_EMPTY,
  NEXT_KEYS,
  READ_LIMIT_KEY,
  RECONSIDER_KEY,
  RECONSIDER_QUEUE,
  SET_KEY_RATE,
  SET_LIMITS_WITHOUT_KEY,
  SET_OWN_LIMITS,
  SET_WAITING,
  USE_OF_KEY,
  WAITING_OF_KEY,
} from "./limit-statements.ts";
import { KEYED } from "./line-numbers.ts";
import { keyNumber, keyOfLine, markKeyed } from "./lines.ts";
import { QueueRate, readQueueRate } from "./queue-rate.ts";
import { READ_META, TALLY_OF_STATE, WRITE_META } from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";
import type { Facts } from "./transition.ts";

// ── Settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function setKeyLimits(tx: Transaction, name: string, key: string | null, limits: string | null): void {
  const queue = tx.catalog.queue(name);
  if (key === null) {
    tx.on.run(SET_LIMITS_WITHOUT_KEY, limits, queue.id);
    tx.catalog.forgetSettings();
  } else if (limits !== null || tx.on.get(FIND_LIMIT_KEY, queue.id, key) !== undefined) {
    const id = keyNumber(tx, queue, key);
    tx.on.run(SET_OWN_LIMITS, limits, id);
    markKeyed(tx, tx.catalog.queue(name), KEYED.own);
    tx.on.run(RECONSIDER_KEY, id);
  }
  tx.sendHint({ topic: "queues" });
  tx.sendHint({ topic: "work", queue: name });
}

/** After the limits of a queue changed: looks at all lines again. */
export function reconsiderQueue(tx: Transaction, { id, name }: QueueRow): void {
  tx.lines.forget();
  tx.on.run(RECONSIDER_QUEUE, id);
  tx.sendHint({ topic: "work", queue: name });
}

/**
 * How many jobs of a limit key may wait, if as many do; otherwise null. The first question about a key counts them; from then on, each
 * change of a waiting job keeps the count.
 */
export function waitingOfFullKey(tx: Transaction, queue: QueueRow, limitKey: string | null): number | null {
  if (limitKey === null) return null;
  const { waiting } = decodeLimits(queue.settings.limits).perKey;
  if (waiting === null && (queue.keyed & KEYED.own) === 0) return null;
  const row = tx.on.get(FIND_LIMIT_KEY, queue.id, limitKey) as [id: number, own: string | null, waiting: number | null] | undefined;
  if (row === undefined) return null;
  const [id, own, counted] = row;
  const { waiting: most } = limitsOfKey(decodeLimits(queue.settings.limits), limitKey, decodeKeyLimits(own));
  if (most === null) return null;
  markKeyed(tx, queue, KEYED.waiting);
  const added = tx.counts.waitingAddedTo(id);
  return (counted ?? countAll(tx, id, added)) + added >= most ? most : null;
}

/** Counts the waiting jobs of a key, and stores how many there were before this transaction. */
function countAll(tx: Transaction, id: number, added: number): number {
  const before = tx.on.number(WAITING_OF_KEY, id)! - added;
  tx.on.run(SET_WAITING, before, id);
  return before;
}

// ── Settlements ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whether a settlement says anything of the rates or the limit key of its job. */
export function usesLimits({ unstarted, holdMs, spend = 0 }: Settlement): boolean {
  return unstarted === true || holdMs !== undefined || spend !== 0;
}

/** What a settlement says of the rates and the limit key of its job. Call it before its lease ends. */
export function useLimits(
  tx: Transaction,
  job: Pick<Facts, "queue" | "lane" | "line" | "fence" | "extra">,
  { unstarted, holdMs, spend = 0 }: Settlement,
): void {
  const queue = tx.catalog.queueById(job.queue);
  const limits = decodeLimits(queue.settings.limits);
  // The claim raised the fence by one.
  const cost = unstarted === true ? costIn(job.extra, job.fence - 1) : 0;
  const units = spend - cost;
  if (units !== 0 && limits.rate !== null) {
    const rate = new QueueRate(tx, queue.id, limits.rate);
    rate.take(units);
    rate.write();
  }
  if (!isKeyed(job.lane)) return;
  const limitKey = keyOfLine(tx, job.line!);
  if (units !== 0) takeFromKey(tx, queue, limits, limitKey, units);
  if (holdMs !== undefined) tx.on.run(HOLD_KEY, tx.now + holdMs, limitKey);
}

/** Takes units of a key's rate. If it gets some back, lines that wait for it may start sooner. */
function takeFromKey(tx: Transaction, queue: QueueRow, limits: QueueLimits, id: number, units: number): void {
  const [own, , busyUntil, intervalMs] = tx.on.get(READ_LIMIT_KEY, id) as [string | null, number, number | null, number | null];
  const { rate } = effective(limits, own);
  if (rate === null) return;
  const after = takeFromRate(rate, stateOf(busyUntil, intervalMs), units, tx.now);
  tx.on.run(SET_KEY_RATE, after.busyUntil, after.intervalMs, id);
  if (units < 0 && tx.on.run(RECONSIDER_KEY, id) > 0) tx.sendHint({ topic: "work", queue: queue.name });
}

function effective(limits: QueueLimits, own: string | null): EffectiveLimits {
  return limitsOfKey(limits, "", decodeKeyLimits(own));
}

function stateOf(busyUntil: number | null, intervalMs: number | null): RateState | null {
  return busyUntil === null ? null : { busyUntil, intervalMs: intervalMs! };
}

// ── What people see ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function listKeyLimits({ on, catalog }: View, name: string, after: string | null | undefined, limit: number): KeyLimitsRecord[] {
  const queue = catalog.findQueue(name);
  if (queue === null) return [];
  const found: KeyLimitsRecord[] = [];
  if (after === undefined && queue.limitsWithoutKey !== null) found.push({ key: null, limits: queue.limitsWithoutKey });
  // No key is empty.
  const named = on.all(KEYS_WITH_LIMITS, queue.id, after ?? "", limit) as [string, string][];
  return [...found, ...named.map(([key, limits]) => ({ key, limits }))].slice(0, limit);
}

export function limitUse(view: View, name: string, keys: readonly string[]): LimitUse | null {
  const queue = view.catalog.findQueue(name);
  if (queue === null) return null;
  const { now } = view;
  const running = view.on.number(TALLY_OF_STATE, queue.id, STATE.running)!;
  return { now, running, rate: readQueueRate(view, queue.id), keys: keys.map((key) => useOfKey(view, queue.id, key, now)) };
}

type UseRow = [
  id: number,
  running: number,
  waiting: number,
  heldUntil: number,
  busyUntil: number | null,
  intervalMs: number | null,
  own: string | null,
];

function useOfKey({ on }: View, queue: number, key: string, now: number): KeyUse {
  const row = on.get(USE_OF_KEY, queue, key) as UseRow | undefined;
  if (row === undefined) return { key, running: 0, waiting: 0, heldUntil: null, rate: null, holders: [], limits: null };
  const [id, running, waiting, heldUntil, busyUntil, intervalMs, limits] = row;
  return {
    key,
    running,
    waiting,
    heldUntil: heldUntil > now ? heldUntil : null,
    rate: stateOf(busyUntil, intervalMs),
    holders: (on.all(HOLDERS_OF_KEY, id) as [string][]).map(([hex]) => hexToId(hex)),
    limits,
  };
}

export function busiestKeys(view: View, name: string, limit: number): KeyUse[] {
  const queue = view.catalog.findQueue(name);
  if (queue === null) return [];
  const { now } = view;
  const keys = view.on.all(KEYS_WITH_LEASES, queue.id, limit);
  if (keys.length < limit) keys.push(...view.on.all(KEYS_WITHOUT_LEASES, queue.id, limit - keys.length));
  return (keys as [string][]).map(([key]) => useOfKey(view, queue.id, key, now));
}

// ── Upkeep ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The last key that a sweep looked at. */
const SWEPT_TO = "limit_keys_swept_to";

/**
 * Drops lines and keys that have nothing to remember. Looks at `limit` keys, from where the last call stopped: keys with jobs must not make
 * every sweep look at them.
 */
export function sweepLimitKeys(tx: Transaction, limit: number): number {
  const from = tx.on.number(READ_META, SWEPT_TO) ?? 0;
  const [to, count] = tx.on.get(NEXT_KEYS, from, limit) as [number | null, number];
  const next = count < limit ? 0 : to;
  if (from !== next) tx.on.run(WRITE_META, SWEPT_TO, next);
  tx.lines.forget();
  if (to !== null) {
    tx.on.run(LEAVE_IF_ALL_EMPTY, from, to);
    tx.on.run(ENTER_IF_NOT_EMPTY, from, to);
  }
  const lines = sweepRings(tx, limit);
  const keys = to === null ? 0 : tx.on.run(DROP_IDLE_KEYS, from, to, tx.now);
  if (keys > 0) {
    tx.on.run(FORGET_KEYED);
    tx.catalog.forgetSettings();
  }
  return lines + keys;
}

type RingRow = [queue: number, lane: number, priority: number, time: number, tag: number, hasLines: number];

/**
 * Drops empty lines whose tags no longer matter, and then rings. A tag above the time of its ring matters while others of the ring have
 * jobs, with a key or without: a key that comes back would have a turn too many.
 */
function sweepRings(tx: Transaction, limit: number): number {
  let removed = 0;
  for (const [queue, lane, priority, time, tag, hasLines] of tx.on.all(ALL_RINGS) as RingRow[]) {
    const isAtRest = hasLines === 0 && !hasWithoutKey(tx, queue, lane, priority);
    removed += tx.on.run(DROP_EMPTY_LINES, lane, priority, isAtRest ? Infinity : time, limit - removed);
    if (isAtRest || tag <= time) tx.on.run(DROP_RING, queue, lane, priority);
  }
  return removed;
}

/** Whether jobs of this type and priority wait without a key. Without strict priority, any job of the type counts as one. */
function hasWithoutKey(tx: Transaction, queue: number, lane: number, priority: number): boolean {
  const isStrict = tx.catalog.queueById(queue).settings.headStartMs === STRICT_HEAD_START_MS;
  const from = isStrict ? rank(0, priority, STRICT_HEAD_START_MS) : -Infinity;
  const below = isStrict ? rank(STRICT_HEAD_START_MS, priority, STRICT_HEAD_START_MS) : Infinity;
  return tx.on.get(HAS_RANKED, lane, from, below) !== undefined;
}
