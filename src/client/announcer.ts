/**
 * Tells what happened: events to whoever listens, in any process, and the ends of jobs to those who wait for one in this process.
 * Events are made only while they are wanted, and telling never fails the call whose fact it tells.
 */
import type { Event } from "../core/event.ts";
import { isTerminal } from "../core/job.ts";
import type { Transition } from "../core/lifecycle.ts";
import type { Clock } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";
import { Publisher } from "./publisher.ts";

/** An attempt that ended, and what followed. */
export interface Settled {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly retryCount: number;
  readonly lostCount: number;
  readonly transition: Transition;
}

export interface Announcer {
  /** Whether events are worth making. */
  wanted(): boolean;
  /** Publishes events, or the sums of them when there are many; a failure is nobody's. */
  publish(events: readonly Event[]): void;
  /** Publishes what was summed up so far, and resolves when all is published: the client closes. */
  flush(): Promise<void>;
  /** Whether anybody hears of the ends of attempts. */
  isAwaited(): boolean;
  /** Tells the ends of attempts: to listeners, and to those who wait for the job. */
  settled(attempts: readonly Settled[]): void;
  /** Tells those in this process who wait for a job that it has ended or is gone. */
  ended(id: string): void;
  /** Calls back when this process learns that the job has ended; the returned function stops that. */
  onEnd(id: string, listener: () => void): () => void;
}

/** Makes the announcer of a client. */
export function createAnnouncer(store: Pick<Store, "newsWanted" | "publish">, clock: Clock): Announcer {
  const waiting = new Map<string, Set<() => void>>();
  const publisher = new Publisher(store, clock);

  function ended(id: string): void {
    if (waiting.size === 0) return;
    for (const listener of waiting.get(id) ?? []) listener();
  }

  function settled(attempts: readonly Settled[]): void {
    for (const attempt of attempts) if (isTerminal(attempt.transition.to)) ended(attempt.id);
    if (attempts.length === 0 || !store.newsWanted()) return;
    const now = clock.now();
    publisher.publish(attempts.flatMap((attempt) => eventOf(attempt, now) ?? []));
  }

  function onEnd(id: string, listener: () => void): () => void {
    const listeners = waiting.get(id) ?? new Set();
    waiting.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && waiting.get(id) === listeners) waiting.delete(id);
    };
  }

  return {
    wanted: () => store.newsWanted(),
    publish: (events) => publisher.publish(events),
    flush: () => publisher.flush(),
    isAwaited: () => waiting.size > 0 || store.newsWanted(),
    settled,
    ended,
    onEnd,
  };
}

/** The event that tells of an ended attempt; a release and a snooze are none. */
function eventOf({ id, type, queue, transition, ...before }: Settled, at: number): Event | null {
  const fact = { at, jobId: id, type, queue };
  const error = transition.error?.message ?? "";
  switch (transition.to) {
    case "completed":
      return { event: "job:completed", ...fact, durationMs: transition.runMs ?? 0 };
    case "retrying": {
      const retryCount = before.retryCount + (transition.retries === "add" ? 1 : 0);
      const lostCount = before.lostCount + (transition.losses === "add" ? 1 : 0);
      return { event: "job:failed", ...fact, error, retryCount, lostCount, retryAt: at + (transition.delayMs ?? 0) };
    }
    case "dead":
    case "failed":
      return { event: "job:dead", ...fact, error };
    default:
      return null;
  }
}
