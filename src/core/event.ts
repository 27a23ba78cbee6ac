import type { PriorityLevel, Progress } from "./job.ts";

/** The facts that a process announces while somebody listens. News, not history: some may be missed, and then a `gap` says so. */
export type Event =
  | (JobFact<"job:created"> & { readonly priority: number; readonly level: PriorityLevel })
  /** A scheduled or retrying job whose time has come: it is pending. */
  | JobFact<"job:due">
  | (JobFact<"job:started"> & { readonly workerId: string; readonly attempt: number })
  | (JobFact<"job:completed"> & { readonly durationMs: number })
  /** An attempt failed or was lost, and an automatic retry follows at `retryAt`. The counts are those after it: of retries used and of attempts lost. */
  | (JobFact<"job:failed"> & { readonly error: string; readonly retryCount: number; readonly lostCount: number; readonly retryAt: number })
  /** The job failed for good: its status is `dead`, or `failed` in a queue without dead letters. */
  | (JobFact<"job:dead"> & { readonly error: string })
  | JobFact<"job:cancelled">
  /** Somebody retried it by hand, or started it before its time. An automatic retry is told by `job:failed`. */
  | JobFact<"job:retried">
  | (JobFact<"job:progress"> & { readonly progress: Progress })
  | { readonly event: "schedule:skipped"; readonly at: number; readonly schedule: string; readonly queue: string; readonly reason: string }
  | { readonly event: "queue:paused" | "queue:resumed"; readonly at: number; readonly queue: string }
  /** So much happened that it is told in sums: what, where and how often, since the sums before. The `gap` before it has the same events. */
  | { readonly event: "counts"; readonly at: number; readonly counts: readonly EventCount[] }
  /** Events were missed: look at the state itself. `missed` is 0 where nobody can tell how many, as after a lost connection. */
  | { readonly event: "gap"; readonly at: number; readonly missed: number };

/** An event that tells one fact. */
export type SingleEvent = Exclude<Event, { readonly event: "counts" | "gap" }>;

/** How often one kind of event happened in one queue. */
export interface EventCount {
  readonly event: SingleEvent["event"];
  readonly queue: string;
  readonly count: number;
}

interface JobFact<Name extends string> {
  readonly event: Name;
  readonly at: number;
  readonly jobId: string;
  readonly type: string;
  readonly queue: string;
}

/** How many single events are missed by one who misses this: those that a `gap` has told already stay missed. */
export function missedWith(event: Event): number {
  if (event.event === "gap") return event.missed;
  return event.event === "counts" ? 0 : 1;
}
