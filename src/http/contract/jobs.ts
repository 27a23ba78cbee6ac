/** Jobs: made, looked at, changed. */
import { type TSchema, Type } from "typebox";
import type { Reason as Explained } from "../../core/explain.ts";
import { MAX_BATCH_WEIGHT, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import type { Route } from "./route.ts";
import {
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
  Status,
  StatusList,
  Time,
} from "./schemas.ts";

/** What stands around a payload: key, meta, tags, address and the names of fields. */
const ENVELOPE_BYTES = 64 * 1024;
export const MAX_BODY_BYTES: number = MAX_PAYLOAD_BYTES + ENVELOPE_BYTES;
/** A batch weighs at most as much as the library gathers. */
export const MAX_BATCH_BYTES: number = MAX_BATCH_WEIGHT + ENVELOPE_BYTES;
/** So many conflicts of keys in a batch are answered with the job that has the key: each may be large. */
export const MAX_SHOWN_CONFLICTS = 20;

const PREFER = {
  Prefer: "`return=minimal` leaves the payload out of the answer: the caller has it.",
};

const Attempt = Type.Object({
  number: Type.Integer(),
  worker_id: nullable(Type.String()),
  started_at: Time,
  ended_at: nullable(Time),
  duration_ms: nullable(Milliseconds),
  outcome: Type.Enum(["running", "completed", "failed", "cancelled"], {
    description: "How this attempt ended. After one that failed the job may run again.",
  }),
  error: nullable(JobErrorShape),
});

const LogLine = Type.Object({ number: Type.Integer(), at: Time, attempt: Type.Integer(), text: Type.String() });

/** A reason with what its code tells beside the message. */
function reason<Code extends Explained["code"], Facts extends Record<string, TSchema>>(code: Code, facts: Facts) {
  return Type.Object({ code: Type.Literal(code), ...Message, ...facts });
}

const Reason = Type.Union([
  reason("paused", { queue: Type.String() }),
  reason("no_worker", { queue: Type.String(), type: Name }),
  reason("no_free_slot", { workers: Count, slots: Count }),
  reason("due_later", { at: Time }),
  reason("overdue", { at: Time }),
  reason("blocked", {}),
  reason("position", { ahead: Count, ahead_is_capped: Type.Boolean({ description: "There may be more than ahead." }) }),
  reason("running", { worker_id: nullable(Type.String()), started_at: nullable(Time) }),
  reason("ended", { status: Status, at: nullable(Time) }),
]);

const BatchResult = Type.Union([
  Type.Object({
    status: Type.Integer({ description: "As the single route would have: 201, or 200 on a known key." }),
    job: Type.Union([Job, PrunedJob]),
  }),
  Type.Object({ status: Type.Integer(), error: Problem }),
]);

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
      201: { when: "The job is stored.", is: Type.Object({ ...Job.properties, ...NOTICE }), headers: { Location: "Where the job is." } },
      200: {
        when: "The key is known: the job that was stored under it, or what is left of it.",
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
      jobs: Type.Array(Type.Unknown({ description: "What POST /api/v1/jobs takes." }), { description: "a list of jobs" }),
    }),
    keepsText: { list: "jobs", fields: ["payload"] },
    maxBody: MAX_BATCH_BYTES,
    headers: PREFER,
    answers: {
      200: {
        when: `Answers in the order of the jobs, each as POST /api/v1/jobs gives it. One job's refusal is its alone. After ${MAX_SHOWN_CONFLICTS} keys that belong to other jobs, only the id of the other job is given.`,
        is: Type.Object({ results: Type.Array(BatchResult) }),
      },
    },
    problems: ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type"],
  },
  "GET /api/v1/jobs": {
    summary: "List jobs, newest first",
    scope: "read",
    query: closed({
      status: Type.Optional(StatusList),
      ...JOB_FILTER,
      ...PAGE,
    }),
    answers: { 200: { when: "A page. It may be short and still have a next_cursor.", is: JobPage } },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/jobs/{id}": {
    summary: "Look at a job, or wait for its end",
    scope: "read",
    query: closed({ wait: Type.Optional(duration('how long to wait for the end of the job, at most "30s"')) }),
    answers: { 200: { when: "The job, ended or not.", is: Job } },
    problems: ["invalid_input", "not_found"],
  },
  "DELETE /api/v1/jobs/{id}": {
    summary: "Cancel a job; with purge, remove one that has ended",
    scope: "admin",
    query: closed({ purge: flag }),
    answers: {
      200: {
        when: "Cancelled, also when it was already; or removed. Removed already: 404.",
        is: Type.Object({ ...Message, job_id: Id, status: Status }),
      },
    },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "POST /api/v1/jobs/{id}/cancel": {
    summary: "Cancel a job",
    scope: "admin",
    answers: { 200: { when: "Cancelled, also when it was already. A running handler is told to stop.", is: Changed } },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "POST /api/v1/jobs/{id}/retry": {
    summary: "Give a dead, failed or cancelled job a new life",
    scope: "admin",
    query: closed({ now: flag }),
    answers: {
      200: {
        when: "It is pending. With now, a scheduled or retrying job is started at once, too. A repeat finds a job that lives: 409.",
        is: Changed,
      },
    },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
  "GET /api/v1/jobs/{id}/explain": {
    summary: "Why a job is not running",
    scope: "read",
    answers: { 200: { when: "The weightiest reason first; there is always one.", is: Type.Object({ reasons: Type.Array(Reason) }) } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/jobs/{id}/attempts": {
    summary: "Every attempt of a job",
    scope: "read",
    answers: { 200: { when: "In order.", is: Type.Object({ attempts: Type.Array(Attempt) }) } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/jobs/{id}/logs": {
    summary: "Log lines of a job",
    scope: "read",
    query: closed({ after: Type.Optional(Count), limit: PAGE.limit }),
    answers: { 200: { when: "Lines whose number is above after, in order.", is: Type.Object({ lines: Type.Array(LogLine) }) } },
    problems: ["invalid_input", "not_found"],
  },
} as const satisfies Record<string, Route>;
