/** An item of a line, sorted by `order`, then `seq`. The line notes in `spot` where it put the item. */
export interface LineItem {
  order: number;
  readonly seq: number;
  spot: number;
}

/** A position in the order. */
type Position = Pick<LineItem, "order" | "seq">;

function before(a: Position, b: Position): boolean {
  return a.order < b.order || (a.order === b.order && a.seq < b.seq);
}

/** With fewer empty slots than this, compacting costs more than it saves. */
const WORTH_TIDYING = 512;

/**
 * A sorted list. Items that arrive in order, as nearly all jobs do, are appended to an array and taken from its front at a constant cost;
 * others go into a heap beside it. An item is in one line at a time.
 */
export class Line<Item extends LineItem> {
  /** Sorted from #front on; null where an item was removed. Both ends are items. An item's index is its spot - #base. */
  #run: (Item | null)[] = [];
  #front = 0;
  #base = 0;
  #holes = 0;
  readonly #heap = new Heap<Item>();

  get size(): number {
    return this.#run.length - this.#front - this.#holes + this.#heap.size;
  }

  get first(): Item | undefined {
    const inRun = this.#run[this.#front];
    const inHeap = this.#heap.first;
    if (inRun === undefined || inRun === null) return inHeap;
    return inHeap !== undefined && before(inHeap, inRun) ? inHeap : inRun;
  }

  /** All items, not sorted. The line must not change meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (let index = this.#front; index < this.#run.length; index++) {
      const item = this.#run[index];
      if (item !== undefined && item !== null) yield item;
    }
    yield* this.#heap;
  }

  /** The items after a position, in order. The line must not change meanwhile. Costs what is read, and what arrived out of order. */
  *inOrder(after: Position | null): Generator<Item> {
    const others = [...this.#heap].filter((item) => after === null || before(after, item)).sort((a, b) => (before(a, b) ? -1 : 1));
    let other = 0;
    for (let index = after === null ? this.#front : this.#firstFrom({ ...after, seq: after.seq + 1 }); index < this.#run.length; index++) {
      const item = this.#run[index];
      if (item === undefined || item === null) continue;
      while (other < others.length && before(others[other]!, item)) yield others[other++]!;
      yield item;
    }
    yield* others.slice(other);
  }

  /** The items before a position, the last first. */
  *fromLast(end: Position): Generator<Item> {
    const others = [...this.#heap].filter((item) => before(item, end)).sort((a, b) => (before(a, b) ? 1 : -1));
    let other = 0;
    for (let index = this.#firstFrom(end) - 1; index >= this.#front; index--) {
      const item = this.#run[index];
      if (item === undefined || item === null) continue;
      while (other < others.length && before(item, others[other]!)) yield others[other++]!;
      yield item;
    }
    yield* others.slice(other);
  }

  /** Binary search for the first slot from which on every item is at or after a position. An empty slot is judged by the item after it. */
  #firstFrom(position: Position): number {
    let low = this.#front;
    let high = this.#run.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      let filled = middle;
      // The last slot is never empty.
      while (this.#run[filled] === null) filled++;
      if (before(this.#run[filled]!, position)) low = filled + 1;
      else high = middle;
    }
    return low;
  }

  /** How many items come before a position, counted up to `most`. Costs no more than what it counts. */
  countBefore(position: Position, most: number): number {
    let count = Math.min(most, this.#heap.countBefore(position, most));
    for (let index = this.#front; index < this.#run.length && count < most; index++) {
      const item = this.#run[index];
      if (item === undefined || item === null) continue;
      if (!before(item, position)) break;
      count++;
    }
    return count;
  }

  add(item: Item): void {
    const last = this.#run[this.#run.length - 1];
    if (last !== undefined && last !== null && before(item, last)) return this.#heap.add(item);
    item.spot = this.#base + this.#run.length;
    this.#run.push(item);
  }

  remove(item: Item): void {
    const index = item.spot - this.#base;
    if (index < this.#front || index >= this.#run.length || this.#run[index] !== item) return this.#heap.remove(item);
    this.#run[index] = null;
    this.#holes++;
    this.#trim();
    this.#tidy();
  }

  /** Removes empty slots from both ends. */
  #trim(): void {
    const run = this.#run;
    while (this.#front < run.length && run[this.#front] === null) {
      this.#front++;
      this.#holes--;
    }
    while (run.length > this.#front && run[run.length - 1] === null) {
      run.pop();
      this.#holes--;
    }
  }

  /** Compacts once most slots are empty, so that the cost per removal stays constant. */
  #tidy(): void {
    const run = this.#run;
    if (this.#front === run.length) {
      run.length = 0;
      this.#front = 0;
    } else if (this.#front > WORTH_TIDYING && this.#front * 2 > run.length) {
      this.#run = run.slice(this.#front);
      this.#base += this.#front;
      this.#front = 0;
    } else if (this.#holes > WORTH_TIDYING && this.#holes * 2 > run.length - this.#front) {
      const items = run.filter((item) => item !== null);
      items.forEach((item, index) => (item.spot = index));
      this.#run = items;
      this.#base = this.#front = this.#holes = 0;
    }
  }
}

/** A binary heap. Adding, and removing any item, costs the logarithm of the size. */
export class Heap<Item extends LineItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }

  /** How many items come before a position, counted up to about `most`. It skips everything below an item that does not. */
  countBefore(position: Position, most: number): number {
    let count = 0;
    const next = [0];
    for (let index = next.pop(); index !== undefined && count < most; index = next.pop()) {
      const item = this.#items[index];
      if (item === undefined || !before(item, position)) continue;
      count++;
      next.push(2 * index + 1, 2 * index + 2);
    }
    return count;
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  remove(item: Item): void {
    const index = item.spot;
    const last = this.#items.pop()!;
    if (last === item) return;
    this.#rise(last, index);
    this.#sink(last, last.spot);
  }

  /** Moves the first item to its position after its order has grown. */
  sinkFirst(): void {
    this.#sink(this.#items[0]!, 0);
  }

  #rise(item: Item, index: number): void {
    const items = this.#items;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(item, items[parent]!)) break;
      this.#put(items[parent]!, index);
      index = parent;
    }
    this.#put(item, index);
  }

  #sink(item: Item, index: number): void {
    const items = this.#items;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && before(items[child + 1]!, items[child]!)) child++;
      if (!before(items[child]!, item)) break;
      this.#put(items[child]!, index);
      index = child;
    }
    this.#put(item, index);
  }

  #put(item: Item, index: number): void {
    this.#items[index] = item;
    item.spot = index;
  }
}

/** Binary search for the first item that passes a test which all later items also pass; the length if none does. */
export function firstIndex<Item>(items: readonly Item[], passes: (item: Item) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
