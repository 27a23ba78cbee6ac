/**
 * SERVER-SENT EVENTS. A stream of texts that never grows: its maker is asked for more only when the reader took what there was, and hears
 * when the reader has gone. A comment now and then finds out that it has.
 */
import type { Clock, Timer } from "../lib/clock.ts";

const BEAT_MS = 15_000;
const ENCODER = new TextEncoder();

/** One event as text. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export interface EventSourceOptions {
  readonly clock: Clock;
  /** Aborts when the stream shall end. */
  readonly ending: AbortSignal;
  /** What is sent first. */
  readonly greeting?: string;
  /** Resolves with the next text to send, or null at the end. Asked again only when the text was taken. */
  readonly next: (signal: AbortSignal) => Promise<string | null>;
  /** The stream has ended, whoever ended it. */
  readonly ended: () => void;
}

/** A stream of events, as the body of an answer. */
export function eventStream({ clock, ending, greeting = "", next, ended }: EventSourceOptions): ReadableStream<Uint8Array> {
  const over = new AbortController();
  let beat: Timer | null = null;

  function finish(): void {
    if (over.signal.aborted) return;
    over.abort();
    ending.removeEventListener("abort", finish);
    beat?.cancel();
    ended();
  }

  function beatLater(controller: ReadableStreamDefaultController<Uint8Array>): void {
    beat = clock.setTimer(() => {
      // Who does not read needs no more to read.
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(ENCODER.encode(": beat\n\n"));
      beatLater(controller);
    }, BEAT_MS);
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      // A first byte opens the stream for those who wait for its headers.
      controller.enqueue(ENCODER.encode(`retry: 1000\n\n${greeting}`));
      beatLater(controller);
      if (ending.aborted) finish();
      else ending.addEventListener("abort", finish);
    },
    async pull(controller) {
      const text = over.signal.aborted ? null : await next(over.signal).catch(() => null);
      if (text !== null && !over.signal.aborted) return controller.enqueue(ENCODER.encode(text));
      finish();
      controller.close();
    },
    cancel: finish,
  });
}
