/** What happens, from a server, as it happens. */
import { type Event, missedWith } from "../../core/event.ts";
import { type EventWire, fromEventWire } from "../wire/event.ts";
import { type EventSourceOptions, readEventSource } from "./event-source.ts";

/** How many events are kept for a reader who is slower than the news. */
const MAX_BUFFERED = 10_000;

export interface RemoteEventsOptions extends Omit<EventSourceOptions, "route" | "onEvent" | "onBroken"> {
  /** Abort when the stream shall end. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Events from about now on. A stream that broke goes on where it was. What the server does not have any more, what it could not be asked for,
 * and what a reader was too slow for, is told as a `gap`.
 */
export class RemoteEvents implements AsyncIterableIterator<Event> {
  readonly #options: RemoteEventsOptions;
  readonly #over = new AbortController();
  readonly #finish = (): void => this.#end();
  #buffer: Event[] = [];
  #missed = 0;
  #isGap = false;
  #readers: ((result: IteratorResult<Event, undefined>) => void)[] = [];

  constructor(options: RemoteEventsOptions) {
    this.#options = options;
    for (const signal of options.signals) signal.addEventListener("abort", this.#finish);
    if (options.signals.some((signal) => signal.aborted)) return this.#end() as unknown as this;
    void readEventSource(
      {
        ...options,
        route: "GET /api/v1/events",
        onEvent: ({ data }) => this.#receive(fromEventWire(data as EventWire)),
        onBroken: () => this.#receiveGap(),
      },
      this.#over.signal,
    );
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#take();
    if (event !== null) return Promise.resolve({ done: false, value: event });
    if (this.#over.signal.aborted) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#buffer = [];
    this.#isGap = false;
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #receive(event: Event): void {
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ done: false, value: event });
    else if (this.#isGap || this.#buffer.length >= MAX_BUFFERED) this.#miss(event);
    else this.#buffer.push(event);
  }

  /** Once the buffer was full, nothing is kept until the reader has emptied it and was told of the gap: one gap, not one an event. */
  #miss(event: Event): void {
    this.#isGap = true;
    this.#missed += missedWith(event);
  }

  #receiveGap(): void {
    if (this.#isGap) return;
    this.#isGap = true;
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ done: false, value: this.#takeGap() });
  }

  #take(): Event | null {
    return this.#buffer.shift() ?? (this.#isGap ? this.#takeGap() : null);
  }

  #takeGap(): Event {
    const gap: Event = { event: "gap", at: this.#options.clock.now(), missed: this.#missed };
    this.#isGap = false;
    this.#missed = 0;
    return gap;
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    for (const signal of this.#options.signals) signal.removeEventListener("abort", this.#finish);
    for (const reader of this.#readers.splice(0)) reader({ done: true, value: undefined });
  }
}
