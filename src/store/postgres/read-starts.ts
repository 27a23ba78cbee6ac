/** How far below the due time that was taken last one still looks: an insert that took a while to commit has an earlier one. */
const MARGIN_MS = 100;
/** How often one looks from the bottom all the same. */
const BOTTOM_EVERY_MS = 1_000;
/** So many slow looks from the bottom in a row, and the heads of the lanes are taken for clogged. */
const SLOW_LOOKS = 2;

/** Where a claim began to read, lane by lane. */
export interface UsedStarts {
  readonly lanes: readonly number[];
  readonly floors: readonly number[];
}

/**
 * WHERE TO BEGIN READING A LANE. A transaction that somebody keeps open keeps the index entries of claimed jobs, and each claim walks over
 * them all: after 100,000 jobs it takes three times as long. Due times in a lane rise, so what was claimed last tells where to begin instead.
 *
 * But a job that comes back or is promoted late may stand below. So floors are used only while the heads of the lanes are seen to be clogged;
 * then such a job, if another process put it there, is found by the look from the bottom that is made every second. Where that look finds one,
 * the floor of its lane comes down to it, and those behind it are found by the very next claim.
 */
export class LaneStarts {
  readonly #ranks = new Map<number, number>();
  #slow = 0;
  #lookedAt = 0;

  /** The floors for the next claim; null: look from the bottom. */
  next(): UsedStarts | null {
    if (this.#slow < SLOW_LOOKS) return null;
    const now = performance.now();
    if (now - this.#lookedAt >= BOTTOM_EVERY_MS || this.#ranks.size === 0) {
      this.#lookedAt = now;
      return null;
    }
    return { lanes: [...this.#ranks.keys()], floors: [...this.#ranks.values()].map((rank) => rank - MARGIN_MS) };
  }

  /** A look from the bottom is over. */
  looked(wasSlow: boolean): void {
    this.#slow = wasSlow ? this.#slow + 1 : 0;
    if (this.#slow < SLOW_LOOKS) this.#ranks.clear();
  }

  /** A job was claimed; `used` are the floors of that claim. The jobs of a lane come in order. */
  claimed(lane: number, runAt: number, used: UsedStarts | null): void {
    if (this.#slow < SLOW_LOOKS) return;
    const rank = this.#ranks.get(lane);
    const usedFloor = used === null ? undefined : used.floors[used.lanes.indexOf(lane)];
    const isFromBottom = usedFloor === undefined;
    // A floor that came down meanwhile is not raised by one who began above it: that claim has not seen what stands between.
    const cameDown = !isFromBottom && rank !== undefined && rank - MARGIN_MS < usedFloor;
    if (isFromBottom || (!cameDown && runAt > (rank ?? 0))) this.#ranks.set(lane, runAt);
  }

  /** This process put a job back: it may stand below. */
  reset(): void {
    this.#ranks.clear();
  }
}

/**
 * WHERE TO BEGIN READING WHAT IS DUE. A transaction that somebody keeps open keeps the index entries of jobs that were promoted long ago, and
 * each look walks over them all. So while looks from the bottom are slow, only one a second is made, and the others begin where the last job
 * was taken. What was committed late stands below: it is found within that second.
 */
export class DueStart {
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
