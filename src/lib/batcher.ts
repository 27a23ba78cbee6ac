/**
 * GROUP COMMIT. Many callers each ask for one thing; a store answers many at once at little more than the cost of one.
 *
 * Calls are gathered until the end of the tick and sent together; each caller gets its own answer or error. While `inFlight` batches are in
 * progress, further calls wait, so batches become large when there is much to do. There is no timer: an idle batcher sends within the tick.
 * (Measured: if the first call is sent at once, the mean batch is half as large, and calls from sockets, each in its own callback, make
 * batches of one.)
 */
export interface BatcherOptions<Item, Answer> {
  /**
   * Runs a batch; answers are in the order of the items. An Error as an answer rejects only that item; a promise makes only that item wait longer.
   */
  readonly run: (items: Item[]) => Promise<(Answer | Error | Promise<Answer>)[]>;
  /** How many batches may be in progress; each takes its share of the waiting items. */
  readonly inFlight: number;
  readonly maxItems: number;
  /** The weight of an item, and the most that a batch may weigh; a heavier item goes alone. */
  readonly weigh?: (item: Item) => number;
  readonly maxWeight?: number;
  /** Bounds how many calls wait, together with other batchers if they share it. */
  readonly waitingLimit: WaitingLimit;
  /**
   * How long an item may wait for its batch to be sent. Each batch ahead of it may take as long as a call of the store; without this bound, an
   * item behind ten batches would wait ten times as long.
   */
  readonly patience?: Patience;
}

export interface Patience {
  readonly ms: number;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** The error of an item that has waited too long. */
  readonly tooLong: () => Error;
}

/** How many calls may wait for an answer, over all batchers that share it. Further calls are refused with the error from `overflow`. */
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
  /** When it was added; 0 without `patience`. */
  readonly since: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #waiting: Waiting<Item, Answer>[] = [];
  #underWay = 0;
  #flushing = false;
  /** Some of the waiting items had to wait for a batch. */
  #isBehind = false;
  #idle: (() => void)[] = [];

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Adds one item. Rejects at once if too many are waiting. */
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

  /** Resolves when nothing waits and nothing is in progress. */
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

  /** Items are in order, so those that have waited too long come first. */
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

  /** Takes up to `share` items from the front, within the limits of a batch. */
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

/** Browsers have no setImmediate; a timer comes closest. */
function atEndOfTick(run: () => void): void {
  if (typeof setImmediate === "function") setImmediate(run);
  else setTimeout(run);
}
