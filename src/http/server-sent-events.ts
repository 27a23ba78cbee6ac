/**
 * SERVER-SENT EVENTS. A stream of texts that never grows: its maker is asked for more only when the reader took what there was, and hears
 * when the reader has gone. A comment now and then finds out that it has.
 *
 * Not by `streamSSE` of Hono: it takes a Context, which a call that came over Node's own server does not have; it does not say whether the reader
 * took anything, so a beat would be written for one who does not read, and one who never reads would be kept for ever; and it drops what a
 * write throws.
 */
import type { Clock, Timer } from "../lib/clock.ts";

/** The media type. */
export const EVENT_STREAM = "text/event-stream";

const BEAT_MS = 15_000;
/** A reader who has taken nothing for so many beats is gone, or might as well be. */
const MAX_IDLE_BEATS = 4;
const ENCODER = new TextEncoder();

/** One event as text, with an id by which a reader can say what it had last. */
export function eventFrame(event: string, json: string, id: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
}

/** One event as text. */
export function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
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

  function beatLater(controller: ReadableStreamDefaultController<Uint8Array>, idleBeats: number): void {
    beat = clock.setTimer(() => {
      // Who does not read needs no more to read.
      const isReading = (controller.desiredSize ?? 0) > 0;
      if (isReading) controller.enqueue(ENCODER.encode(": beat\n\n"));
      else if (idleBeats + 1 >= MAX_IDLE_BEATS) return giveUp(controller);
      beatLater(controller, isReading ? 0 : idleBeats + 1);
    }, BEAT_MS);
  }

  function giveUp(controller: ReadableStreamDefaultController<Uint8Array>): void {
    finish();
    controller.error(new Error("the reader has taken nothing for too long"));
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      // A first byte opens the stream for those who wait for its headers.
      controller.enqueue(ENCODER.encode(`retry: 1000\n\n${greeting}`));
      beatLater(controller, 0);
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
