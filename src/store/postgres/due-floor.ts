import { BOTTOM_EVERY_MS, MARGIN_MS } from "./floors.ts";

/**
 * WHERE TO BEGIN READING WHAT IS DUE. A transaction that somebody keeps open keeps the index entries of jobs that were promoted long ago, and
 * each look walks over them all. So while looks from the bottom are slow, only one a second is made, and the others begin where the last job
 * was taken. What was committed late stands below: it is found within that second.
 */
export class DueFloor {
  #isClogged = false;
  #floor: number | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Where the next look begins; null: at the bottom. */
  next(): number | null {
    const now = performance.now();
    if (this.#isClogged && this.#floor !== null && now - this.#lookedAt < BOTTOM_EVERY_MS) return this.#floor;
    this.#lookedAt = now;
    return null;
  }

  /** A look is over. `last`: when the latest of the jobs that it took was due. */
  looked(from: number | null, wasSlow: boolean, last: number | null): void {
    if (from === null) this.#isClogged = wasSlow;
    if (last !== null) this.#floor = from === null ? last - MARGIN_MS : Math.max(from, last - MARGIN_MS);
  }
}
