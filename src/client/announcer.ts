/**
 * Announces what happened: events to listeners in any process, and the ends of jobs to callers in this process that wait for them. Makes
 * events only while somebody listens, and a failure to announce never fails the call.
 */
import type { Event } from "../core/event.ts";
import { isTerminal } from "../core/job.ts";
import type { Settled } from "../core/lease.ts";
import type { Clock } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";
import type { WriteAudit } from "./audit.ts";
import { Publisher } from "./publisher.ts";

/** What most parts of a client use. */
export interface ClientParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly announcer: Announcer;
  /** Who makes the changes that do not say so themselves. */
  readonly actor?: string | undefined;
  readonly writeAudit: WriteAudit;
}

export interface Announcer {
  /** Whether any process listens to events. */
  wanted(): boolean;
  /** Publishes events, or their sums if there are many. Failures are ignored. */
  publish(events: readonly Event[]): void;
  /** Publishes the remaining sums, and resolves when everything is published. For closing. */
  flush(): Promise<void>;
  /** Whether anybody waits for a job here, or listens to events anywhere. May ask the store, as `wanted` may. */
  isSettledWanted(): boolean;
  settled(attempts: readonly Settled[]): void;
  /** Tells waiting callers in this process that a job has ended or is gone. */
  ended(id: string): void;
  /** Calls `listener` when this process learns that the job has ended; returns a function that stops this. */
  onEnd(id: string, listener: () => void): () => void;
}

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
    isSettledWanted: () => waiting.size > 0 || store.newsWanted(),
    settled,
    ended,
    onEnd,
  };
}

/** The event for an ended attempt; null after a release or a snooze. */
function eventOf({ id, type, queue, transition, waits, ...before }: Settled, at: number): Event | null {
  const fact = { at, jobId: id, type, queue };
  if (waits !== undefined) return { event: "job:suspended", ...fact, steps: waits };
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
