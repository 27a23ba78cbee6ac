/**
 * Lines and keys as a claim sees them: read when they are needed, changed in memory, and written once. A claim looks at as many lines as it
 * takes jobs, so few objects are made for each.
 */
import { decodeKeyLimits, type EffectiveLimits, limitsOfKey, type QueueLimits } from "../../core/limits.ts";
import { type RateState, rescaleRate, takeFromRate, waitForRate } from "../../core/rate.ts";
import { JOB_COLUMN_COUNT, rankOf, type Row, seqOf } from "./codec.ts";
import { firstInLine, HAS_PENDING, linesByRank, linesByTag, RUNNING_OF_KEY, SET_KEY_RATE, SET_LINE } from "./limit-statements.ts";
import { PLACE } from "./line-numbers.ts";
import { leasesOf } from "./lines.ts";
import { roundedUp } from "./ready.ts";
import type { Transaction } from "./transaction.ts";

/** Rows that are claimed from the first on, read a few at a time: those that were claimed are no longer found. */
export abstract class RowsInLine {
  #rows: readonly Row[];
  #at = 0;
  #isReadOut = false;

  /** `rows` are the first ones, if they are read already. */
  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  protected abstract read(limit: number): Row[];

  /** The first one that is not taken; reads up to `limit` if it has to. */
  first(limit: number): Row | undefined {
    if (this.#at === this.#rows.length && !this.#isReadOut) {
      this.#rows = this.read(limit);
      this.#at = 0;
      this.#isReadOut = this.#rows.length < limit;
    }
    return this.#rows[this.#at];
  }

  take(): void {
    this.#at++;
  }

  /** Whether there are more; null if that was not read. */
  get hasMore(): boolean | null {
    return this.#at < this.#rows.length ? true : this.#isReadOut ? false : null;
  }
}

/** Where each column of a line is, after those of its first job. */
const AT = {
  id: JOB_COLUMN_COUNT,
  tag: JOB_COLUMN_COUNT + 1,
  key: JOB_COLUMN_COUNT + 2,
  own: JOB_COLUMN_COUNT + 3,
  heldUntil: JOB_COLUMN_COUNT + 4,
  busyUntil: JOB_COLUMN_COUNT + 5,
  intervalMs: JOB_COLUMN_COUNT + 6,
  leases: JOB_COLUMN_COUNT + 7,
} as const;

/** A limit key whose jobs a claim looks at. */
export class OpenKey {
  readonly limits: EffectiveLimits;
  readonly #id: number;
  readonly #queue: number;
  readonly #tx: Transaction;
  readonly #heldUntil: number;
  #rate: RateState | null;
  #leases: number | null;
  #isChanged: boolean;

  constructor(tx: Transaction, queue: number, limits: EffectiveLimits, row: Row) {
    const busyUntil = row[AT.busyUntil] as number | null;
    const rate = busyUntil === null ? null : { busyUntil, intervalMs: row[AT.intervalMs] as number };
    this.#id = row[AT.key] as number;
    this.#queue = queue;
    this.limits = limits;
    this.#tx = tx;
    this.#heldUntil = row[AT.heldUntil] as number;
    this.#rate = limits.rate === null ? rate : rescaleRate(limits.rate, rate, tx.now);
    this.#isChanged = this.#rate !== rate;
    this.#leases = row[AT.leases] as number | null;
  }

  /** How many more leases it may have; a lower number while that is above 0, because its leases are counted only if they matter. */
  get room(): number {
    const { running } = this.limits;
    if (running === null) return Infinity;
    if (this.#leases === null) {
      const leastRoom = running - leasesOf(this.#tx, this.#queue);
      if (leastRoom > 0) return leastRoom;
      this.#leases = this.#tx.on.number(RUNNING_OF_KEY, this.#id)!;
    }
    return running - this.#leases;
  }

  /** Whether a job may start, whatever it costs: 0, or the time to wait; null if a lease of the key has to end first. */
  waitMs(): number | null {
    if (this.#heldUntil > this.#tx.now) return this.#heldUntil - this.#tx.now;
    return this.room > 0 ? 0 : null;
  }

  /** How long its rate lets a job of this cost wait. */
  waitForRate(cost: number): number {
    const { rate } = this.limits;
    return rate === null || cost === 0 ? 0 : waitForRate(rate, this.#rate, cost, this.#tx.now);
  }

  /** Call it before the lease is granted. */
  take(cost: number): void {
    if (this.#leases !== null) this.#leases++;
    const { rate } = this.limits;
    if (rate === null || cost === 0) return;
    this.#rate = takeFromRate(rate, this.#rate, cost, this.#tx.now);
    this.#isChanged = true;
  }

  write(): void {
    if (this.#isChanged) this.#tx.on.run(SET_KEY_RATE, this.#rate!.busyUntil, this.#rate!.intervalMs, this.#id);
    this.#isChanged = false;
  }
}

/** A line in its ring. */
export class OpenLine extends RowsInLine {
  readonly id: number;
  readonly key: OpenKey;
  tag: number;
  /** Where it stands among the lines that are read together; ties go by `tie`. */
  order: number;
  tie: number;
  isChanged = false;
  readonly #tx: Transaction;

  constructor(tx: Transaction, id: number, key: OpenKey, tag: number, order: number, first: Row) {
    super([first]);
    this.id = id;
    this.key = key;
    this.tag = tag;
    this.order = order;
    this.tie = seqOf(first);
    this.#tx = tx;
  }

  protected override read(limit: number): Row[] {
    return this.#tx.on.all(textOf(firstInLine, limit), this.id);
  }

  /** Whether a job stands in it. */
  hasJobs(): boolean {
    return this.hasMore ?? this.#tx.on.get(HAS_PENDING, this.id) !== undefined;
  }

  write(place: number, until: number | null): void {
    this.isChanged = false;
    this.#tx.on.run(SET_LINE, this.tag, place, until, this.id);
  }
}

type TextOfLimit = (limit: number) => string;

const TEXTS = new Map<TextOfLimit, Map<number, string>>();

/** Remembers the texts of a statement, one for each limit. */
function textOf(make: TextOfLimit, limit: number): string {
  let texts = TEXTS.get(make);
  if (texts === undefined) TEXTS.set(make, (texts = new Map()));
  let text = texts.get(limit);
  if (text === undefined) texts.set(limit, (text = make(limit)));
  return text;
}

const BY_TAG: TextOfLimit = (limit) => linesByTag(false, limit);
const BY_TAG_COUNTED: TextOfLimit = (limit) => linesByTag(true, limit);
const BY_RANK: TextOfLimit = (limit) => linesByRank(false, limit);
const BY_RANK_COUNTED: TextOfLimit = (limit) => linesByRank(true, limit);

/** The keys that a claim has looked at. A key may have several lines. */
export class OpenKeys {
  readonly #tx: Transaction;
  readonly #queue: number;
  readonly #limits: QueueLimits;
  readonly #usual: EffectiveLimits;
  readonly #keys = new Map<number, OpenKey>();

  constructor(tx: Transaction, queue: number, limits: QueueLimits) {
    this.#tx = tx;
    this.#queue = queue;
    this.#limits = limits;
    this.#usual = limitsOfKey(limits, "", {});
  }

  /** Whether leases of keys are to be counted: if so many more jobs start, one of them may reach its limit, unless its own is another. */
  areCounted(more: number): boolean {
    const { running } = this.#usual;
    return running !== null && running - leasesOf(this.#tx, this.#queue) < more;
  }

  /** The key of a line that was read. */
  of(row: Row): OpenKey {
    const id = row[AT.key] as number;
    let key = this.#keys.get(id);
    if (key === undefined) {
      const own = row[AT.own] as string | null;
      const limits = own === null ? this.#usual : limitsOfKey(this.#limits, "", decodeKeyLimits(own));
      this.#keys.set(id, (key = new OpenKey(this.#tx, this.#queue, limits, row)));
    }
    return key;
  }

  write(): void {
    for (const key of this.#keys.values()) key.write();
  }
}

/** A claim that finds many lines at their limits reads more and more at once, up to this many. */
const MOST_LINES = 512;

/**
 * Lines in order, the lowest first. Reads as many as jobs may be taken; further ones only when all of these have moved behind them or
 * stand aside. So what it reads does not depend on how many lines there are.
 */
export class LinesInOrder {
  readonly #tx: Transaction;
  readonly #keys: OpenKeys;
  readonly #left: () => number;
  readonly #text: TextOfLimit;
  readonly #lane: number;
  /** Null: by rank, of every priority. */
  readonly #priority: number | null;
  /** How many lines to read next, at least. */
  #size = 1;
  #lines: OpenLine[] = [];
  /** Up to which order all lines are read. */
  #readTo = -Infinity;

  private constructor(tx: Transaction, keys: OpenKeys, left: () => number, text: TextOfLimit, lane: number, priority: number | null) {
    this.#tx = tx;
    this.#keys = keys;
    this.#left = left;
    this.#text = text;
    this.#lane = lane;
    this.#priority = priority;
  }

  /** The lines of a ring, by their tags. `left` tells how many jobs may still be taken. */
  static byTag(tx: Transaction, keys: OpenKeys, left: () => number, lane: number, priority: number): LinesInOrder {
    return new LinesInOrder(tx, keys, left, keys.areCounted(left()) ? BY_TAG_COUNTED : BY_TAG, lane, priority);
  }

  /** The lines of a lane, by the rank of their first jobs. */
  static byRank(tx: Transaction, keys: OpenKeys, left: () => number, lane: number): LinesInOrder {
    return new LinesInOrder(tx, keys, left, keys.areCounted(left()) ? BY_RANK_COUNTED : BY_RANK, lane, null);
  }

  /** The first line that has jobs and does not stand aside. */
  first(): OpenLine | undefined {
    for (;;) {
      const line = this.#lines[0];
      if (line !== undefined && line.order <= this.#readTo) return line;
      if (this.#readTo === Infinity) return undefined;
      this.#readNext();
    }
  }

  /** How many jobs to read of one line, if all lines are to give as many. */
  get share(): number {
    return roundedUp(Math.max(1, Math.ceil(this.#left() / Math.max(1, this.#lines.length))));
  }

  /** The first line has given a job, and moves to another place in the order. */
  move(line: OpenLine): void {
    line.isChanged = true;
    this.#lines.shift();
    let low = 0;
    let high = this.#lines.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#lines[middle]!;
      if (other.order < line.order || (other.order === line.order && other.tie <= line.tie)) low = middle + 1;
      else high = middle;
    }
    if (low === this.#lines.length) this.#lines.push(line);
    else this.#lines.splice(low, 0, line);
  }

  /** The first line leaves the ring. */
  leave(place: number, until: number | null = null): void {
    this.#lines.shift()!.write(place, until);
  }

  write(): void {
    for (const line of this.#lines) if (line.isChanged) line.write(PLACE.ring, null);
  }

  #readNext(): void {
    this.write();
    const limit = roundedUp(Math.max(this.#size, this.#left()));
    this.#size = Math.min(MOST_LINES, 2 * limit);
    const text = textOf(this.#text, limit);
    const rows = this.#priority === null ? this.#tx.on.all(text, this.#lane) : this.#tx.on.all(text, this.#lane, this.#priority);
    this.#lines = [];
    for (const row of rows) {
      const id = row[AT.id] as number;
      const tag = row[AT.tag] as number;
      if (seqOf(row) === null) this.#tx.on.run(SET_LINE, tag, PLACE.empty, null, id);
      else this.#lines.push(new OpenLine(this.#tx, id, this.#keys.of(row), tag, this.#priority === null ? rankOf(row) : tag, row));
    }
    this.#readTo = rows.length < limit ? Infinity : (this.#lines.at(-1)?.order ?? -Infinity);
  }
}

/** Puts a line in the order of the rank of its first job. */
export function orderByRank(line: OpenLine, row: Row): void {
  line.order = rankOf(row);
  line.tie = seqOf(row);
}
