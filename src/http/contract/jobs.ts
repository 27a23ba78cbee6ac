/** Jobs: enqueue, read and change them. */
import type { TSchema } from "typebox";
import type { Reason as Explained } from "../../core/explain.ts";
import { STATUSES } from "../../core/job.ts";
import { MAX_BATCH_WEIGHT, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import { MANUAL_ACTIONS, MAX_MANUAL_CHANGES } from "../../core/manual-change.ts";
import type { Route } from "./route.ts";
import {
  ACTOR,
  closed,
  Count,
  duration,
  Id,
  Job,
  JOB_FILTER,
  JobErrorShape,
  JobPage,
  JobSummary,
  Message,
  Milliseconds,
  Name,
  NewJob,
  NOTICE,
  nullable,
  PAGE,
  Problem,
  PrunedJob,
  REASON,
  Status,
  StatusList,
  Time,
} from "./schemas.ts";
import { Type } from "./type.ts";

/** The rest of a body besides the payload: key, meta, tags, webhook URL and field names. */
const ENVELOPE_BYTES = 64 * 1024;
export const MAX_BODY_BYTES: number = MAX_PAYLOAD_BYTES + ENVELOPE_BYTES;
export const MAX_BATCH_BYTES: number = MAX_BATCH_WEIGHT + ENVELOPE_BYTES;
/** How many key conflicts of a batch are answered with the whole job. Jobs may be large. */
export const MAX_SHOWN_CONFLICTS = 20;

const PREFER = { Prefer: "`return=minimal` leaves the payload out of the answer." };

const Attempt = Type.Object({
  number: Type.Integer(),
  life: Type.Integer({ minimum: 1, description: "1, and one more with each retry by hand among the latest 100 changes of the job." }),
  worker_id: nullable(Type.String()),
  started_at: Time,
  ended_at: nullable(Time),
  duration_ms: nullable(Milliseconds),
  outcome: Type.Enum(["running", "completed", "failed", "cancelled"], {
    description: "How this attempt ended. After a failed one, the job may run again.",
  }),
  error: nullable(JobErrorShape),
});

const ManualChange = Type.Object({
  at: Time,
  action: Type.Enum([...MANUAL_ACTIONS], {
    description: "edited: retried with another payload. started: it was scheduled or retrying, and was started at once.",
  }),
  ...ACTOR,
  from: Type.Enum([...STATUSES], { description: "The status before." }),
  attempt: Type.Integer({ minimum: 0, description: "Attempts started until then." }),
});

const LogLine = Type.Object({ number: Type.Integer(), at: Time, attempt: Type.Integer(), text: Type.String() });

/** A reason with the fields of its code. */
function reason<Code extends Explained["code"], Facts extends Record<string, TSchema>>(code: Code, facts: Facts) {
  return Type.Object({ code: Type.Literal(code), ...Message, ...facts });
}

const Reason = Type.Union([
  reason("paused", { queue: Type.String() }),
  reason("no_worker", { queue: Type.String(), type: Name }),
  reason("key_held", { queue: Type.String(), limit_key: Type.String(), until: Time }),
  reason("limit_running", {
    queue: Type.String(),
    limit_key: Type.Union([Type.String(), Type.Null()], { description: "Null: it is a limit of the whole queue." }),
    limit: Count,
    running: Count,
    holders: Type.Array(Id, { description: "Some of the jobs that run." }),
  }),
  reason("limit_rate", { queue: Type.String(), limit_key: nullable(Type.String()), rate: Type.String(), until: Time }),
  reason("no_free_slot", { workers: Count, slots: Count }),
  reason("due_later", { at: Time }),
  reason("overdue", { at: Time }),
  reason("blocked", {}),
  reason("waits_for_signal", { step: Type.String(), until: nullable(Time) }),
  reason("waits_for_call", { step: Type.String(), job_id: Id, type: Name }),
  reason("waits_for_members", {
    flow_id: Id,
    names: Type.Array(Type.String(), { description: "Some of the members that it waits for." }),
  }),
  reason("sleeps", { step: Type.String(), until: Time }),
  reason("position", { ahead: Count, ahead_is_capped: Type.Boolean({ description: "There may be more jobs ahead." }) }),
  reason("running", { worker_id: nullable(Type.String()), started_at: nullable(Time) }),
  reason("ended", { status: Status, at: nullable(Time) }),
]);

const BatchResult = Type.Union([
  Type.Object({
    status: Type.Integer({ description: "As POST /api/v1/jobs answers: 201, or 200 if the idempotency key is in use." }),
    job: Type.Union([Job, PrunedJob]),
  }),
  Type.Object({ status: Type.Integer(), error: Problem }),
]);

const FacetCounts = Type.Object({
  values: Type.Array(Type.Object({ value: Type.String(), count: Count }), { description: "Most jobs first." }),
  without: Type.Integer({
    minimum: 0,
    description: "Jobs without this facet: their payload does not have it, or they were enqueued before it was declared.",
  }),
  is_capped: Type.Boolean({ description: "There are more jobs than were read: every count means at least that many." }),
  has_more: Type.Boolean({ description: "There are more values than are shown." }),
});

const Changed = Type.Object({ ...Message, job_id: Id, status: Status, job: JobSummary });
const flag = Type.Optional(Type.Boolean({ description: "true or false" }));

export const jobRoutes = {
  "POST /api/v1/jobs": {
    summary: "Enqueue a job",
    scope: "enqueue",
    body: NewJob,
    checksNamesOnly: true,
    keepsText: { fields: ["payload"] },
    maxBody: MAX_BODY_BYTES,
    headers: { "Idempotency-Key": "The same as `idempotency_key`.", ...PREFER },
    answers: {
      201: { when: "The job is stored.", is: Type.Object({ ...Job.properties, ...NOTICE }), headers: { Location: "Its relative URL." } },
      200: {
        when: "The idempotency key is in use: the job that has it, or what is left of it.",
        is: Type.Union([Job, PrunedJob]),
        headers: { "Idempotent-Replayed": "true" },
      },
    },
    problems: [
      "invalid_input",
      "malformed_body",
      "body_too_large",
      "unsupported_media_type",
      "key_conflict",
      "queue_full",
      "unknown_type",
      "store_full",
    ],
  },
  "POST /api/v1/jobs/batch": {
    summary: "Enqueue up to 1,000 jobs, each with its own answer",
    scope: "enqueue",
    body: closed({
      jobs: Type.Array(Type.Unknown({ description: "A body of POST /api/v1/jobs." }), { description: "a list of jobs" }),
    }),
    keepsText: { list: "jobs", fields: ["payload"] },
    maxBody: MAX_BATCH_BYTES,
    headers: PREFER,
    answers: {
      200: {
        when: `One result for each job, in order, as POST /api/v1/jobs answers. A refused job does not affect the others. After ${MAX_SHOWN_CONFLICTS} key conflicts, a conflict shows only the id of the other job.`,
        is: Type.Object({ results: Type.Array(BatchResult) }),
      },
    },
    problems: ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type"],
  },
  "GET /api/v1/jobs": {
    summary: "List jobs, newest created first, or in the order of their state",
    scope: "read",
    query: closed({
      status: Type.Optional(StatusList),
      ...JOB_FILTER,
      ...PAGE,
    }),
    answers: { 200: { when: "A page. Even a short one may have a next_cursor.", is: JobPage } },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/facets/{field}": {
    summary: "Count dead and failed jobs by the value of a facet",
    scope: "read",
    query: closed({ status: Type.Optional(StatusList), ...JOB_FILTER }),
    answers: { 200: { when: "At most 50 values, of the 10,000 jobs that ended last.", is: FacetCounts } },
    problems: ["invalid_input"],
  },
  "GET /api/v1/jobs/{id}": {
    summary: "Get a job, or wait until it ends",
    scope: "read",
    query: closed({ wait: Type.Optional(duration('the longest time to wait for the end of the job, at most "30s"')) }),
    answers: { 200: { when: "The job, ended or not.", is: Job } },
    problems: ["invalid_input", "not_found"],
  },
  "DELETE /api/v1/jobs/{id}": {
    summary: "Cancel a job; with purge, delete one that has ended",
    scope: "admin",
    query: closed({ purge: flag, ...REASON }),
    answers: {
      200: {
        when: "Cancelled, also if it already was; or deleted. If it was already deleted: 404.",
        is: Type.Object({ ...Message, job_id: Id, status: Status }),
      },
    },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "POST /api/v1/jobs/{id}/cancel": {
    summary: "Cancel a job",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "Cancelled, also if it already was. A running handler is told to stop.", is: Changed } },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "POST /api/v1/jobs/{id}/retry": {
    summary: "Retry a dead, failed or cancelled job, as it is or with another payload",
    scope: "admin",
    query: closed({
      now: flag,
      restart: Type.Optional(Type.Boolean({ description: "true to forget the steps of the job, so that it begins from the start" })),
      ...REASON,
    }),
    body: closed({ payload: Type.Optional(Type.Unknown({ description: "any JSON: replaces the payload of the job" })) }),
    bodyIsOptional: true,
    keepsText: { fields: ["payload"] },
    answers: {
      200: {
        when: "The job is pending. With now, a scheduled or retrying job also starts at once. A repeated request answers 409: the job has not ended.",
        is: Changed,
      },
    },
    problems: ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type", "not_found", "wrong_status"],
  },
  "GET /api/v1/jobs/{id}/explain": {
    summary: "Explain why a job is not running",
    scope: "read",
    answers: { 200: { when: "The main reason first; there is always one.", is: Type.Object({ reasons: Type.Array(Reason) }) } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/jobs/{id}/attempts": {
    summary: "List the attempts of a job",
    scope: "read",
    answers: { 200: { when: "In order.", is: Type.Object({ attempts: Type.Array(Attempt) }) } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/jobs/{id}/changes": {
    summary: "List who retried, edited, started or cancelled a job by hand",
    scope: "read",
    answers: {
      200: { when: `In order; the latest ${MAX_MANUAL_CHANGES}.`, is: Type.Object({ changes: Type.Array(ManualChange) }) },
    },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/jobs/{id}/logs": {
    summary: "List log lines of a job",
    scope: "read",
    query: closed({ after: Type.Optional(Count), limit: PAGE.limit }),
    answers: { 200: { when: "Lines with a number above after, in order.", is: Type.Object({ lines: Type.Array(LogLine) }) } },
    problems: ["invalid_input", "not_found"],
  },
} as const satisfies Record<string, Route>;
