/** How far below the last taken due time to look: an insert that was slow to commit has an earlier one. */
const MARGIN_MS = 100;
/** How often to look from the bottom anyway. */
const BOTTOM_EVERY_MS = 1_000;
/** After this many slow looks from the bottom in a row, the heads of the lanes count as clogged. */
const SLOW_LOOKS = 2;

/** Where a claim began to read each lane. */
export interface UsedStarts {
  readonly lanes: readonly number[];
  readonly floors: readonly number[];
}

/**
 * WHERE TO BEGIN READING A LANE. A transaction that stays open keeps the index entries of claimed jobs, and each claim walks over all of
 * them: after 100,000 jobs it takes three times as long. Due times in a lane rise, so a claim can begin at the last claimed one instead.
 *
 * But a job that comes back or is promoted late may be below. So floors are used only while the heads of the lanes are clogged, and a look
 * from the bottom every second finds jobs that another process put below. When it finds one, the floor of its lane is lowered to it, and
 * the next claim finds those after it.
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

  /** Call it after a look from the bottom. */
  looked(wasSlow: boolean): void {
    this.#slow = wasSlow ? this.#slow + 1 : 0;
    if (this.#slow < SLOW_LOOKS) this.#ranks.clear();
  }

  /** Call it for each claimed job, in order; `used` are the floors of that claim. */
  claimed(lane: number, runAt: number, used: UsedStarts | null): void {
    if (this.#slow < SLOW_LOOKS) return;
    const rank = this.#ranks.get(lane);
    const usedFloor = used === null ? undefined : used.floors[used.lanes.indexOf(lane)];
    const isFromBottom = usedFloor === undefined;
    // A claim that began above a floor which was lowered meanwhile does not raise it: it has not seen what is in between.
    const cameDown = !isFromBottom && rank !== undefined && rank - MARGIN_MS < usedFloor;
    if (isFromBottom || (!cameDown && runAt > (rank ?? 0))) this.#ranks.set(lane, runAt);
  }

  /** Call it when this process put a job back: it may be below. */
  reset(): void {
    this.#ranks.clear();
  }
}

/**
 * WHERE TO BEGIN READING DUE JOBS. A transaction that stays open keeps the index entries of jobs promoted long ago, and each look walks
 * over all of them. So while looks from the bottom are slow there is only one per second, and the others begin at the last taken job. A job
 * that was committed late is below, and is found within that second.
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

  /** Call it after a look. `last`: the latest due time that it took. */
  looked(from: number | null, wasSlow: boolean, last: number | null): void {
    if (from === null) this.#isClogged = wasSlow;
    if (last !== null) this.#floor = from === null ? last - MARGIN_MS : Math.max(from, last - MARGIN_MS);
  }
}

/** A look that takes this long passes many dead rows. */
const SLOW_LOOK_MS = 5;
/** How far below to look: transactions that run side by side are committed in another order than that of their numbers. */
const MARGIN_NOTICES = 1_000;
/** Looks from the bottom take a twentieth of the time at most. */
const REST_AFTER = 20;

/**
 * WHERE TO BEGIN READING NOTICES. A transaction that stays open keeps the rows of delivered notices, and each look walks over all of them: at least
 * 10 ms for 100,000. Their numbers rise, so while looks from the bottom are slow most begin a little below the first notice that is known and
 * not dropped. One that was committed much later is found by the next look from the bottom.
 */
export class NoticeStart {
  /** Notices that were read, or left out because they were read before, and that this process did not drop. */
  #known = new Set<number>();
  #last: number | null = null;
  #slow = 0;
  #bottomAt = Number.NEGATIVE_INFINITY;

  /** The next look reads what comes after this number; null: from the bottom. */
  next(): number | null {
    if (this.#slow < SLOW_LOOKS || this.#last === null || performance.now() >= this.#bottomAt) return null;
    return Math.min(this.#last, ...Array.from(this.#known, (number) => number - 1)) - MARGIN_NOTICES;
  }

  /** Call it after a look. */
  looked(from: number | null, tookMs: number, found: readonly number[], except: readonly number[]): void {
    if (from === null) {
      this.#known = new Set(except);
      this.#slow = tookMs < SLOW_LOOK_MS ? 0 : this.#slow + 1;
      this.#bottomAt = performance.now() + Math.max(BOTTOM_EVERY_MS, REST_AFTER * tookMs);
    }
    for (const number of found) this.#known.add(number);
    if (found.length > 0) this.#last = from === null ? found.at(-1)! : Math.max(this.#last!, found.at(-1)!);
  }

  dropped(numbers: readonly number[]): void {
    for (const number of numbers) this.#known.delete(number);
  }
}
