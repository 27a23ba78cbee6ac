/** Queues and statistics. */
import type { TSchema } from "typebox";
import { FINDING_CODES, SEVERITIES } from "../../core/attention.ts";
import { MAX_TYPES_COUNTED } from "../../core/counters.ts";
import { MAX_FACETS, MAX_FIELD_LENGTH } from "../../core/facets.ts";
import { STATUSES } from "../../core/job.ts";
import { MAX_WAITING_TYPES } from "../../core/queue.ts";
import { LimitsInput, LimitsShape } from "./limits.ts";
import type { Route } from "./route.ts";
import {
  ATTEMPT_FIELDS,
  closed,
  Count,
  CREATE,
  duration,
  Internal,
  Message,
  Milliseconds,
  moment,
  Name,
  nullable,
  oneOf,
  Time,
} from "./schemas.ts";
import { Type } from "./type.ts";

const StatusCounts = Type.Object(
  Object.fromEntries(STATUSES.map((status) => [status, Count])) as Record<(typeof STATUSES)[number], typeof Count>,
);
const LevelCounts = Type.Object({ critical: Count, high: Count, default: Count, low: Count }, { description: "Waiting jobs by priority." });
const Percentiles = Type.Object(
  { p50: nullable(Milliseconds), p95: nullable(Milliseconds), p99: nullable(Milliseconds) },
  { description: "Each is the upper bound of a bucket: at most 19 % above the true value, rounded to three digits." },
);

const FAILED = "Jobs that failed for good: they ended dead or failed.";
const RETRIED = "Attempts that failed or were lost and were followed by an automatic retry. A retry by hand is not counted.";

function countOf(description: string): typeof Count {
  return Type.Integer({ minimum: 0, description });
}

const QUEUE = {
  // May be internal, with a name that callers cannot send.
  name: Type.String(),
  paused: Type.Boolean(),
  counts: StatusCounts,
  waiting: LevelCounts,
  rate: countOf("Jobs that ended completed, failed or dead in the last full minute."),
  oldest_waiting_ms: Type.Union([Milliseconds, Type.Null()], {
    description: "How long the oldest due job has been pending; null if none is pending.",
  }),
  capacity: nullable(Count),
  head_start: nullable(Milliseconds),
  dead_letters: Type.Boolean(),
  facets: Type.Array(Type.Object({ field: Type.String(), since: Time }), {
    description: "Fields of the payload that are indexed, and since when every new job has them.",
  }),
  defaults: Type.Object(
    {
      max_retries: nullable(Count),
      max_lost: nullable(Count),
      retry_delay: nullable(Milliseconds),
      backoff: nullable(Type.String()),
      timeout: nullable(Milliseconds),
    },
    { description: "Defaults for the options of its jobs; null for each that it does not set." },
  ),
  limits: nullable(LimitsShape),
  retention: Type.Object({ age: Milliseconds, count: Count, keep_at_least: Milliseconds }),
};
const Queue = Type.Object(QUEUE);

const QueueDetails = Type.Object({
  ...QUEUE,
  types: Type.Array(
    Type.Object({
      type: Name,
      oldest_waiting_ms: Type.Union([Milliseconds], { description: "How long its oldest due job has been pending." }),
      has_worker: Type.Boolean({ description: "Whether a live worker handles it in this queue." }),
    }),
    { description: `Types with pending jobs, the longest waiting first; at most ${MAX_WAITING_TYPES}.` },
  ),
});

/** A default that may be left to others: null is as if it were left out. */
function unsettable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(
    Type.Union([schema, Type.Null()], { description: `${(schema as { description?: string }).description}; null for none` }),
  );
}

const Settings = closed({
  capacity: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: "how many jobs may wait, at least 1, or null for no limit" }),
  ),
  head_start: Type.Optional(
    Type.Union([duration(""), Type.Null()], {
      description: 'a time of at most 365 days, in milliseconds or as "1m", or null for strict priority',
    }),
  ),
  dead_letters: Type.Optional(Type.Boolean({ description: "true or false" })),
  facets: Type.Optional(
    Type.Union([Type.Array(Type.String({ maxLength: MAX_FIELD_LENGTH }), { maxItems: MAX_FACETS }), Type.Null()], {
      description: `at most ${MAX_FACETS} names of payload fields, such as customer or customer.id; they replace the ones before`,
    }),
  ),
  defaults: Type.Optional(
    Type.Union(
      [
        closed({
          max_retries: unsettable(ATTEMPT_FIELDS.max_retries),
          max_lost: unsettable(ATTEMPT_FIELDS.max_lost),
          retry_delay: unsettable(ATTEMPT_FIELDS.retry_delay),
          backoff: unsettable(ATTEMPT_FIELDS.backoff),
          timeout: unsettable(ATTEMPT_FIELDS.timeout),
        }),
        Type.Null(),
      ],
      { description: "an object of max_retries, max_lost, retry_delay, backoff and timeout, or null for none; it replaces the one before" },
    ),
  ),
  limits: Type.Optional(
    Type.Union([LimitsInput, Type.Null()], {
      description: "an object of running, rate, burst and per_key, or null for no limits; it replaces the one before",
    }),
  ),
  retention: Type.Optional(
    closed(
      {
        age: Type.Optional(duration('a time of at most 10 years, in milliseconds or as "24h", "7d"')),
        count: Type.Optional(Type.Integer({ minimum: 0, description: "a whole number of at least 0" })),
        keep_at_least: Type.Optional(duration('a time of at most 10 years, in milliseconds or as "10m"')),
      },
      { description: "an object of age, count and keep_at_least" },
    ),
  ),
});

const Finding = Type.Object({
  code: Type.Enum(FINDING_CODES),
  severity: Type.Enum(SEVERITIES),
  message: Type.String({ description: "What is the case, in words." }),
  hint: Type.String({ description: "What it means, or what to do." }),
  queue: Type.Union([Name, Type.Null()], { description: "The queue that it is about, if it is about one." }),
  type: Type.Union([Name, Type.Null()], { description: "The type of job that it is about, if it is about one." }),
  count: countOf("How many jobs, types, workers or handlers it is about."),
});

/** Which periods. */
const SPAN = {
  step: Type.Optional(oneOf(["hour", "minute"])),
  from: Type.Optional(moment("ISO 8601 with a time zone, or milliseconds since the epoch: a time in the first period")),
  to: Type.Optional(moment("ISO 8601 with a time zone, or milliseconds since the epoch: a time in the last period")),
};

export const queueRoutes = {
  "GET /api/v1/stats": {
    summary: "Get statistics of all queues",
    scope: "read",
    answers: {
      200: {
        when: "All values come from counters; no jobs are read.",
        is: Type.Object({
          queues: LevelCounts,
          by_queue: Type.Record(Type.String(), Type.Object({ counts: StatusCounts, waiting: LevelCounts, paused: Type.Boolean() })),
          counts: StatusCounts,
          total_processed: countOf("Jobs that completed."),
          total_failed: countOf(FAILED),
          total_enqueued: Count,
          total_retried: countOf(RETRIED),
          total_lost: countOf("Attempts whose lease ran out."),
          dead_count: Count,
          active_workers: Count,
          jobs_today: Type.Object(
            { processed: Count, failed: Count },
            { description: "Jobs that completed, and that failed for good, since midnight UTC." },
          ),
          throughput: Type.Number({ description: "Jobs completed per second, over the last full minute." }),
          latency: Percentiles,
          wait: Percentiles,
          flows: Type.Object({ running: Count, failed: countOf("Flows that failed, and were not retried since.") }),
        }),
      },
    },
  },
  "GET /api/v1/attention": {
    summary: "What needs attention, the worst first",
    scope: "read",
    answers: {
      200: {
        when: "Empty when nothing does. Jobs, queues and workers of our own never count, except webhooks that could not be delivered. No job is read, unless an error group is muted: then its jobs are counted.",
        is: Type.Object({ findings: Type.Array(Finding) }),
      },
    },
  },
  "GET /api/v1/stats/history": {
    summary: "Get statistics by hour or by minute",
    scope: "read",
    query: closed({
      ...SPAN,
      queue: Type.Optional(Name),
      type: Type.Optional(Name),
      times: Type.Optional(
        Type.Boolean({
          description: "true to add run and wait times: minutes have them for the last hour, hours as long as hours are kept; needs queue",
        }),
      ),
    }),
    answers: {
      200: {
        when: "At most 1,000 points, the earliest first: by default the last 24 hours or 60 minutes. All values come from counters; no jobs are read.",
        is: Type.Object({
          points: Type.Array(
            Type.Object({
              at: Time,
              enqueued: Count,
              completed: Count,
              failed: countOf(FAILED),
              retried: countOf(RETRIED),
              run: Type.Union([Percentiles, Type.Null()], { description: "Run time of the attempts that ended; null without times." }),
              wait: Type.Union([Percentiles, Type.Null()], {
                description: "How long they had waited since they were due; null without times.",
              }),
            }),
          ),
        }),
      },
    },
    problems: ["invalid_input"],
  },
  "GET /api/v1/queues": {
    summary: "List queues with their settings, counts and statistics",
    scope: "read",
    query: closed({ internal: Internal }),
    answers: {
      200: {
        when: "Sorted by name; with internal, also the queues of webhook deliveries and bulk operations.",
        is: Type.Object({ queues: Type.Array(Queue) }),
      },
    },
    problems: ["invalid_input"],
  },
  "GET /api/v1/queues/{queue}": {
    summary: "Get a queue, and which of its types wait",
    scope: "read",
    answers: { 200: { when: "The queue. No job is read, however many there are.", is: QueueDetails } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/queues/{queue}/types": {
    summary: "Get statistics of each type of a queue",
    scope: "read",
    query: closed(SPAN),
    answers: {
      200: {
        when: "Sums over the periods, by default the last 24 hours or 60 minutes, the type with the most ended jobs first. A type without events is left out. For more than 60 periods the times are null: ask for one type. All values come from counters; no jobs are read.",
        is: Type.Object({
          types: Type.Array(
            Type.Object({
              type: Type.Union([Type.String(), Type.Null()], {
                description: `Null: all types beyond the first ${MAX_TYPES_COUNTED} of the queue, and what was counted before types were.`,
              }),
              enqueued: Count,
              completed: Count,
              failed: countOf(FAILED),
              retried: countOf(RETRIED),
              run: Percentiles,
              wait: Percentiles,
            }),
          ),
        }),
      },
    },
    problems: ["invalid_input"],
  },
  "PATCH /api/v1/queues/{queue}": {
    summary: "Change settings of a queue; those that you leave out stay",
    scope: "admin",
    query: CREATE,
    body: Settings,
    answers: { 200: { when: "The queue as it is now.", is: Queue } },
    problems: ["invalid_input", "not_found", "malformed_body", "unsupported_media_type"],
  },
  "POST /api/v1/queues/{queue}/pause": {
    summary: "Pause a queue: no job starts, running jobs continue",
    scope: "admin",
    query: CREATE,
    answers: {
      200: { when: "Paused, also if it already was.", is: Type.Object({ ...Message, queue: Name, paused: Type.Literal(true) }) },
    },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/queues/{queue}/resume": {
    summary: "Resume a queue: jobs start again",
    scope: "admin",
    query: CREATE,
    answers: {
      200: { when: "Resumed, also if it was not paused.", is: Type.Object({ ...Message, queue: Name, paused: Type.Literal(false) }) },
    },
    problems: ["invalid_input", "not_found"],
  },
} as const satisfies Record<string, Route>;
