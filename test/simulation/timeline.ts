import { calm } from "./immediates.ts";

/** Something that will happen at a time. */
export interface Happening {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

/** More events than this in one simulation are a loop that never ends. */
const MOST_EVENTS = 2_000_000;

/**
 * THE TIME OF A SIMULATED WORLD, in milliseconds from its beginning. Events happen one after the other, in the order of their times and, at
 * one time, in the order in which they were planned; each when all that the one before it caused has come to rest.
 */
export class Timeline {
  readonly #heap: Happening[] = [];
  #now = 0;
  #planned = 0;
  #happened = 0;

  get now(): number {
    return this.#now;
  }

  /** How much has happened so far. */
  get happened(): number {
    return this.#happened;
  }

  after(ms: number, run: () => void): Happening {
    const happening = { at: ms > 0 ? stepAfter(this.#now + ms) : this.#now, order: this.#planned++, run, isCancelled: false };
    this.#push(happening);
    return happening;
  }

  /** Lets time go by until then, or until `isDone` at the end of some event. */
  async run(until: number, isDone: () => boolean = () => false): Promise<void> {
    await calm();
    while (!isDone()) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) break;
      this.#pop();
      if (next.isCancelled) continue;
      if (++this.#happened > MOST_EVENTS) throw new Error(`the world does not come to an end: ${MOST_EVENTS} events by ${this.#now} ms`);
      this.#now = next.at;
      next.run();
      await calm();
    }
    if (!isDone()) this.#now = Math.max(this.#now, until);
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let spot = heap.length;
    heap.push(happening);
    while (spot > 0) {
      const parent = (spot - 1) >> 1;
      if (isEarlier(heap[parent]!, happening)) break;
      heap[spot] = heap[parent]!;
      spot = parent;
    }
    heap[spot] = happening;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let spot = 0;
    for (;;) {
      let child = 2 * spot + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isEarlier(heap[child + 1]!, heap[child]!)) child++;
      if (isEarlier(last, heap[child]!)) break;
      heap[spot] = heap[child]!;
      spot = child;
    }
    heap[spot] = last;
  }
}

/**
 * Times are whole multiples of about a microsecond, and of a power of two, so that sums and differences of them are exact; and time goes by
 * with every wait, so that who comes a rounding error too early and waits for the rest does not wait for ever.
 */
const STEPS_A_MS = 1024;

function stepAfter(time: number): number {
  return Math.ceil(time * STEPS_A_MS + 1e-3) / STEPS_A_MS;
}

function isEarlier(one: Happening, other: Happening): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
