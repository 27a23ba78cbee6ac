import { levelOf, type NewJob, type PriorityLevel, type Progress } from "./job.ts";

/** What a process announces while somebody listens. Events are news, not history: some may be missed, and then a `gap` says so. */
export type Event =
  | (JobFact<"job:created"> & { readonly priority: number; readonly level: PriorityLevel })
  /** A scheduled or retrying job became due: it is pending now. */
  | JobFact<"job:due">
  | (JobFact<"job:started"> & { readonly workerId: string; readonly attempt: number })
  | (JobFact<"job:completed"> & { readonly durationMs: number })
  /** An attempt failed or was lost, and an automatic retry follows at `retryAt`. The counts include this attempt. */
  | (JobFact<"job:failed"> & { readonly error: string; readonly retryCount: number; readonly lostCount: number; readonly retryAt: number })
  /** The job failed for good: its status is `dead`, or `failed` in a queue without dead letters. */
  | (JobFact<"job:dead"> & { readonly error: string })
  | JobFact<"job:cancelled">
  /** The handler reached durable waits: the job goes on when the first of these steps has ended. */
  | (JobFact<"job:suspended"> & { readonly steps: readonly string[] })
  /** A signal came, or a called job ended: the job is pending again. After a sleep or a timeout it is `job:due`. */
  | (JobFact<"job:resumed"> & { readonly step: string })
  /** Somebody retried the job by hand, or started it before its time. For an automatic retry see `job:failed`. */
  | JobFact<"job:retried">
  | (JobFact<"job:progress"> & { readonly progress: Progress })
  /** Every member of a flow has ended: all completed, or not, or somebody cancelled the flow. */
  | {
      readonly event: "flow:completed" | "flow:failed" | "flow:cancelled";
      readonly at: number;
      readonly flowId: string;
      readonly queue: string;
      readonly members: number;
    }
  | { readonly event: "schedule:skipped"; readonly at: number; readonly schedule: string; readonly queue: string; readonly reason: string }
  | { readonly event: "queue:paused" | "queue:resumed"; readonly at: number; readonly queue: string }
  /** There were too many events to send one by one: how many of each, by queue, since the last sums. The `gap` before it counts the same events. */
  | { readonly event: "counts"; readonly at: number; readonly counts: readonly EventCount[] }
  /** Events were missed: read the current state. `missed` is 0 if the number is unknown, as after a lost connection. */
  | { readonly event: "gap"; readonly at: number; readonly missed: number };

/** An event about one fact. */
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

/** How many single events are missed if this one is: a `gap` stands for those it counts. */
export function missedWith(event: Event): number {
  if (event.event === "gap") return event.missed;
  return event.event === "counts" ? 0 : 1;
}

export function createdEvent(job: Pick<NewJob, "id" | "type" | "queue" | "priority">, at: number): Event {
  const { id: jobId, type, queue, priority } = job;
  return { event: "job:created", at, jobId, type, queue, priority, level: levelOf(priority) };
}
