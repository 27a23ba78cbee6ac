import type { Event, EventCount } from "./event.ts";

/** How many events a second are sent one by one. Nobody could read more, and they would slow down the workers. */
export const MAX_SINGLES = 1000;

/** How often sums are sent while there are too many events to send one by one. */
export const SUMS_EVERY_MS = 250;

const SECOND_MS = 1000;
/** The most sums in one batch. Events of queues beyond that are only counted as missed. */
const MAX_SUMS = 1000;

/**
 * SENDS EVENTS ONE BY ONE, OR AS SUMS WHEN THERE ARE TOO MANY.
 *
 *   calm   each event is passed on; more than MAX_SINGLES within a second make it busy
 *   busy   events are summed up by kind and queue; a second with at most MAX_SINGLES makes it calm again
 *
 * Sums are a `gap` with the number of events that were not sent, and `counts` with what they were. Times are from one monotonic clock.
 */
export class EventDigest {
  readonly #sums = new Map<string, Map<string, number>>();
  #size = 0;
  #missed = 0;
  #hasSums = false;
  #secondSince = Number.NEGATIVE_INFINITY;
  #inSecond = 0;
  #isBusy = false;

  /** Whether sums are waiting: then call `sums` soon. */
  get hasSums(): boolean {
    return this.#hasSums;
  }

  /** Which events to send now, in order. The others are summed up. `at` is the time that the sums get. */
  take(events: readonly Event[], monotonic: number, at: number): readonly Event[] {
    this.#turnSecond(monotonic);
    // Events that were summed up come first.
    const passed = this.#isBusy ? [] : this.sums(at);
    for (const event of events) {
      // There are few sums of other processes, so they do not count.
      const isSingle = event.event !== "gap" && event.event !== "counts";
      if (isSingle && ++this.#inSecond > MAX_SINGLES) this.#isBusy = true;
      if (this.#isBusy) this.#add(event);
      else passed.push(event);
    }
    return passed;
  }

  /** The sums since the last call, as events. */
  sums(at: number): Event[] {
    if (!this.#hasSums) return [];
    const counts: EventCount[] = [];
    for (const [event, queues] of this.#sums) {
      for (const [queue, count] of queues) counts.push({ event: event as EventCount["event"], queue, count });
    }
    const gap: Event = { event: "gap", at, missed: this.#missed };
    this.#sums.clear();
    this.#size = 0;
    this.#missed = 0;
    this.#hasSums = false;
    return counts.length === 0 ? [gap] : [gap, { event: "counts", at, counts }];
  }

  #turnSecond(monotonic: number): void {
    const since = monotonic - this.#secondSince;
    if (since < SECOND_MS) return;
    this.#isBusy = since < 2 * SECOND_MS && this.#inSecond > MAX_SINGLES;
    this.#secondSince = monotonic;
    this.#inSecond = 0;
  }

  #add(event: Event): void {
    this.#hasSums = true;
    if (event.event === "gap") this.#missed += event.missed;
    else if (event.event === "counts") for (const { event: name, queue, count } of event.counts) this.#sum(name, queue, count);
    else {
      this.#missed++;
      this.#sum(event.event, event.queue, 1);
    }
  }

  #sum(event: string, queue: string, count: number): void {
    let queues = this.#sums.get(event);
    if (queues === undefined) this.#sums.set(event, (queues = new Map<string, number>()));
    const before = queues.get(queue);
    if (before === undefined && ++this.#size > MAX_SUMS) return;
    queues.set(queue, (before ?? 0) + count);
  }
}
