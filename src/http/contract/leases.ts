/** WORK OVER HTTP: claim jobs, extend their leases, report outcomes. And the registry of workers. */
import type { Static, TArray, TInteger } from "typebox";
import { MAX_ERROR_NAME_LENGTH, MAX_ERROR_TEXT_LENGTH, MAX_LOG_LINE_BYTES, MAX_LOG_LINES } from "../../core/job.ts";
import { LEASE_ANSWERS } from "../../core/lease.ts";
import { OUTCOME_KINDS } from "../../core/lifecycle.ts";
import { MAX_PUBLISHED_SCHEMAS, SCHEMA_DIGEST, SCHEMA_RULE } from "../../core/payload-schema.ts";
import { NAME, NAME_RULE } from "../../core/read-fields.ts";
import {
  MAX_BATCH,
  MAX_HOST_LENGTH,
  MAX_LEASE_MS,
  MAX_QUEUES,
  MAX_RUNNING_SHOWN,
  MAX_SLOTS,
  MAX_SPEND,
  MAX_TYPES,
  SPEND_RULE,
  VERSION,
  VERSION_RULE,
} from "../../core/work-limits.ts";
import { MAX_LISTED_FORMER_WORKERS } from "../../core/worker-entry.ts";
import { MAX_BATCH_BYTES } from "./jobs.ts";
import { EXACT, INPUT_PROBLEMS, LEASE } from "./lease.ts";
import { WAITS } from "./lease-steps.ts";
import { HOURS_OF_USE, MINUTES_OF_USE } from "../../core/worker-entry.ts";
import type { Route } from "./route.ts";
import { closed, Count, duration, Id, Internal, Job, Message, Milliseconds, Name, nullable, oneOf, Time } from "./schemas.ts";
import { Type } from "./type.ts";

export const MAX_WAIT_MS = 30_000;

const aLease = duration('a time from 1s to 1h, in milliseconds or as "30s"');

const Version = Type.String({ pattern: VERSION.source, description: `${VERSION_RULE}: the version of your application` });

const ErrorInput = Type.Union(
  [
    Type.String({ maxLength: MAX_ERROR_TEXT_LENGTH }),
    closed({
      name: Type.Optional(Type.String({ maxLength: MAX_ERROR_NAME_LENGTH })),
      message: Type.String({ maxLength: MAX_ERROR_TEXT_LENGTH }),
      stack: Type.Optional(nullable(Type.String({ maxLength: MAX_ERROR_TEXT_LENGTH }))),
      kind: Type.Optional(oneOf(["error", "timeout"])),
      version: Type.Optional(Version),
    }),
  ],
  {
    description:
      "a string, or an object of message, name, stack, kind (error or timeout) and version (of your application), each string of at most 64 KiB",
  },
);

/** How an attempt ended, as a worker reports it. */
export const OutcomeInput = closed({
  ...LEASE,
  // The store detects a loss; no worker reports one.
  outcome: oneOf(OUTCOME_KINDS.filter((kind) => kind !== "lost")),
  result: Type.Optional(Type.Unknown({ description: "any JSON of at most 1 MiB, for completed" })),
  error: Type.Optional(ErrorInput),
  delay: Type.Optional(
    duration(
      "the time until the next attempt, for failed (instead of the job's retry delay) or snooze; how long its limit key is held, for hold",
    ),
  ),
  waits: Type.Optional(WAITS),
  spend: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: MAX_SPEND,
      description: `${SPEND_RULE}: how many units of its rates the attempt used beyond the cost of the job`,
    }),
  ),
  unstarted: Type.Optional(
    Type.Boolean({ description: "true if the handler was never called, for release: the rates get back what the claim took" }),
  ),
  run_ms: Type.Optional(
    Type.Number({ minimum: 0, description: "the duration of the attempt in milliseconds; by default, the time since the claim" }),
  ),
  held_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_LEASE_MS,
      description: "for a job that was claimed with ahead: how many milliseconds after the claim its handler was called",
    }),
  ),
});
export type OutcomeWire = Static<typeof OutcomeInput>;
const outcomes = Type.Array(OutcomeInput, { maxItems: MAX_BATCH, description: `a list of at most ${MAX_BATCH} outcomes` });

const REFUSALS = LEASE_ANSWERS.filter((answer) => answer !== "ok");

const Result = Type.Object({
  id: Id,
  ok: Type.Boolean({ description: "Applied, by this request or an earlier one." }),
  code: Type.Optional(
    Type.Enum(REFUSALS, {
      description:
        "stale: the lease is over. cancelled: the job was cancelled. locked: another open transaction holds the job, and nothing was changed; try again.",
    }),
  ),
});
export type LeaseResultWire = Static<typeof Result>;
const Results = Type.Object({ results: Type.Array(Result) });

const LeasedJob = Type.Object({
  ...Job.properties,
  lease_expires_at: Time,
  snoozes: Type.Integer({ minimum: 0, description: "How often the job was put off by snooze." }),
  dead_letters: Type.Boolean({ description: "Whether its queue keeps dead letters: a job that fails for good is dead, otherwise failed." }),
});
export type LeasedJobWire = Static<typeof LeasedJob>;

const Progress = closed({
  percent: Type.Number({ minimum: 0, maximum: 100, description: "a number from 0 to 100" }),
  note: Type.Optional(nullable(Type.String({ maxLength: MAX_LOG_LINE_BYTES }))),
});

const NoteInput = closed({
  ...LEASE,
  progress: Type.Optional(nullable(Progress)),
  lines: Type.Optional(
    Type.Array(Type.String({ maxLength: MAX_LOG_LINE_BYTES }), {
      maxItems: MAX_LOG_LINES,
      description: `at most ${MAX_LOG_LINES} strings of at most ${MAX_LOG_LINE_BYTES} bytes`,
    }),
  ),
});

const Types = Type.Union([Type.Literal("*"), Type.Array(Name, { minItems: 1, maxItems: MAX_TYPES })], {
  description: 'a list of types, or "*" for any',
});
const Queues = Type.Array(
  Type.String({ pattern: `${NAME.source}|^\\*$`, description: `${NAME_RULE}, or "*" for all queues, including new ones` }),
  { minItems: 1, maxItems: MAX_QUEUES, description: `a list of 1 to ${MAX_QUEUES} names of queues` },
);

function sharesOf(most: number, periods: string): TArray<TInteger> {
  return Type.Array(Type.Integer({ minimum: 0, maximum: 100 }), { maxItems: most, description: `of the last ${most} ${periods} at most` });
}

/** What a worker reports about itself. */
const ENTRY = {
  host: Type.String({ maxLength: MAX_HOST_LENGTH, description: `a string of at most ${MAX_HOST_LENGTH} characters` }),
  pid: Count,
  state: oneOf(["idle", "busy", "stopping"]),
  slots: Count,
  queues: Queues,
  types: Types,
  started_at: Type.Union([Time, Type.Integer(EXACT)], { description: "a time, ISO 8601 or in milliseconds since the epoch" }),
  running: Type.Array(Id, { maxItems: MAX_RUNNING_SHOWN, description: `the ids of at most ${MAX_RUNNING_SHOWN} jobs` }),
  running_count: Count,
  processed: Count,
  per_minute: Type.Number({ minimum: 0, description: "jobs per minute" }),
  abandoned: Count,
  use: Type.Optional(
    Type.Object(
      { minutes: sharesOf(MINUTES_OF_USE, "minutes"), hours: sharesOf(HOURS_OF_USE, "hours") },
      { description: "how much of its slots was in use, in percent; the last of each list is of the present minute and hour" },
    ),
  ),
  version: Type.Optional(Version),
};

const Schemas = Type.Record(Type.String({ pattern: NAME.source }), Type.String({ pattern: SCHEMA_DIGEST.source }), {
  additionalProperties: false,
  maxProperties: MAX_PUBLISHED_SCHEMAS,
  description: `an object of at most ${MAX_PUBLISHED_SCHEMAS} types, each with the digest of its published schema`,
});

const HandledType = Type.Object({
  type: Type.String({ description: "A type, or * for any." }),
  queues: Type.Array(Type.String()),
  workers: Type.Integer({ minimum: 1, description: "How many live workers." }),
  schema: nullable(
    Type.Record(Type.String(), Type.Unknown(), { description: "The JSON Schema of its payload; null if they publish none." }),
  ),
});

const Worker = Type.Object({
  id: Name,
  ...ENTRY,
  schemas: nullable(Schemas),
  // Includes internal queues, whose names callers cannot send.
  queues: Type.Array(Type.String()),
  started_at: Time,
  heartbeat_at: Time,
});

const { state: _state, ...lastReport } = Worker.properties;
const FormerWorker = Type.Object({
  ...lastReport,
  end: Type.Enum(["stopped", "lost"], {
    description: "stopped by itself, or lost: not heard of until its entry expired, because its process died or was cut off",
  }),
  ended_at: Time,
});

export const leaseRoutes = {
  "POST /api/v1/leases": {
    summary: "Claim jobs, and report outcomes in the same round trip",
    scope: "work",
    keepsText: { list: "outcomes", fields: ["result", "waits"] },
    body: closed({
      worker_id: Name,
      queues: Type.Optional(Queues),
      types: Type.Optional(Types),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_BATCH, description: `a whole number from 1 to ${MAX_BATCH}` })),
      lease: Type.Optional(aLease),
      wait: Type.Optional(duration('the longest time to wait for a job if there is none, at most "30s"')),
      holding: Type.Optional(
        Type.Array(closed(LEASE), {
          maxItems: MAX_SLOTS,
          description: "every lease that the worker holds; its other jobs are released, which costs no retry",
        }),
      ),
      turn: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 0xffff_ffff, description: "a whole number that counts the claims of this worker" }),
      ),
      again: Type.Optional(Type.Boolean({ description: "true if the answer to this turn's claim was lost: you get the same jobs again" })),
      ahead: Type.Optional(
        Type.Boolean({
          description:
            "true if jobs may wait in the worker before their handlers are called. Then job:started is told with the outcome, which has held_ms",
        }),
      ),
      outcomes: Type.Optional(outcomes),
    }),
    maxBody: MAX_BATCH_BYTES,
    answers: {
      200: {
        when: "Each job has a lease until lease_expires_at: extend it, or settle the job. Empty if there was no job.",
        is: Type.Object({
          jobs: Type.Array(LeasedJob),
          results: Type.Array(Result),
          again_in_ms: Type.Union([Milliseconds, Type.Null()], {
            description:
              "In how many milliseconds a job may start that waits for a rate or a held limit key: claim again then. Null if none waits for time.",
          }),
        }),
      },
    },
    problems: INPUT_PROBLEMS,
  },
  "POST /api/v1/leases/extend": {
    summary: "Extend leases",
    scope: "work",
    body: closed({
      leases: Type.Array(closed(LEASE), { maxItems: MAX_SLOTS, description: `a list of at most ${MAX_SLOTS} leases` }),
      lease: Type.Optional(aLease),
    }),
    maxBody: MAX_BATCH_BYTES,
    answers: { 200: { when: "In order. For stale and cancelled the lease is gone: stop the job.", is: Results } },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "POST /api/v1/leases/settle": {
    summary: "Report how attempts ended",
    scope: "work",
    body: closed({ outcomes }),
    keepsText: { list: "outcomes", fields: ["result", "waits"] },
    maxBody: MAX_BATCH_BYTES,
    answers: { 200: { when: "In order.", is: Results } },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "POST /api/v1/leases/note": {
    summary: "Write progress and log lines of running jobs",
    scope: "work",
    body: closed({ notes: Type.Array(NoteInput, { maxItems: MAX_BATCH, description: `a list of at most ${MAX_BATCH} notes` }) }),
    maxBody: MAX_BATCH_BYTES,
    answers: { 200: { when: "In order.", is: Results } },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "GET /api/v1/leases/watch": {
    summary: "Stream hints that there is work, or that somebody else ended a lease",
    scope: "work",
    answers: {
      200: {
        when: "Server-sent events `work` {queue} and `lease` {}. Hints may be lost, so claim now and then without one.",
        mediaType: "text/event-stream",
      },
    },
  },
  "GET /api/v1/workers": {
    summary: "List live workers, as they last reported",
    scope: "read",
    query: closed({ internal: Internal }),
    answers: {
      200: {
        when: "Live workers; with internal, also those that servers run for webhooks, bulk operations and http:request.",
        is: Type.Object({ workers: Type.Array(Worker) }),
      },
    },
    problems: ["invalid_input"],
  },
  "GET /api/v1/workers/former": {
    summary: "List workers that stopped or were lost in the last 24 hours, as they last reported",
    scope: "read",
    query: closed({ internal: Internal }),
    answers: {
      200: { when: `At most ${MAX_LISTED_FORMER_WORKERS}, the last to end first.`, is: Type.Object({ workers: Type.Array(FormerWorker) }) },
    },
    problems: ["invalid_input"],
  },
  "GET /api/v1/types": {
    summary: "List the types that live workers handle, with the JSON Schemas of their payloads",
    scope: "read",
    query: closed({ internal: Internal }),
    answers: {
      200: {
        when: "By type. Workers that publish another schema for the same type are an item of their own.",
        is: Type.Object({ types: Type.Array(HandledType) }),
      },
    },
    problems: ["invalid_input"],
  },
  "POST /api/v1/schemas": {
    summary: "Publish JSON Schemas of payloads, for 24 hours each",
    scope: "work",
    body: closed({
      schemas: Type.Array(Type.Unknown({ description: SCHEMA_RULE }), {
        maxItems: MAX_PUBLISHED_SCHEMAS,
        description: `a list of at most ${MAX_PUBLISHED_SCHEMAS} JSON Schemas`,
      }),
    }),
    maxBody: MAX_BATCH_BYTES,
    answers: {
      200: {
        when: "Kept. A worker says in its entry which type has which digest.",
        is: Type.Object({ digests: Type.Array(Type.String()) }),
      },
    },
    problems: INPUT_PROBLEMS,
  },
  "PUT /api/v1/workers/{worker}": {
    summary: "Register or update a worker; the entry expires after its ttl",
    scope: "work",
    body: closed({
      ...ENTRY,
      schemas: Type.Optional(Schemas),
      ttl: Type.Optional(duration('a time of at most 24 hours, in milliseconds or as "15s"')),
    }),
    answers: { 200: { when: "Written.", is: Type.Object({ ...Message, worker_id: Name, ttl: Milliseconds }) } },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "DELETE /api/v1/workers/{worker}": {
    summary: "Remove a worker from the registry",
    scope: "work",
    answers: { 200: { when: "Removed, also if it was not there.", is: Type.Object({ ...Message, worker_id: Name }) } },
    problems: ["invalid_input"],
    servedToTheEnd: true,
  },
} as const satisfies Record<string, Route>;
