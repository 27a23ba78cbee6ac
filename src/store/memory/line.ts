/** What can stand in a line: `order` says where, `seq` breaks ties, and `spot` is the line's own note of where it put the item. */
export interface Standing {
  order: number;
  readonly seq: number;
  spot: number;
}

/** Where something stands, or would. */
type Place = Pick<Standing, "order" | "seq">;

function before(a: Place, b: Place): boolean {
  return a.order < b.order || (a.order === b.order && a.seq < b.seq);
}

/** Below this many dead places tidying up costs more than it saves. */
const WORTH_TIDYING = 512;

/**
 * Items in order. What comes in order, as nearly all jobs do, is appended to a run and taken from its front, at the same small price
 * however long the line is; what comes out of order goes into a heap beside it. An item stands in one line at a time.
 */
export class Line<Item extends Standing> {
  /** In order from #front on; null where an item left from the middle. Both ends are items. An item's index is its spot - #base. */
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

  /** All items, those that came in order first. Nobody may come or leave meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (let index = this.#front; index < this.#run.length; index++) {
      const item = this.#run[index];
      if (item !== undefined && item !== null) yield item;
    }
    yield* this.#heap;
  }

  /** How many items stand before a place, counted up to `most`. Costs no more than what it counts. */
  countBefore(place: Place, most: number): number {
    let count = Math.min(most, this.#heap.countBefore(place, most));
    for (let index = this.#front; index < this.#run.length && count < most; index++) {
      const item = this.#run[index];
      if (item === undefined || item === null) continue;
      if (!before(item, place)) break;
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

  /** Both ends are items again. */
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

  /** Gives back places that are dead once they are the greater part, so that each removal pays a constant share of it. */
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

/** The first item is at hand, any other can be removed: each step costs the logarithm of the size. */
export class Heap<Item extends Standing> {
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

  /** How many items stand before a place, counted up to about `most`: what is below an item that does not stand before it is passed over. */
  countBefore(place: Place, most: number): number {
    let count = 0;
    const next = [0];
    for (let index = next.pop(); index !== undefined && count < most; index = next.pop()) {
      const item = this.#items[index];
      if (item === undefined || !before(item, place)) continue;
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

  /** The order of the first item has grown: it goes where it belongs now. */
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

/** The index of the first item that passes a test which, once passed, all later items pass too; the length when none does. */
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
