/** Turns of one type and priority: see TURNS in store.ts. */
import { laneOf, priorityOf, type Row } from "./codec.ts";
import { RINGS_OF_QUEUE, SET_RING } from "./limit-statements.ts";
import { LinesInOrder, type OpenKeys } from "./open-lines.ts";
import type { Transaction } from "./transaction.ts";

/** The lines of one type and priority, and when they and the jobs without a key start next. */
export class Ring {
  readonly lane: number;
  readonly priority: number;
  readonly lines: LinesInOrder;
  /** The tag of the jobs without a key. */
  tag: number;
  #time: number;
  #isChanged = false;

  constructor(lane: number, priority: number, lines: LinesInOrder, time: number, tag: number) {
    this.lane = lane;
    this.priority = priority;
    this.lines = lines;
    this.tag = tag;
    this.#time = time;
  }

  /** When something with this tag may start. */
  startOf(tag: number): number {
    return Math.max(tag, this.#time);
  }

  /** A start of a line with this tag: the tag that it has next. */
  start(tag: number, weight: number): number {
    this.#time = this.startOf(tag);
    this.#isChanged = true;
    return this.#time + 1 / weight;
  }

  /** It counts as a turn also while no line with a key has jobs: so the tags of empty lines come to matter no longer, and are dropped. */
  startWithoutKey(weight: number): void {
    this.tag = this.start(this.tag, weight);
  }

  write(tx: Transaction, queue: number): void {
    this.lines.write();
    if (this.#isChanged) tx.on.run(SET_RING, this.#time, this.tag, queue, this.lane, this.priority);
  }
}

/** The rings of a queue that a claim of these lanes may take from. */
export function readRings(tx: Transaction, queue: number, lanes: readonly number[], keys: OpenKeys, left: () => number): Ring[] {
  const rows = tx.on.all(RINGS_OF_QUEUE, queue) as [lane: number, priority: number, time: number, tag: number][];
  return rows.flatMap(([lane, priority, time, tag]) =>
    lanes.includes(lane) ? [new Ring(lane, priority, LinesInOrder.byTag(tx, keys, left, lane, priority), time, tag)] : [],
  );
}

/** The ring of the type and priority of a job without a key, if there is one. */
export function ringOf(rings: readonly Ring[], row: Row): Ring | undefined {
  if (rings.length === 0) return undefined;
  return rings.find(({ lane, priority }) => lane === laneOf(row) && priority === priorityOf(row));
}
