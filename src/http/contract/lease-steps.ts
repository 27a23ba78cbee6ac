/** DURABLE WORK OVER HTTP: what a running attempt keeps and reads, and what it waits for when it is suspended. */
import type { Static } from "typebox";
import { LEASE_ANSWERS } from "../../core/lease.ts";
import { schemaRule } from "../../core/payload-schema.ts";
import { LINK_TTL_RULE, MAX_LINK_PAYLOAD_BYTES } from "../../core/signal-links.ts";
import { MAX_REFUSAL_BYTES, MAX_REFUSED, MAX_STEPS, MAX_STEPS_BYTES, MAX_WAIT_SCHEMA_BYTES } from "../../core/steps.ts";
import { MAX_BATCH_BYTES } from "./jobs.ts";
import { INPUT_PROBLEMS, LEASE } from "./lease.ts";
import type { Route } from "./route.ts";
import { CallOptions, closed, duration, Id, Name, nullable, oneOf, Time } from "./schemas.ts";
import { STEP_FIELDS, StepName } from "./steps.ts";
import { Type } from "./type.ts";

const Schema = Type.Record(Type.String(), Type.Unknown(), {
  description: `${schemaRule(MAX_WAIT_SCHEMA_BYTES)}. Senders of signals that do not fit it are refused at once`,
});

/** What a suspended attempt waits for. */
const WaitInput = closed({
  name: StepName,
  kind: oneOf(["sleep", "wait", "call"]),
  delay: Type.Optional(duration("for a sleep its time; for a wait the time until it times out, by default never; at most 10 years")),
  schema: Type.Optional(Schema),
  type: Type.Optional(Name),
  payload: Type.Optional(Type.Unknown({ description: "the payload of the called job, any JSON of at most 1 MiB" })),
  options: Type.Optional(CallOptions),
  open: Type.Optional(Type.Boolean({ description: "true for a call that an earlier attempt made: then it has no type" })),
});
export type WaitWire = Static<typeof WaitInput>;

/** A field of an outcome. */
export const WAITS = Type.Array(WaitInput, {
  minItems: 1,
  maxItems: MAX_STEPS,
  description: `for suspend: a list of 1 to ${MAX_STEPS} waits, each a sleep with its delay, a wait for the signal of its name, or a call of another job with its type`,
});

const Refused = Type.Array(
  closed({
    at: Type.Union([Time, Type.Integer({ minimum: 0 })], { description: "a time, ISO 8601 or in milliseconds since the epoch" }),
    by: nullable(Type.String({ maxLength: 256 })),
    error: Type.String({ maxLength: MAX_REFUSAL_BYTES }),
  }),
  { maxItems: MAX_REFUSED, description: `at most ${MAX_REFUSED} signals that did not fit, with at, by and error` },
);

const StepInput = closed({
  name: StepName,
  kind: Type.Optional(
    Type.Enum(["step", "wait"], {
      description: "step (by default), or wait: takes a signal that did not fit away, so that another one may come",
    }),
  ),
  value: Type.Optional(Type.Unknown({ description: "the result of a step, any JSON of at most 1 MiB" })),
  run_ms: Type.Optional(Type.Number({ minimum: 0, description: "how many milliseconds the step took" })),
  delay: Type.Optional(duration("for a wait, the time until it times out, by default never; at most 10 years")),
  schema: Type.Optional(Schema),
  refused: Type.Optional(Refused),
});
export type StepInputWire = Static<typeof StepInput>;

const Kept = Type.Object({
  id: Id,
  ok: Type.Boolean({ description: "Stored, by this request or an earlier one." }),
  code: Type.Optional(
    Type.Enum([...LEASE_ANSWERS.filter((answer) => answer !== "ok"), "full"], {
      description: `As for every lease; and full: the job would keep more than ${MAX_STEPS} steps or ${MAX_STEPS_BYTES / 1024 / 1024} MiB of results, so nothing was stored.`,
    }),
  ),
});

const LeaseStep = Type.Object({
  ...STEP_FIELDS,
  value: Type.Optional(Type.Unknown({ description: "The result, or the payload of the signal; absent if there is none." })),
});
export type LeaseStepWire = Static<typeof LeaseStep>;

export const leaseStepRoutes = {
  "POST /api/v1/leases/steps": {
    summary: "Store results of steps of a running job",
    scope: "work",
    body: closed({
      ...LEASE,
      steps: Type.Array(StepInput, { minItems: 1, maxItems: MAX_STEPS, description: `a list of 1 to ${MAX_STEPS} steps` }),
    }),
    keepsText: { list: "steps", fields: ["value"] },
    maxBody: MAX_BATCH_BYTES,
    answers: {
      200: { when: "All of them are stored, or none. Retries and losses of the job count from 0 again.", is: Kept },
    },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "POST /api/v1/leases/steps/read": {
    summary: "Read the steps of a running job, after those whose time has come have ended",
    scope: "work",
    body: closed(LEASE),
    answers: {
      200: {
        when: "All steps, by name, and the time of the store; or that the lease is over.",
        is: Type.Union([
          Type.Object({ id: Id, ok: Type.Literal(true), now: Time, steps: Type.Array(LeaseStep) }),
          Type.Object({ id: Id, ok: Type.Literal(false), code: Type.Literal("stale") }),
        ]),
      },
    },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
  "POST /api/v1/leases/signal-url": {
    summary: "Make a link that sends a signal to a job, for people without a key",
    scope: "work",
    body: closed({
      id: Id,
      name: StepName,
      ttl: Type.Optional(duration(`${LINK_TTL_RULE}; 7 days by default`)),
      payload: Type.Optional(
        Type.Unknown({ description: `the payload of the signal, any JSON of at most ${MAX_LINK_PAYLOAD_BYTES} bytes; none by default` }),
      ),
    }),
    keepsText: { fields: ["payload"] },
    answers: {
      200: {
        when: "A page with a button. It needs SIGNAL_SECRET on the server; without it, 422.",
        is: Type.Object({ url: Type.String() }),
      },
    },
    problems: INPUT_PROBLEMS,
    servedToTheEnd: true,
  },
} as const satisfies Record<string, Route>;
