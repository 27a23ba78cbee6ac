import { formatDuration } from "../core/duration.ts";

export type AbortCause = "timeout" | "cancelled" | "lost" | "shutdown" | "suspended";

/** The reason of an aborted signal, named as in the platform: `TimeoutError` at the timeout, otherwise `AbortError`; and `Suspended`. */
export class JobAborted extends Error {
  override readonly name: "TimeoutError" | "AbortError" | "Suspended";
  readonly why: AbortCause;

  constructor(why: AbortCause, timeoutMs: number) {
    super(why === "timeout" ? `the attempt took longer than its timeout of ${formatDuration(timeoutMs)}` : MESSAGES[why]);
    this.name = why === "timeout" ? "TimeoutError" : why === "suspended" ? "Suspended" : "AbortError";
    this.why = why;
  }
}

const MESSAGES = {
  cancelled: "the job was cancelled",
  lost: "the lease is gone: another worker took over the job, or the lease could not be renewed in time",
  shutdown: "the worker is shutting down",
  suspended: "the job waits, and goes on in another attempt: free what this one holds",
} as const;
