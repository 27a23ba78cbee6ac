/** Durable work: the steps of a job, and signals to it. */
import type { Static } from "typebox";
import { MAX_SIGNAL_ID_LENGTH, MAX_STEP_NAME_LENGTH, STEP_KINDS, STEP_NAME_RULE, STEP_STATES } from "../../core/steps.ts";
import type { Route } from "./route.ts";
import { CallErrorShape, closed, Id, Milliseconds, Name, nullable, REASON, Time } from "./schemas.ts";
import { Type } from "./type.ts";

export const StepName = Type.String({
  minLength: 1,
  maxLength: MAX_STEP_NAME_LENGTH,
  description: STEP_NAME_RULE,
});

/** What lists show of a step, besides its value. */
export const STEP_FIELDS = {
  name: Type.String(),
  kind: Type.Enum([...STEP_KINDS], { description: "step: the result of a function. wait: for a signal of this name." }),
  state: Type.Enum([...STEP_STATES]),
  error: CallErrorShape,
  until: Type.Union([Time, Type.Null()], { description: "When a sleep or a wait ends by itself." }),
  started_at: Time,
  ended_at: nullable(Time),
  by: nullable(Type.String({ description: "What ended it: the id of a signal, or the id and the fence of a called job." })),
  attempt: Type.Integer({ minimum: 0, description: "The attempt in which it began; 0 for a signal that came before any." }),
  run_ms: Type.Union([Milliseconds, Type.Null()], { description: "How long the function ran." }),
  call: Type.Union([Type.Object({ id: Id, type: Name, queue: Type.String() }), Type.Null()], { description: "The called job." }),
  schema: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description: "The JSON Schema of the payload of the signal; null if the wait has none.",
  }),
  refused: Type.Array(
    Type.Object({ at: Time, by: nullable(Type.String({ description: "The id of the signal." })), error: Type.String() }),
    {
      description: "Signals that did not fit the wait, the latest ones.",
    },
  ),
};

const Step = Type.Object({ ...STEP_FIELDS, value: Type.Unknown({ description: "The result, or the payload of the signal." }) });
export type StepWire = Static<typeof Step>;

const SignalAnswer = Type.Union([
  Type.Object({ accepted: Type.Literal(true) }),
  Type.Object({
    accepted: Type.Literal(false),
    reason: Type.Enum(["already_received", "timed_out"], {
      description: "already_received: another signal of this name came first. timed_out: the job waits no longer.",
    }),
  }),
]);

export const stepRoutes = {
  "GET /api/v1/jobs/{id}/steps": {
    summary: "List what a job keeps and waits for: results, sleeps, signals and calls",
    scope: "read",
    answers: { 200: { when: "In the order in which they began.", is: Type.Object({ steps: Type.Array(Step) }) } },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/jobs/{id}/signals/{name}": {
    summary: "Send a signal to a job that waits for it, or will",
    scope: "enqueue",
    query: closed(REASON),
    body: closed({
      payload: Type.Optional(Type.Unknown({ description: "any JSON of at most 1 MiB; none by default" })),
      id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: MAX_SIGNAL_ID_LENGTH,
          description: `a text of 1 to ${MAX_SIGNAL_ID_LENGTH} characters that identifies the signal: the same one, sent again, is accepted again`,
        }),
      ),
    }),
    bodyIsOptional: true,
    keepsText: { fields: ["payload"] },
    answers: {
      200: {
        when: "Stored, also if the job does not wait for it yet; or not accepted, which is no error: the first signal of a name counts. If the job has ended: 409.",
        is: SignalAnswer,
      },
    },
    problems: ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type", "not_found", "wrong_status"],
  },
} as const satisfies Record<string, Route>;
