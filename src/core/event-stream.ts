import { type Event, missedWith } from "./event.ts";

/** How many events are kept for a slow reader. */
export const MAX_BUFFERED = 10_000;

export interface EventStreamOptions {
  readonly now: () => number;
  /** Abort one to end the stream. */
  readonly signals: readonly AbortSignal[];
  /** Starts to listen, and returns a function that stops. */
  readonly listen: (stream: EventStream) => () => void;
  /** Called when a reader starts to wait for events, and when none waits any more. */
  readonly onWaiting?: ((isWaiting: boolean) => void) | undefined;
}

/** EVENTS AS THEY HAPPEN, from a store or a server. A `gap` stands for events that a reader was too slow for or that were not received. */
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

  /** Passes events on to readers, or keeps them. */
  receive(events: readonly Event[]): void {
    for (const event of events) {
      const reader = this.#readers.shift();
      if (reader !== undefined) reader({ done: false, value: event });
      else this.#keep(event);
    }
    if (this.#readers.length === 0) this.#options.onWaiting?.(false);
  }

  /** Events were missed, or may have been; nobody knows how many. */
  receiveGap(): void {
    this.#isGap = true;
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ done: false, value: this.#takeGap() });
  }

  /** Once the buffer is full, nothing is kept until the reader has emptied it and got the gap: one gap in all, not one for each event. */
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
