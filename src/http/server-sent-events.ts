/**
 * SERVER-SENT EVENTS. The stream never grows: it asks for the next text only after the reader has taken the last one. Regular beats
 * (comments) find out whether the reader has gone.
 *
 * Not by `streamSSE` of Hono: it takes a Context, which calls over Node's own server do not have. It does not say whether the reader took
 * anything, so it would write beats for a reader that does not read, and keep it forever. And it drops the errors of writes.
 */
import type { Clock, Timer } from "../lib/clock.ts";
import { RawReply } from "./route-input.ts";

/** What compresses or buffers an answer keeps events until there are many: middleware of the application obeys the first, nginx the second. */
const AT_ONCE = { "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" };

const BEAT_MS = 15_000;
/** A reader that takes nothing for this many beats counts as gone. */
const MAX_IDLE_BEATS = 4;
const ENCODER = new TextEncoder();

/** An answer with a stream of events. */
export function eventReply(body: "" | ReadableStream<Uint8Array>): RawReply {
  return new RawReply("text/event-stream", body, AT_ONCE);
}

/** One event as text, with an id after which a reader can continue. */
export function eventFrame(event: string, json: string, id: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
}

/** One event as text. */
export function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export interface EventSourceOptions {
  readonly clock: Clock;
  /** Ends the stream. */
  readonly ending: AbortSignal;
  /** What is sent first. */
  readonly greeting?: string;
  /** Resolves with the next text to send, or null at the end. Asked again only when the text was taken. */
  readonly next: (signal: AbortSignal) => Promise<string | null>;
  /** Called when the stream has ended, whoever ended it. */
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
      // A reader that does not read gets no more.
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
      // Some clients see the headers only with the first byte.
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
