/**
 * GROUP COMMIT. Many callers each ask for one thing; a store answers many at once for little more than the price of one.
 *
 * Calls are gathered to the end of the tick and leave together; each caller still gets its own answer or its own error. With `inFlight`
 * batches under way, the rest waits and grows, so batches become large exactly when there is much to do. There is no timer: an idle
 * batcher sends within the tick. (Sending the first call at once instead was measured: the mean batch halves, and when calls arrive from
 * sockets, each in its own callback, every batch is of one.)
 */
export interface BatcherOptions<Item, Answer> {
  /**
   * Runs a batch; answers are in the order of the items. An answer that is an Error rejects that item alone, and one that is a promise makes
   * that item alone wait on.
   */
  readonly run: (items: Item[]) => Promise<(Answer | Error | Promise<Answer>)[]>;
  /** How many batches may be under way: each takes its share of what waits. */
  readonly inFlight: number;
  readonly maxItems: number;
  /** How heavy an item is, and the most that a batch may weigh; a single item heavier than that goes alone. */
  readonly weigh?: (item: Item) => number;
  readonly maxWeight?: number;
  /** Where calls wait, perhaps together with those of other batchers. */
  readonly waitingLimit: WaitingLimit;
  /**
   * How long an item may wait for its batch to leave. Each batch ahead of it may take as long as a call of the store may; without a bound of
   * its own an item behind ten of them would wait ten times as long.
   */
  readonly patience?: Patience;
}

export interface Patience {
  readonly ms: number;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** The error of one who has waited too long. */
  readonly tooLong: () => Error;
}

/** How many calls may wait for an answer at once, over all batchers that share it; one more is refused with what `overflow` makes. */
export class WaitingLimit {
  readonly max: number;
  readonly overflow: () => Error;
  count = 0;

  constructor(max: number, overflow: () => Error) {
    this.max = max;
    this.overflow = overflow;
  }
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  /** Since when, if anyone asks. */
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #waiting: Waiting<Item, Answer>[] = [];
  #underWay = 0;
  #flushing = false;
  /** Some of those who wait had to wait for a batch. */
  #isBehind = false;
  #idle: (() => void)[] = [];

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Asks for one item. Rejects at once when too many wait already. */
  add(item: Item): Promise<Answer> {
    const { waitingLimit, patience } = this.#options;
    if (waitingLimit.count >= waitingLimit.max) return Promise.reject(waitingLimit.overflow());
    waitingLimit.count++;
    const since = patience === undefined ? 0 : patience.now();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, since, resolve, reject });
      this.#flushSoon();
    });
  }

  /** Resolves when nothing waits and nothing is under way. */
  whenIdle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #flushSoon(): void {
    if (this.#flushing || this.#underWay >= this.#options.inFlight) return;
    this.#flushing = true;
    atEndOfTick(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isBehind) this.#refuseLate();
    this.#isBehind = false;
    while (this.#waiting.length > 0 && this.#underWay < this.#options.inFlight) {
      const free = this.#options.inFlight - this.#underWay;
      void this.#send(this.#take(Math.ceil(this.#waiting.length / free)));
    }
  }

  /** They came in order, so those who have waited too long are the first. */
  #refuseLate(): void {
    const { patience, waitingLimit } = this.#options;
    const [first] = this.#waiting;
    if (patience === undefined || first === undefined) return;
    const latest = patience.now() - patience.ms;
    if (first.since > latest) return;
    const found = this.#waiting.findIndex(({ since }) => since > latest);
    const late = this.#waiting.splice(0, found === -1 ? this.#waiting.length : found);
    waitingLimit.count -= late.length;
    for (const { reject } of late) reject(patience.tooLong());
    if (this.#waiting.length === 0 && this.#underWay === 0) this.#tellIdle();
  }

  /** Takes up to `share` items from the front, within the bounds of a batch. */
  #take(share: number): Waiting<Item, Answer>[] {
    const { maxItems, maxWeight = Infinity, weigh } = this.#options;
    const most = Math.min(share, maxItems, this.#waiting.length);
    let count = most;
    if (weigh !== undefined) {
      let weight = 0;
      for (count = 0; count < most; count++) {
        weight += weigh(this.#waiting[count]!.item);
        if (weight > maxWeight && count > 0) break;
      }
    }
    if (count < this.#waiting.length) return this.#waiting.splice(0, count);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }

  async #send(batch: Waiting<Item, Answer>[]): Promise<void> {
    this.#underWay++;
    try {
      const answers = await this.#options.run(batch.map((waiting) => waiting.item));
      for (let index = 0; index < batch.length; index++) {
        const answer = answers[index];
        if (answer instanceof Error) batch[index]!.reject(answer);
        else batch[index]!.resolve(answer as Answer);
      }
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      this.#underWay--;
      this.#options.waitingLimit.count -= batch.length;
      this.#isBehind = this.#waiting.length > 0;
      if (this.#isBehind) this.#flushSoon();
      else if (this.#underWay === 0) this.#tellIdle();
    }
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

/** Browsers have no setImmediate; there a timer comes next to it. */
function atEndOfTick(run: () => void): void {
  if (typeof setImmediate === "function") setImmediate(run);
  else setTimeout(run);
}
