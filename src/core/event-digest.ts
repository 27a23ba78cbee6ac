import type { Event, EventCount } from "./event.ts";

/** So many events a second are told one by one. Beyond, nobody could read them, and telling them would cost those who work. */
export const MAX_SINGLES = 1000;

/** How often sums are told while there are too many to tell one by one. */
export const SUMS_EVERY_MS = 250;

const SECOND_MS = 1000;
/** Sums that are told at once; what happens in more queues than fit is only counted as missed. */
const MAX_SUMS = 1000;

/**
 * TELLS EVENTS ONE BY ONE, OR IN SUMS WHEN THERE ARE TOO MANY.
 *
 *   calm   each event is handed on; when a second has had more than MAX_SINGLES, it is busy
 *   busy   events are summed up by kind and queue; after a second with no more than MAX_SINGLES, it is calm again
 *
 * Sums are a `gap`, which says how many events are not told, and `counts`, which says what they were. Times are of one monotonic clock.
 */
export class EventDigest {
  readonly #sums = new Map<string, Map<string, number>>();
  #size = 0;
  #missed = 0;
  #hasSums = false;
  #secondSince = Number.NEGATIVE_INFINITY;
  #inSecond = 0;
  #isBusy = false;

  /** Whether some wait to be told as sums: then `sums` is to be called before long. */
  get hasSums(): boolean {
    return this.#hasSums;
  }

  /** What is to be told of these now, in order: all of it, some, or nothing. `at` is the time that sums are given. */
  take(events: readonly Event[], monotonic: number, at: number): readonly Event[] {
    this.#turnSecond(monotonic);
    // What was summed up came first.
    const told = this.#isBusy ? [] : this.sums(at);
    for (const event of events) {
      // Sums that others made are few.
      const isSingle = event.event !== "gap" && event.event !== "counts";
      if (isSingle && ++this.#inSecond > MAX_SINGLES) this.#isBusy = true;
      if (this.#isBusy) this.#add(event);
      else told.push(event);
    }
    return told;
  }

  /** What was summed up since the last time, as events. */
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
