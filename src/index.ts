/** Millrace: a job queue for TypeScript. */
export { connect } from "./connect.ts";
export type { ConnectOptions, Trouble } from "./connect.ts";
export { defineJob } from "./client/define-job.ts";
export type { JobDefinitionInput } from "./client/define-job.ts";
export { Discard, RetryAfter, Snooze } from "./core/control-errors.ts";
export { ERROR_CODES, MillraceError } from "./core/errors.ts";
export type { ErrorCode } from "./core/errors.ts";
export { stopOnSignals } from "./worker/stop-on-signals.ts";
export type { SignalSource, Stoppable, StopOnSignalsOptions } from "./worker/stop-on-signals.ts";
export type * from "./client/client.ts";
export type { Duration } from "./core/duration.ts";
export type { Event } from "./core/event.ts";
export type { Attempt, Job, JobError, JobSummary, LogLine, PriorityLevel, Progress, Status } from "./core/job.ts";
export type { JobOptions } from "./core/job-options.ts";
export type { Outcome } from "./core/lifecycle.ts";
export type { StandardSchemaV1 } from "./core/standard-schema.ts";
export type { WorkerEntry } from "./core/worker-entry.ts";
export type { Clock } from "./lib/clock.ts";
