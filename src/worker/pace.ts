/** How long after its last run a slow type still counts. */
const LATELY_MS = 60_000;
/** The most types whose run times are remembered. A worker for all types may see any number. */
const MAX_TYPES_REMEMBERED = 1000;
/** Averages follow a rise faster than a fall: to hold too many jobs is worse than to hold too few. */
const RISE = 1 / 4;
const FALL = 1 / 8;

/** HOW FAST A WORKER IS: how long its handlers run, and how long it takes from one start to the next. Times are monotonic. */
export class Pace {
  /** Average run time by type. */
  readonly #byType = new Map<string, number>();
  /** Types whose average is above `slowMs`, and when each last ran. */
  readonly #slow = new Map<string, number>();
  /** Average run time of the types that are not slow. */
  #runMs: number | null = null;
  #betweenMs: number | null = null;
  /** Since when starts are counted; null while there is no backlog. */
  #since: number | null = null;
  #starts = 0;

  /** A handler has ended. Types that take longer than `slowMs` are slow. */
  ran(type: string, ms: number, slowMs: number, now: number): void {
    const average = averageOf(this.#byType.get(type) ?? ms, ms);
    this.#byType.set(type, average);
    if (this.#byType.size > MAX_TYPES_REMEMBERED) this.#forgetOldest();
    if (average <= slowMs) {
      this.#runMs = averageOf(this.#runMs ?? ms, ms);
      if (this.#slow.size > 0) this.#slow.delete(type);
    } else {
      this.#slow.set(type, now);
    }
  }

  started(): void {
    this.#starts++;
  }

  /**
   * A claim was answered. Between two claims that got all they asked for, there was always work: what passed in between, exchanges included, is
   * what the starts took.
   */
  claimed(isFull: boolean, now: number): void {
    if (isFull && this.#since !== null) {
      if (this.#starts === 0) return;
      const sample = (now - this.#since) / this.#starts;
      // By a clock that stands still, as in a test, no pace can be measured.
      if (sample > 0) this.#betweenMs = averageOf(this.#betweenMs ?? sample, sample);
    }
    this.#since = isFull ? now : null;
    this.#starts = 0;
  }

  /** Whether a slow type ran lately. */
  hasSlowTypes(now: number): boolean {
    for (const [type, at] of this.#slow) {
      if (now - at <= LATELY_MS) return true;
      this.#slow.delete(type);
      this.#byType.delete(type);
    }
    return false;
  }

  isSlow(type: string): boolean {
    return this.#slow.has(type);
  }

  /** How many jobs will start within this time, if so many slots take part. 0 while that is not known. */
  startsWithin(ms: number, slots: number): number {
    if (this.#betweenMs === null) return 0;
    const bySlots = this.#runMs === null ? Infinity : (slots * ms) / this.#runMs;
    return Math.min(bySlots, ms / this.#betweenMs);
  }

  #forgetOldest(): void {
    for (const type of this.#byType.keys()) {
      this.#byType.delete(type);
      this.#slow.delete(type);
      return;
    }
  }
}

function averageOf(average: number, sample: number): number {
  return average + (sample - average) * (sample > average ? RISE : FALL);
}
