import { invalid } from "../core/errors.ts";
import { type Event, missedWith } from "../core/event.ts";
import type { Store } from "../store/store.ts";
import { readOptions } from "./refusals.ts";

/** How many events are kept for a reader who is slower than the news. */
export const MAX_BUFFERED = 10_000;

const LONG_MS = 2 ** 30;

export interface EventParts {
  readonly store: Pick<Store, "listen">;
  readonly now: () => number;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
}

/**
 * What happens from this call on, as it happens. Listening begins here, and not with the first step of the loop, so that nothing is
 * missed in between. It ends when the loop is left, when `signal` aborts, or when the client closes.
 */
export function openEvents(parts: EventParts, options: unknown): AsyncIterableIterator<Event> {
  const { signal } = readOptions(options, "the options of events", ["signal"]);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
  return new EventStream(parts, signal);
}

class EventStream implements AsyncIterableIterator<Event> {
  readonly #now: () => number;
  readonly #signals: readonly AbortSignal[];
  readonly #unlisten: () => void;
  readonly #end = (): void => this.#finish();
  #buffer: Event[] = [];
  #taken = 0;
  #isGap = false;
  #missed = 0;
  #done = false;
  #readers: ((result: IteratorResult<Event, undefined>) => void)[] = [];
  /** Holds the process while somebody waits for news: a store in this process, or in a file, has nothing else that would. */
  readonly #waiting = setInterval(() => {}, LONG_MS).unref();

  constructor({ store, now, closing }: EventParts, signal: AbortSignal | undefined) {
    this.#now = now;
    this.#signals = signal === undefined ? [closing] : [closing, signal];
    this.#unlisten = store.listen((events) => this.#receive(events));
    for (const each of this.#signals) each.addEventListener("abort", this.#end);
    if (this.#signals.some((each) => each.aborted)) this.#finish();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#take();
    if (event !== null) return Promise.resolve({ done: false, value: event });
    if (this.#done) return Promise.resolve({ done: true, value: undefined });
    this.#waiting.ref();
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#buffer = [];
    this.#taken = 0;
    this.#isGap = false;
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  #receive(events: readonly Event[]): void {
    for (const event of events) {
      const reader = this.#readers.shift();
      if (reader !== undefined) reader({ done: false, value: event });
      else this.#keep(event);
    }
    if (this.#readers.length === 0) this.#waiting.unref();
  }

  /** Once the buffer was full, nothing is kept until the reader has emptied it and was told of the gap: one gap, not one an event. */
  #keep(event: Event): void {
    if (!this.#isGap && this.#buffer.length - this.#taken < MAX_BUFFERED) return void this.#buffer.push(event);
    this.#isGap = true;
    this.#missed += missedWith(event);
  }

  #take(): Event | null {
    if (this.#taken < this.#buffer.length) return this.#buffer[this.#taken++]!;
    this.#buffer = [];
    this.#taken = 0;
    if (!this.#isGap) return null;
    const gap: Event = { event: "gap", at: this.#now(), missed: this.#missed };
    this.#isGap = false;
    this.#missed = 0;
    return gap;
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#unlisten();
    clearInterval(this.#waiting);
    for (const each of this.#signals) each.removeEventListener("abort", this.#end);
    for (const reader of this.#readers.splice(0)) reader({ done: true, value: undefined });
  }
}
