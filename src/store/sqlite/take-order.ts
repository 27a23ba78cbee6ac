/** IN WHICH ORDER a claim takes jobs, with limit keys and without: by rank, or in turns. */
import { costOf, priorityOf, rankOf, type Row, seqOf } from "./codec.ts";
import { PLACE } from "./line-numbers.ts";
import { LinesInOrder, type OpenKeys, type OpenLine, orderByRank, RowsInLine } from "./open-lines.ts";
import { firstReady, roundedUp } from "./ready.ts";
import { type Ring, ringOf } from "./rings.ts";
import type { Transaction } from "./transaction.ts";

/** What a claim of one queue works with. */
export interface Claiming {
  readonly tx: Transaction;
  readonly lanes: readonly number[];
  readonly rings: readonly Ring[];
  readonly keys: OpenKeys;
  readonly weightWithoutKey: number;
  /** How many jobs may still be taken. */
  readonly left: () => number;
  /** Whether a line was put to sleep. */
  isAsleep: boolean;
}

/** One job after the other. */
export interface TakeOrder {
  /** The next job that its line and its key let start; null if there is none. */
  next(): Row | null;
  /** The line of that job; null if it has no key. */
  readonly line: OpenLine | null;
  /** That job starts. */
  taken(): void;
}

/** Jobs without a key. */
class PlainRows extends RowsInLine {
  readonly #tx: Transaction;
  readonly #lanes: readonly number[];

  constructor(tx: Transaction, lanes: readonly number[]) {
    super([]);
    this.#tx = tx;
    this.#lanes = lanes;
  }

  protected override read(limit: number): Row[] {
    return firstReady(this.#tx, this.#lanes, limit);
  }
}

/** The first job of the first line, if its key has room for it. If not, the line stands aside. */
function startable(claiming: Claiming, lines: LinesInOrder, line: OpenLine): Row | null {
  const { key } = line;
  let wait = key.waitMs();
  if (wait === 0) {
    const row = line.first(roundedUp(Math.min(lines.share, key.room)));
    if (row === undefined) {
      lines.leave(PLACE.empty);
      return null;
    }
    wait = key.waitForRate(costOf(row));
    if (wait === 0) return row;
  }
  if (!line.hasJobs()) lines.leave(PLACE.empty);
  else if (wait === null) lines.leave(PLACE.parked);
  else {
    lines.leave(PLACE.asleep, claiming.tx.now + wait);
    claiming.isAsleep = true;
  }
  return null;
}

// ── By rank ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The lowest rank first: keys share limits, but there are no turns. */
export class ByRank implements TakeOrder {
  readonly #claiming: Claiming;
  readonly #plain: PlainRows;
  readonly #lanes: readonly LinesInOrder[];
  #row: Row | null = null;
  #lines: LinesInOrder | null = null;
  line: OpenLine | null = null;

  constructor(claiming: Claiming, lanes: readonly LinesInOrder[]) {
    this.#claiming = claiming;
    this.#plain = new PlainRows(claiming.tx, claiming.lanes);
    this.#lanes = lanes;
  }

  next(): Row | null {
    for (;;) {
      const row = this.#plain.first(this.#claiming.left());
      this.#findLine();
      const { line } = this;
      if (line === null || (row !== undefined && isBefore(rankOf(row), seqOf(row), line))) {
        this.line = null;
        return (this.#row = row ?? null);
      }
      const first = startable(this.#claiming, this.#lines!, line);
      if (first !== null) return (this.#row = first);
    }
  }

  /** The line whose first job has the lowest rank. */
  #findLine(): void {
    this.line = null;
    for (const lines of this.#lanes) {
      const line = lines.first();
      if (line === undefined || (this.line !== null && !isBefore(line.order, line.tie, this.line))) continue;
      this.line = line;
      this.#lines = lines;
    }
  }

  taken(): void {
    const { line } = this;
    if (line === null) {
      this.#plain.take();
      return ringOf(this.#claiming.rings, this.#row!)?.startWithoutKey(this.#claiming.weightWithoutKey);
    }
    const lines = this.#lines!;
    line.take();
    const next = line.first(lines.share);
    if (next === undefined) return lines.leave(PLACE.empty);
    orderByRank(line, next);
    lines.move(line);
  }
}

function isBefore(order: number, tie: number, other: { readonly order: number; readonly tie: number }): boolean {
  return order < other.order || (order === other.order && tie < other.tie);
}

/** The lines of each lane that has some, by rank. */
export function linesByRankOf({ tx, keys, left, rings }: Claiming): LinesInOrder[] {
  const lanes = new Set(rings.map(({ lane }) => lane));
  return Array.from(lanes, (lane) => LinesInOrder.byRank(tx, keys, left, lane));
}

// ── In turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the jobs of one type are taken from, the highest priority first. */
interface Source {
  readonly rings: Ring[];
  readonly plain: PlainRows;
  /** How many were taken of each priority. */
  readonly taken: Map<number, number>;
}

/** By priority, then types in turn, then lines in turn. */
export class InTurns implements TakeOrder {
  readonly #claiming: Claiming;
  readonly #sources: readonly Source[];
  /** How many jobs without a key to read of one type, if all types are to give as many. */
  readonly #share: number;
  #source: Source | null = null;
  /** Of the source, or lower than any. */
  #priority = -Infinity;
  #ring: Ring | undefined;
  line: OpenLine | null = null;

  constructor(claiming: Claiming) {
    const { tx, lanes, rings, left } = claiming;
    this.#claiming = claiming;
    this.#share = roundedUp(Math.ceil(left() / lanes.length));
    const sources = lanes.map((lane) => ({
      rings: rings.filter((ring) => ring.lane === lane).sort((one, other) => other.priority - one.priority),
      plain: new PlainRows(tx, [lane]),
      taken: new Map<number, number>(),
    }));
    // Each type in another place each time, so that none is always the first.
    const first = tx.catalog.nextTurn() % sources.length;
    this.#sources = [...sources.slice(first), ...sources.slice(0, first)];
  }

  next(): Row | null {
    for (;;) {
      if (!this.#findSource()) return null;
      const row = this.#nextOf(this.#source!);
      if (row !== null) return row;
    }
  }

  /** Of the highest priority, the source that gave the fewest so far. */
  #findSource(): boolean {
    this.#source = null;
    let fewest = 0;
    for (const source of this.#sources) {
      const priority = this.#priorityOf(source);
      if (priority === null || (this.#source !== null && priority < this.#priority)) continue;
      const taken = source.taken.get(priority) ?? 0;
      if (this.#source !== null && priority === this.#priority && taken >= fewest) continue;
      this.#source = source;
      this.#priority = priority;
      fewest = taken;
    }
    return this.#source !== null;
  }

  /** The highest priority of which a source may have a job. */
  #priorityOf({ rings, plain }: Source): number | null {
    while (rings.length > 0 && rings[0]!.lines.first() === undefined) rings.shift();
    const row = plain.first(this.#share);
    const ofPlain = row === undefined ? null : priorityOf(row);
    const ofRing = rings[0]?.priority ?? null;
    return ofPlain === null || ofRing === null ? (ofPlain ?? ofRing) : Math.max(ofPlain, ofRing);
  }

  /** The line with the lowest tag, unless it has to stand aside; jobs without a key are a line, too. */
  #nextOf({ rings, plain }: Source): Row | null {
    const first = plain.first(this.#share);
    const row = first !== undefined && priorityOf(first) === this.#priority ? first : null;
    const ring = (this.#ring = rings.find(({ priority }) => priority === this.#priority));
    for (;;) {
      const line = ring?.lines.first();
      if (ring === undefined || line === undefined || (row !== null && comesFirst(ring, row, line))) {
        this.line = null;
        return row;
      }
      const found = startable(this.#claiming, ring.lines, line);
      if (found === null) continue;
      this.line = line;
      return found;
    }
  }

  taken(): void {
    const { plain, taken } = this.#source!;
    taken.set(this.#priority, (taken.get(this.#priority) ?? 0) + 1);
    const { line } = this;
    if (line === null) {
      plain.take();
      return this.#ring?.startWithoutKey(this.#claiming.weightWithoutKey);
    }
    const { lines } = this.#ring!;
    line.take();
    line.tag = line.order = this.#ring!.start(line.tag, line.key.limits.weight);
    // Another look at this line would park it: that is known now.
    if (line.key.room <= 0) return lines.leave(line.hasJobs() ? PLACE.parked : PLACE.empty);
    if (line.hasMore === false) return lines.leave(PLACE.empty);
    lines.move(line);
  }
}

/** Whether the jobs without a key start before this line. If both may start at the same time, the job that came first does. */
function comesFirst(ring: Ring, row: Row, line: OpenLine): boolean {
  const [ours, its] = [ring.startOf(ring.tag), ring.startOf(line.tag)];
  return ours < its || (ours === its && seqOf(row) < line.tie);
}
