import type { PriorityLevel, Progress } from "./job.ts";

/** The facts that a process announces while somebody listens. News, not history: some may be missed, and then a `gap` says so. */
export type Event =
  | (JobFact<"job:created"> & { readonly priority: number; readonly level: PriorityLevel })
  | (JobFact<"job:started"> & { readonly workerId: string; readonly attempt: number })
  | (JobFact<"job:completed"> & { readonly durationMs: number })
  /** The attempt failed and a retry follows at `retryAt`. */
  | (JobFact<"job:failed"> & { readonly error: string; readonly retryCount: number; readonly retryAt: number })
  /** The job failed for good. */
  | (JobFact<"job:dead"> & { readonly error: string })
  | JobFact<"job:cancelled">
  /** A retry by hand. */
  | JobFact<"job:retried">
  | (JobFact<"job:progress"> & { readonly progress: Progress })
  | { readonly event: "schedule:skipped"; readonly at: number; readonly schedule: string; readonly queue: string; readonly reason: string }
  | { readonly event: "queue:paused" | "queue:resumed"; readonly at: number; readonly queue: string }
  /** Events were missed: look at the state itself. `missed` is 0 where nobody can tell how many, as after a lost connection. */
  | { readonly event: "gap"; readonly at: number; readonly missed: number };

interface JobFact<Name extends string> {
  readonly event: Name;
  readonly at: number;
  readonly jobId: string;
  readonly type: string;
  readonly queue: string;
}
