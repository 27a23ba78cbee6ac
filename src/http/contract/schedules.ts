/** Schedules: they create jobs again and again. */
import { MAX_CRON_LENGTH } from "../../core/cron.ts";
import { MAX_PREVIEW } from "../../core/schedule.ts";
import { MAX_ZONE_LENGTH } from "../../core/zone.ts";
import type { Route } from "./route.ts";
import { closed, Count, duration, Id, Job, JOB_FIELDS, Message, Milliseconds, Name, nullable, oneOf, Time, REASON } from "./schemas.ts";
import { Type } from "./type.ts";

const Schedule = Type.Object({
  name: Name,
  cron: nullable(Type.String()),
  every: nullable(Milliseconds),
  time_zone: nullable(Type.String()),
  type: Name,
  payload: Type.Unknown(),
  queue: Name,
  priority: Job.properties.priority,
  max_retries: Count,
  max_lost: Count,
  retry_delay: Milliseconds,
  backoff: Job.properties.backoff,
  timeout: Milliseconds,
  unset: Type.Array(Type.String(), {
    description: "Which of these options the schedule does not set: each run takes them from the defaults of its queue, if that has some.",
  }),
  tags: Type.Array(Type.String()),
  meta: Job.properties.meta,
  limit_key: Job.properties.limit_key,
  cost: Job.properties.cost,
  webhook_url: nullable(Type.String()),
  catch_up: Type.Enum(["one", "skip"]),
  overlap: Type.Enum(["allow", "skip"]),
  paused: Type.Boolean(),
  next_run_at: nullable(Time),
  last_run_at: nullable(Time),
  last_job_id: nullable(Id),
  created_at: Time,
  updated_at: Time,
});

const TIMING = {
  cron: Type.Optional(
    Type.String({
      maxLength: MAX_CRON_LENGTH,
      description: `a cron expression of 5 or 6 fields, or a name like "@hourly", of at most ${MAX_CRON_LENGTH} characters`,
    }),
  ),
  every: Type.Optional(duration('a time of at least 1 s, in milliseconds or as "10s"')),
  time_zone: Type.Optional(
    Type.String({ maxLength: MAX_ZONE_LENGTH, description: 'the IANA name of a time zone, such as "Europe/Berlin"' }),
  ),
};

const SCHEDULE_FIELDS = {
  ...TIMING,
  type: Name,
  payload: Type.Optional(Type.Unknown()),
  ...JOB_FIELDS,
  catch_up: Type.Optional(oneOf(["one", "skip"])),
  overlap: Type.Optional(oneOf(["allow", "skip"])),
};

const UPSERTED = {
  201: { when: "The schedule was created.", is: Schedule },
  200: { when: "The schedule existed and was updated.", is: Schedule },
};
const UPSERT_PROBLEMS = ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type", "unknown_type"] as const;

const howMany = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PREVIEW, description: `a whole number from 1 to ${MAX_PREVIEW}` }));
const Runs = Type.Object({ runs: Type.Array(Time) });

export const scheduleRoutes = {
  "GET /api/v1/schedules": {
    summary: "List schedules",
    scope: "read",
    answers: { 200: { when: "Sorted by name.", is: Type.Object({ schedules: Type.Array(Schedule) }) } },
  },
  "POST /api/v1/schedules": {
    summary: "Create a schedule",
    scope: "admin",
    query: closed(REASON),
    body: closed({ name: Name, ...SCHEDULE_FIELDS }),
    keepsText: { fields: ["payload"] },
    answers: { 201: UPSERTED[201] },
    problems: [...UPSERT_PROBLEMS, "schedule_exists"],
  },
  "POST /api/v1/schedules/preview": {
    summary: "Preview the next runs of a timing, without a schedule",
    scope: "read",
    body: closed({ ...TIMING, count: howMany }),
    answers: { 200: { when: "In order.", is: Runs } },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
  "GET /api/v1/schedules/{name}": {
    summary: "Get a schedule",
    scope: "read",
    answers: { 200: { when: "The schedule.", is: Schedule } },
    problems: ["invalid_input", "not_found"],
  },
  "PUT /api/v1/schedules/{name}": {
    summary: "Create or update a schedule; a repeated request changes nothing",
    scope: "admin",
    query: closed(REASON),
    body: closed(SCHEDULE_FIELDS),
    keepsText: { fields: ["payload"] },
    answers: UPSERTED,
    problems: UPSERT_PROBLEMS,
  },
  "DELETE /api/v1/schedules/{name}": {
    summary: "Delete a schedule; its jobs stay",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "Deleted.", is: Type.Object({ ...Message, name: Name }) } },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/schedules/{name}/run": {
    summary: "Create a job now, in addition to the ticks",
    scope: "admin",
    query: closed(REASON),
    answers: { 201: { when: "The job.", is: Job, headers: { Location: "Its relative URL." } } },
    problems: ["invalid_input", "not_found", "queue_full"],
  },
  "POST /api/v1/schedules/{name}/pause": {
    summary: "Pause a schedule: its ticks create no jobs",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "The schedule, also if it was already paused.", is: Schedule } },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/schedules/{name}/resume": {
    summary: "Resume a schedule; missed ticks are not made up for",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "The schedule, also if it was not paused.", is: Schedule } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /api/v1/schedules/{name}/preview": {
    summary: "Preview the next runs of a schedule",
    scope: "read",
    query: closed({ count: howMany }),
    answers: { 200: { when: "In order.", is: Runs } },
    problems: ["invalid_input", "not_found"],
  },
} as const satisfies Record<string, Route>;
