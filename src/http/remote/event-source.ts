/** READS SERVER-SENT EVENTS. Opens a broken stream again, after a pause that grows with each failure. */
import { createParser } from "eventsource-parser";
import { MillraceError } from "../../core/errors.ts";
import { type Clock, sleep, type Timer } from "../../lib/clock.ts";
import type { RouteName } from "../contract.ts";
import type { Transport } from "./transport.ts";

/** One event of a stream. */
export interface SourceEvent {
  readonly event: string;
  readonly data: unknown;
}

export interface EventSourceOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly route: RouteName;
  readonly onEvent: (event: SourceEvent) => void;
  /** Events may have been missed: the stream cannot be opened (called once until it can), or it broke and has no ids to continue from. */
  readonly onBroken: () => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** A server sends something every 15 s, if only a keep-alive. */
const LONGEST_SILENCE_MS = 45_000;

/** Reads a stream until `signal` aborts. Never rejects. If events have ids, a broken stream continues after the last one. */
export async function readEventSource(options: EventSourceOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, onBroken } = options;
  const place: Place = { lastId: null };
  let failures = 0;
  while (!signal.aborted) {
    const end = await readOnce(options, place, signal);
    if (signal.aborted) return;
    if (end.wasOpen ? place.lastId === null : failures === 0) onBroken();
    failures = end.wasOpen ? 0 : failures + 1;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
    await sleep(clock, Math.max(end.retryAfterMs, pause * (0.5 + random() / 2)), signal);
  }
}

/** How far a stream was read. */
interface Place {
  lastId: string | null;
}

/** Opens the stream and reads it to its end. */
async function readOnce(
  { transport, clock, route, onEvent }: EventSourceOptions,
  place: Place,
  signal: AbortSignal,
): Promise<{ wasOpen: boolean; retryAfterMs: number }> {
  const silence = new Silence(clock, signal);
  let wasOpen = false;
  try {
    const headers: Record<string, string> = place.lastId === null ? {} : { "Last-Event-ID": place.lastId };
    silence.begin();
    const stream = await transport.openStream(route, headers, silence.signal);
    wasOpen = true;
    const parser = createParser({
      onEvent({ id, event, data }) {
        place.lastId = id ?? place.lastId;
        if (event !== undefined) onEvent({ event, data: JSON.parse(data) as unknown });
      },
    });
    const decoder = new TextDecoder();
    // Not `for await`: not all browsers can iterate over a stream.
    const reader = stream.getReader();
    for (;;) {
      silence.begin();
      const { done, value } = await reader.read();
      if (done) return { wasOpen, retryAfterMs: 0 };
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    // The server is away or refuses, the connection broke, or this reader is done.
    return { wasOpen, retryAfterMs: error instanceof MillraceError ? (error.retryAfterMs ?? 0) : 0 };
  } finally {
    silence.stop();
  }
}

/** Ends a stream that is silent for longer than a server ever is: its connection is dead. */
class Silence {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #over = new AbortController();
  readonly #end = (): void => this.#over.abort();
  #timer: Timer | null = null;

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    outer.addEventListener("abort", this.#end);
    if (outer.aborted) this.#end();
  }

  /** Aborts with the outer signal, or after a silence. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  begin(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(this.#end, LONGEST_SILENCE_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#outer.removeEventListener("abort", this.#end);
  }
}
