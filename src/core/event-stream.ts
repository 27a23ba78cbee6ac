import { type Event, missedWith } from "./event.ts";

/** How many events are kept for a reader who is slower than the news. */
export const MAX_BUFFERED = 10_000;

export interface EventStreamOptions {
  readonly now: () => number;
  /** Abort when the stream shall end. */
  readonly signals: readonly AbortSignal[];
  /** Begins to listen, and answers how to end it. */
  readonly listen: (stream: EventStream) => () => void;
  /** Told when somebody begins to wait for news, and when nobody does any more. */
  readonly onWaiting?: ((isWaiting: boolean) => void) | undefined;
}

/** EVENTS AS THEY HAPPEN, from a store or from a server. What a reader was too slow for, and what could not be had, is told as a `gap`. */
export class EventStream implements AsyncIterableIterator<Event> {
  readonly #options: EventStreamOptions;
  readonly #end = (): void => this.#finish();
  #unlisten: (() => void) | null = null;
  #buffer: Event[] = [];
  #taken = 0;
  #isGap = false;
  #missed = 0;
  #isDone = false;
  #readers: ((result: IteratorResult<Event, undefined>) => void)[] = [];

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#isDone = options.signals.some((signal) => signal.aborted);
    if (this.#isDone) return;
    for (const signal of options.signals) signal.addEventListener("abort", this.#end);
    this.#unlisten = options.listen(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#take();
    if (event !== null) return Promise.resolve({ done: false, value: event });
    if (this.#isDone) return Promise.resolve({ done: true, value: undefined });
    this.#options.onWaiting?.(true);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#buffer = [];
    this.#taken = 0;
    this.#isGap = false;
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Events happened. */
  receive(events: readonly Event[]): void {
    for (const event of events) {
      const reader = this.#readers.shift();
      if (reader !== undefined) reader({ done: false, value: event });
      else this.#keep(event);
    }
    if (this.#readers.length === 0) this.#options.onWaiting?.(false);
  }

  /** Something was missed, or may be, and nobody knows how much. */
  receiveGap(): void {
    this.#isGap = true;
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ done: false, value: this.#takeGap() });
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
    return this.#isGap ? this.#takeGap() : null;
  }

  #takeGap(): Event {
    const gap: Event = { event: "gap", at: this.#options.now(), missed: this.#missed };
    this.#isGap = false;
    this.#missed = 0;
    return gap;
  }

  #finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#unlisten?.();
    for (const signal of this.#options.signals) signal.removeEventListener("abort", this.#end);
    for (const reader of this.#readers.splice(0)) reader({ done: true, value: undefined });
  }
}
