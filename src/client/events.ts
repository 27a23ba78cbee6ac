import { invalid } from "../core/errors.ts";
import type { Event } from "../core/event.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Store } from "../store/store.ts";
import { readOptions } from "./refusals.ts";

const LONG_MS = 2 ** 30;

export interface EventParts {
  readonly store: Pick<Store, "listen">;
  readonly now: () => number;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
}

/**
 * Events from this call on. Listening starts here, not with the first step of the loop, so that nothing in between is missed. It ends when the
 * loop is left, when `signal` aborts, or when the client closes.
 */
export function openEvents({ store, now, closing }: EventParts, options: unknown): AsyncIterableIterator<Event> {
  const { signal } = readOptions(options, "the options of events", ["signal"]);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
  // Keeps the process alive while somebody waits for events: a store in memory or in a file has nothing else that would.
  let waiting: NodeJS.Timeout | undefined;
  return new EventStream({
    now,
    signals: signal === undefined ? [closing] : [closing, signal],
    onWaiting: (isWaiting) => void (isWaiting ? waiting?.ref() : waiting?.unref()),
    listen: (stream) => {
      waiting = setInterval(() => {}, LONG_MS).unref();
      const unlisten = store.listen((events) => stream.receive(events));
      return () => {
        unlisten();
        clearInterval(waiting);
      };
    },
  });
}
