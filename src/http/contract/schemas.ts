/**
 * THE SHAPES ON THE WIRE: JSON in snake_case; times in answers are ISO 8601 in UTC; a field that is not set is null, never left out.
 * The description of an input completes "… must be": both the error message and the reference use it.
 */
import { COALESCE_KEY_RULE, KEEPS, WHILE_RUNNING } from "../../core/coalesce.ts";
import type { Static, TEnum, TInteger, TNull, TObject, TSchema, TString, TUnion } from "typebox";
import { GROUP } from "../../core/error-group.ts";
import { MAX_FACETS, MAX_FIELD_LENGTH } from "../../core/facets.ts";
import { MAX_CURSOR_LENGTH, MAX_PAGE } from "../../core/filter.ts";
import { SORTS } from "../../core/list-order.ts";
import { MAX_PRIORITY, MIN_PRIORITY, PRIORITY_LEVELS, STATUSES } from "../../core/job.ts";
import { MAX_RETRIES } from "../../core/attempt-options.ts";
import { JOB_OPTIONS, MAX_KEY_BYTES, MAX_TAG_LENGTH, MAX_TAGS, MAX_URL_LENGTH, TAG_RULE } from "../../core/job-options.ts";
import { MAX_COST, MAX_LIMIT_KEY_BYTES } from "../../core/limits.ts";
import { MAX_REASON_LENGTH } from "../../core/manual-change.ts";
import { NAME, NAME_RULE } from "../../core/read-fields.ts";
import { withoutDate } from "../../core/time-words.ts";
import { MAX_SEARCH_LENGTH, SEARCH_RULE } from "../../core/search.ts";
import { Type } from "./type.ts";

// ── Parts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const ID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";

export const Id = Type.String({ pattern: ID_PATTERN, description: "the id of a job, a UUIDv7 in lower case" });
export const Name = Type.String({ pattern: NAME.source, description: NAME_RULE });
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Amount = Type.Number({ minimum: 0 });
export const Time = Type.String({ format: "date-time", description: "ISO 8601 in UTC" });
export const Milliseconds = Type.Number({ minimum: 0, description: "milliseconds" });

/** Milliseconds, or a string such as `30s`. Each use adds its own bounds. */
export function duration(mustBe: string): TUnion<[TInteger, TString]> {
  return Type.Union([Type.Integer({ minimum: 0 }), Type.String({ maxLength: 40 })], { description: mustBe });
}

/** A point in time, as callers write it. */
export function moment(mustBe: string): TUnion<[TString, TInteger]> {
  return Type.Union([Type.String({ maxLength: 40 }), Type.Integer()], { description: mustBe });
}

export function nullable<Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> {
  return Type.Union([schema, Type.Null()]);
}

/** An object that has no fields but these. */
export function closed<Properties extends Record<string, TSchema>>(
  properties: Properties,
  options: { readonly description?: string } = {},
): TObject<Properties> {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

export function oneOf<const Values extends string[]>(values: [...Values]): TEnum<Values> {
  return Type.Enum<Values>(values, { description: `one of ${values.join(", ")}` });
}

const LEVELS = Object.keys(PRIORITY_LEVELS) as (keyof typeof PRIORITY_LEVELS)[];
const PriorityInput = Type.Union([Type.Enum(LEVELS), Type.Integer({ minimum: MIN_PRIORITY, maximum: MAX_PRIORITY })], {
  description: JOB_OPTIONS.priority.mustBe,
});
const Priority = Type.Union([Type.Enum(LEVELS), Type.Integer()], { description: "The name of the level if it has one, else the number." });
export const Status = Type.Enum([...STATUSES]);

export const JobErrorShape = Type.Object(
  {
    name: Type.String(),
    message: Type.String(),
    stack: nullable(Type.String()),
    kind: Type.Enum(["error", "timeout", "lost", "cancelled", "expired"]),
    version: Type.Optional(Type.String({ description: "The version of the application that the worker ran; absent if it has none." })),
    group: Type.String({ description: "Equal for errors that differ only in numbers, ids and quoted strings." }),
  },
  { description: "Why an attempt did not succeed." },
);

/** How a job ended that another one called or waits for. */
export const CallErrorShape = Type.Union(
  [
    Type.Object({
      name: Type.String(),
      message: Type.String(),
      kind: Type.Enum(["error", "timeout", "lost", "cancelled", "expired"]),
      status: Type.Enum([...STATUSES], { description: "How the job ended." }),
    }),
    Type.Null(),
  ],
  { description: "Why the job did not complete; null if it did, or has not ended." },
);

export const ProgressShape = Type.Object({ percent: Amount, note: nullable(Type.String()) });

/** A parameter of routes that change something. */
export const REASON = {
  reason: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_REASON_LENGTH, description: `why, in 1 to ${MAX_REASON_LENGTH} characters` }),
  ),
};

/** Parameters of routes that change a queue. */
export const CREATE = closed({
  ...REASON,
  create: Type.Optional(Type.Boolean({ description: "true to create a queue that does not exist yet; without it, the answer is 404" })),
});

/** Who made a change, and why. */
export const ACTOR = {
  by: nullable(Type.String({ description: "The name of the API key or user, or what the library or the CLI said." })),
  reason: nullable(Type.String()),
};

// ── Jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const SUMMARY = {
  id: Id,
  type: Name,
  queue: Name,
  priority: Priority,
  status: Status,
  max_retries: Count,
  retry_count: Count,
  max_lost: Count,
  lost_count: Type.Integer({ minimum: 0, description: "Attempts whose worker died or was cut off, since the last retry by hand." }),
  attempt: Type.Integer({ minimum: 0, description: "Attempts started." }),
  retry_delay: Milliseconds,
  backoff: Type.String({ description: "How the delay grows: exponential, fixed, or the name of a function of the workers." }),
  timeout: Milliseconds,
  error: nullable(JobErrorShape),
  progress: nullable(ProgressShape),
  idempotency_key: nullable(Type.String()),
  webhook_url: nullable(Type.String()),
  tags: Type.Array(Type.String()),
  meta: nullable(Type.Record(Type.String(), Type.Unknown())),
  facets: nullable(
    Type.Record(Type.String(), Type.String(), { description: "Values of the payload fields that the queue declares as facets" }),
  ),
  limit_key: nullable(Type.String({ description: "Jobs with a limit key share the limits of that key in their queue." })),
  cost: Type.Integer({ minimum: 1, description: "How many units of a rate its start takes." }),
  has_steps: Type.Boolean({ description: "Whether it may have steps: results, sleeps, waits and calls that its handler keeps." }),
  parent: nullable(
    Type.Object(
      { id: Type.String(), step: Type.String(), life: Type.Integer() },
      { description: "The job and the step that called it, and in which life." },
    ),
  ),
  flow: nullable(
    Type.Object({ id: Type.String(), name: Type.String() }, { description: "The flow that it is a member of, and its name there." }),
  ),
  coalesce: nullable(
    Type.Object({ id: Type.String(), key: Type.String() }, { description: "Its coalescing key, and what the store knows it by." }),
  ),
  start_within: nullable(Milliseconds),
  worker_id: nullable(Type.String()),
  fence: Count,
  created_at: Time,
  updated_at: Time,
  scheduled_at: nullable(Time),
  started_at: nullable(Time),
  completed_at: nullable(Time),
  duration_ms: nullable(Milliseconds),
};

/** What lists show of a job: everything but payload, result and stacks. */
export const JobSummary = Type.Object(SUMMARY);
export type JobSummaryWire = Static<typeof JobSummary>;

export const Job = Type.Object({
  ...SUMMARY,
  payload: Type.Unknown(),
  result: Type.Unknown(),
  outcome: Type.Optional(
    Type.Enum(["created", "merged", "skipped"], {
      description: "With coalesce: whether the job is new, has got this payload, or is as before.",
    }),
  ),
});
export type JobWire = Static<typeof Job>;

/** A hint about a new job. */
export const NOTICE = {
  notice: Type.Optional(
    Type.String({
      description: "Only from a server that runs jobs itself: no live worker handles the job's type, so the job waits until one does.",
    }),
  ),
};

/** What is left of a removed job while its idempotency key is kept. */
export const PrunedJob = Type.Object({ id: Id, type: Name, queue: Name, status: Status, pruned: Type.Literal(true) });
export type PrunedJobWire = Static<typeof PrunedJob>;

/** An option of a job, described as the library describes it. */
function option<Schema extends TSchema>(name: keyof typeof JOB_OPTIONS, schema: Schema) {
  return Type.Optional(Type.Union([schema], { description: JOB_OPTIONS[name].mustBe }));
}

/** Options that a queue can set for its jobs. */
export const ATTEMPT_FIELDS = {
  max_retries: option("maxRetries", Type.Integer({ minimum: 0, maximum: MAX_RETRIES })),
  max_lost: option("maxLost", Type.Integer({ minimum: 0, maximum: MAX_RETRIES })),
  retry_delay: Type.Optional(duration(JOB_OPTIONS.retryDelay.mustBe)),
  backoff: option("backoff", Type.String({ pattern: NAME.source })),
  timeout: Type.Optional(duration(JOB_OPTIONS.timeout.mustBe)),
};

const ATTEMPT_NAMES = Object.keys(ATTEMPT_FIELDS) as (keyof typeof ATTEMPT_FIELDS)[];

/** Options of a job. The library checks their bounds: its messages say more. */
export const JOB_FIELDS = {
  queue: Type.Optional(Name),
  priority: Type.Optional(PriorityInput),
  ...ATTEMPT_FIELDS,
  unset: Type.Optional(
    Type.Array(Type.Enum(ATTEMPT_NAMES), {
      maxItems: ATTEMPT_NAMES.length,
      description: `which of ${ATTEMPT_NAMES.join(", ")} are set only as defaults: those of the queue come before them`,
    }),
  ),
  tags: option("tags", Type.Array(Type.String({ minLength: 1, maxLength: MAX_TAG_LENGTH }), { maxItems: MAX_TAGS })),
  meta: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description: JOB_OPTIONS.meta.mustBe })),
  limit_key: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: MAX_LIMIT_KEY_BYTES }), Type.Null()], { description: JOB_OPTIONS.limitKey.mustBe }),
  ),
  cost: option("cost", Type.Integer({ minimum: 1, maximum: MAX_COST })),
  start_within: Type.Optional(Type.Union([duration(JOB_OPTIONS.startWithin.mustBe), Type.Null()])),
  webhook_url: Type.Optional(
    Type.Union([Type.String({ maxLength: MAX_URL_LENGTH }), Type.Null()], { description: JOB_OPTIONS.webhookUrl.mustBe }),
  ),
};

const RUN_AT_RULE = withoutDate(JOB_OPTIONS.runAt.mustBe);
export const JOB_TIMES = {
  delay: Type.Optional(duration(JOB_OPTIONS.delay.mustBe)),
  run_at: Type.Optional(Type.Union([moment(""), Type.Null()], { description: RUN_AT_RULE })),
  scheduled_at: Type.Optional(Type.Union([moment(""), Type.Null()], { description: RUN_AT_RULE })),
};

/** Options of a job that a step calls: the step is its idempotency key. */
export const CallOptions = closed(
  { ...JOB_FIELDS, ...JOB_TIMES },
  { description: "options of the called job, as POST /api/v1/jobs takes them" },
);

export const KEY_FIELDS = {
  idempotency_key: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: MAX_KEY_BYTES }), Type.Null()], { description: JOB_OPTIONS.idempotencyKey.mustBe }),
  ),
  key_ttl: Type.Optional(duration(JOB_OPTIONS.keyTtl.mustBe)),
};

const KEYS = {
  ...KEY_FIELDS,
  id: Type.Optional(
    Type.String({
      pattern: ID_PATTERN,
      description:
        "a UUIDv7 that carries the partition of its queue; Millrace clients set it, so that a repeated request makes no second job",
    }),
  ),
};

/** How jobs of one key become one. The library checks what cannot be combined. */
const CoalesceInput = closed(
  {
    key: Type.String({ minLength: 1, maxLength: MAX_KEY_BYTES, description: COALESCE_KEY_RULE }),
    quiet: Type.Optional(duration("debounce: starts when nothing was enqueued for so long")),
    longest: Type.Optional(duration("with quiet: the longest wait from the first call on; 10 × quiet unless given")),
    every: Type.Optional(duration("throttle: one start in this time")),
    keep: Type.Optional(Type.Enum([...KEEPS], { description: "what a repeat does to the job that waits" })),
    while_running: Type.Optional(Type.Enum([...WHILE_RUNNING], { description: "what a repeat does once the job has started" })),
  },
  { description: "merges this job into the one of the same key that waits" },
);

/** A job to enqueue. */
export const NewJob = closed({
  type: Name,
  payload: Type.Optional(Type.Unknown()),
  ...JOB_FIELDS,
  ...JOB_TIMES,
  ...KEYS,
  coalesce: Type.Optional(CoalesceInput),
});
export type NewJobWire = Static<typeof NewJob>;

/** A job to enqueue, as the first source design has it. */
export const AliasNewJob = closed({ type: Type.Optional(Name), payload: Type.Unknown(), ...JOB_FIELDS, ...JOB_TIMES, ...KEYS });

// ── Lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const A_MOMENT = "ISO 8601 with a time zone, or milliseconds since the epoch, from the year 2000 on";

export const Internal = Type.Optional(
  Type.Boolean({
    description:
      "true to include internal jobs (webhook deliveries, bulk operations, flows), their queues, and the workers that servers run for them",
  }),
);

/** Which jobs match. A filter that is left out matches every job. */
export const JOB_FILTER = {
  type: Type.Optional(Name),
  queue: Type.Optional(Type.String({ maxLength: 140, description: `${NAME_RULE}; with internal, also an internal queue` })),
  internal: Internal,
  priority: Type.Optional(PriorityInput),
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TAG_LENGTH, description: TAG_RULE })),
  limit_key: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_LIMIT_KEY_BYTES, description: JOB_OPTIONS.limitKey.mustBe })),
  flow: Type.Optional(Type.String({ pattern: ID_PATTERN, description: "the id of a flow: matches its members" })),
  where: Type.Optional(
    Type.Record(Type.String({ maxLength: MAX_FIELD_LENGTH }), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      maxProperties: MAX_FACETS,
      description:
        "fields of the payload and their values, at most 4; in a query field:value, once for each field, such as where=customer:globex. A field that a queue declares as a facet is found by an index; without queue, jobs of queues that declare all of the fields come first",
    }),
  ),
  group: Type.Optional(
    Type.String({
      pattern: GROUP.source,
      description: "the id of an error group, from GET /api/v1/dead/groups: 12 hexadecimal digits",
    }),
  ),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SEARCH_LENGTH,
      description: `${SEARCH_RULE}, in the id, type, a tag, the key, the error or the first 16 KiB of the payload`,
    }),
  ),
  from: Type.Optional(moment(`${A_MOMENT}; matches jobs created at or after it`)),
  to: Type.Optional(moment(`${A_MOMENT}; matches jobs created before it`)),
  ended_from: Type.Optional(moment(`${A_MOMENT}; matches jobs that ended at or after it`)),
  ended_to: Type.Optional(moment(`${A_MOMENT}; matches jobs that ended before it`)),
};

/** One status or several. */
export const StatusList = Type.Array(Type.String({ maxLength: 20 }), {
  description:
    "statuses or their aliases, separated by commas, in any case; failed matches failed and dead, failed_only matches failed alone",
});

/** How far page numbers reach: all jobs before the page are read. */
export const MAX_SKIPPED = 10_000;

/** Which page of a list. */
export const PAGE = {
  sort: Type.Optional(
    Type.Enum([...SORTS], {
      description:
        "created (newest created first), or state: only ended statuses: latest end first; only pending: next in line first; only scheduled and retrying: soonest due first; others: as created",
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, description: `a whole number from 1 to ${MAX_PAGE}` })),
  cursor: Type.Optional(Type.String({ maxLength: MAX_CURSOR_LENGTH, description: "the next_cursor of an earlier answer of this list" })),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SKIPPED,
      description: `a page number from 1, without a cursor; page × limit is at most ${MAX_SKIPPED}`,
    }),
  ),
  total: Type.Optional(Type.Boolean({ description: "true to count the jobs that match; by default only pages by number are counted" })),
};

export const JobPage = Type.Object({
  jobs: Type.Array(JobSummary),
  total: nullable(
    Type.Integer({ description: "How many jobs match; null if not asked for. If jobs must be read for it, counting stops at 10,000." }),
  ),
  total_is_capped: Type.Boolean({ description: "There may be more jobs than total." }),
  page: nullable(Type.Integer({ description: "null if you used a cursor." })),
  limit: Type.Integer(),
  next_cursor: nullable(Type.String()),
});

// ── Problems ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** RFC 9457. */
export const Problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String(),
  code: Type.String(),
  hint: Type.String(),
  request_id: Type.String(),
  field: Type.Optional(Type.String({ description: "The field that was refused." })),
  job_id: Type.Optional(Type.String()),
  job: Type.Optional(Type.Unknown({ description: "The job that has the idempotency key." })),
  retry_after_ms: Type.Optional(Milliseconds),
  issues: Type.Optional(
    Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
      description: "The places of a payload that do not fit its schema; field is the first.",
    }),
  ),
});
export type ProblemWire = Static<typeof Problem>;

/** What was done, in words. */
export const Message = { message: Type.String() };
