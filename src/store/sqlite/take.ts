/** TAKING JOBS: which pending jobs of a queue may start now, and in which order. See LIMITS and TURNS in store.ts. */
import { decodeKeyLimits, decodeLimits, limitsOfKey, type QueueLimits } from "../../core/limits.ts";
import { STRICT_HEAD_START_MS } from "../../core/rank.ts";
import type { QueueRow } from "./catalog.ts";
import { costOf, type Row } from "./codec.ts";
import { NEXT_AWAKE, WAKE_LINES } from "./limit-statements.ts";
import { KEYED } from "./line-numbers.ts";
import { leasesOf } from "./lines.ts";
import { OpenKeys } from "./open-lines.ts";
import { QueueRate } from "./queue-rate.ts";
import { firstReady } from "./ready.ts";
import { readRings, ringOf } from "./rings.ts";
import { ByRank, type Claiming, InTurns, linesByRankOf, type TakeOrder } from "./take-order.ts";
import type { Transaction } from "./transaction.ts";

/** Gives a lease to a pending job. Its line is null if it has no key. */
type Grant = (row: Row, line: number | null) => void;

/**
 * Takes up to `limit` pending jobs of a queue that may start now, in order, and grants each at once: its lease counts for the next one.
 * Returns when the next may start, if one waits for a rate or a held key. A queue without a rate and without keys takes the first jobs of its
 * lanes and looks no further.
 */
export function takeJobs(tx: Transaction, queue: QueueRow, types: readonly string[] | "*", limit: number, grant: Grant): number | null {
  const lanes = tx.catalog.lanes(queue.id, types);
  const limits = decodeLimits(queue.settings.limits);
  const most = limits.running === null ? limit : Math.min(limit, limits.running - leasesOf(tx, queue.id));
  if (limits.rate !== null || (queue.keyed & KEYED.jobs) !== 0) return new Taking(tx, queue, lanes, most, grant).take();
  if (most > 0) for (const row of firstReady(tx, lanes, most)) grant(row, null);
  return null;
}

class Taking {
  readonly #tx: Transaction;
  readonly #queue: QueueRow;
  readonly #grant: Grant;
  readonly #limits: QueueLimits;
  readonly #claiming: Claiming;
  readonly #rate: QueueRate | null;
  /** How many jobs may still be taken. */
  #left: number;

  constructor(tx: Transaction, queue: QueueRow, lanes: readonly number[], most: number, grant: Grant) {
    this.#tx = tx;
    this.#queue = queue;
    this.#grant = grant;
    const limits = (this.#limits = decodeLimits(queue.settings.limits));
    this.#rate = limits.rate === null ? null : new QueueRate(tx, queue.id, limits.rate);
    this.#left = most;
    const keys = new OpenKeys(tx, queue.id, limits);
    const left = (): number => this.#left;
    const hasKeys = (queue.keyed & KEYED.jobs) !== 0;
    this.#claiming = {
      tx,
      lanes,
      keys,
      left,
      isAsleep: hasKeys && this.#wake(),
      rings: hasKeys ? readRings(tx, queue.id, lanes, keys, left) : [],
      weightWithoutKey: limitsOfKey(limits, null, decodeKeyLimits(queue.limitsWithoutKey)).weight,
    };
  }

  take(): number | null {
    const wait = this.#left > 0 ? this.#takeWhatMay() : null;
    this.#rate?.write();
    if (wait !== null || !this.#claiming.isAsleep) return wait;
    const awake = this.#tx.on.number(NEXT_AWAKE, this.#queue.id);
    return awake === null ? null : awake - this.#tx.now;
  }

  /** Wakes lines whose time has come. Returns whether some are asleep. */
  #wake(): boolean {
    this.#tx.lines.forget();
    const awake = this.#tx.on.number(NEXT_AWAKE, this.#queue.id);
    if (awake !== null && awake <= this.#tx.now) this.#tx.on.run(WAKE_LINES, this.#queue.id, this.#tx.now);
    return awake !== null;
  }

  #takeWhatMay(): number | null {
    const { rings, keys } = this.#claiming;
    const isStrict = this.#queue.settings.headStartMs === STRICT_HEAD_START_MS;
    const lines = isStrict ? rings.map((ring) => ring.lines) : linesByRankOf(this.#claiming);
    const areLines = lines.some((some) => some.first() !== undefined);
    let wait: number | null = null;
    if (!areLines && this.#limits.rate === null) this.#takeFirst();
    else if (areLines && isStrict) wait = this.#takeInOrder(new InTurns(this.#claiming));
    else wait = this.#takeInOrder(new ByRank(this.#claiming, isStrict ? [] : lines));
    for (const some of lines) some.write();
    for (const ring of rings) ring.write(this.#tx, this.#queue.id);
    keys.write();
    return wait;
  }

  /** Takes jobs without a key, if no others may start and the queue has no rate. */
  #takeFirst(): void {
    const { rings, lanes, weightWithoutKey } = this.#claiming;
    for (const row of firstReady(this.#tx, lanes, this.#left)) {
      this.#grant(row, null);
      ringOf(rings, row)?.startWithoutKey(weightWithoutKey);
    }
  }

  /** Takes jobs while the rate of the queue allows it. Returns how long it lets the next job wait. */
  #takeInOrder(order: TakeOrder): number | null {
    for (; this.#left > 0; this.#left--) {
      const row = order.next();
      if (row === null) return null;
      const { line } = order;
      const cost = costOf(row);
      const wait = this.#rate?.waitFor(cost) ?? 0;
      if (wait > 0) return wait;
      this.#rate?.take(cost);
      line?.key.take(cost);
      this.#grant(row, line === null ? null : line.id);
      order.taken();
    }
    return null;
  }
}
