/** Steps on the wire, both ways. */
import type { JobStep } from "../../client/client.ts";
import { textsIn } from "../../core/json-source.ts";
import { valueOf, withTexts } from "../../core/json-text.ts";
import type { JsonSchema } from "../../core/payload-schema.ts";
import { type CallError, detailOf, type NewStep, type StepDetail, type StepRecord } from "../../core/steps.ts";
import type { LeaseStepWire } from "../contract/lease-steps.ts";
import type { StepWire } from "../contract/steps.ts";
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from "./values.ts";

/** Its value may be a JsonText, so use `stringifyJson` to write it. */
export function toStepWire(step: JobStep): StepWire {
  return { ...toStepFields(step), value: valueOf(step) };
}

/** All of a step but its value. */
export function toStepFields(step: Omit<JobStep, "value">): Omit<StepWire, "value"> {
  return {
    name: step.name,
    kind: step.kind,
    state: step.state,
    error: step.error,
    until: toTimeOrNull(step.until),
    started_at: toTime(step.startedAt),
    ended_at: toTimeOrNull(step.endedAt),
    by: step.by,
    attempt: step.attempt,
    run_ms: step.runMs,
    call: step.call,
    schema: step.schema,
    refused: step.refused.map(({ at, by, error }) => ({ at: toTime(at), by, error })),
  };
}

/** Steps that keep the texts of their values as the server wrote them. */
export function fromStepsAnswer(steps: readonly StepWire[], text: string): JobStep[] {
  const values = textsIn(text, { list: "steps", fields: ["value"] });
  return steps.map((wire, index) => withTexts({ ...fromStepFields(wire), value: wire.value }, "null", values[index]!.text));
}

export function fromStepFields(wire: Omit<StepWire, "value">): Omit<JobStep, "value"> {
  return {
    name: wire.name,
    kind: wire.kind,
    state: wire.state,
    error: wire.error,
    until: fromTimeOrNull(wire.until),
    startedAt: fromTime(wire.started_at),
    endedAt: fromTimeOrNull(wire.ended_at),
    by: wire.by,
    attempt: wire.attempt,
    runMs: wire.run_ms,
    call: wire.call,
    schema: wire.schema,
    refused: wire.refused.map(({ at, by, error }) => ({ at: fromTime(at), by, error })),
  };
}

// ── Under a lease ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A step for the worker that runs its job, as JSON text. */
export function leaseStepText(record: StepRecord): string {
  const { name, kind, state, value, until, startedAt, endedAt, attempt, by } = record;
  const { runMs = null, call = null, schema = null, refused = [] } = detailOf(record);
  const isError = state === "failed" && value !== null;
  const error = isError ? (JSON.parse(value) as CallError) : null;
  const fields = {
    name,
    kind,
    state,
    error,
    until,
    startedAt,
    endedAt,
    by,
    attempt,
    runMs,
    call,
    schema: schema as JsonSchema | null,
    refused,
  };
  const text = JSON.stringify(toStepFields(fields));
  return isError || value === null ? text : `${text.slice(0, -1)},"value":${value}}`;
}

/** The steps in the answer to a worker, with the texts of their values as the server wrote them. */
export function fromLeaseSteps(steps: readonly LeaseStepWire[], text: string): StepRecord[] {
  const values = textsIn(text, { list: "steps", fields: ["value"] }).values();
  return steps.map((wire) => {
    const { error, runMs, call, schema, refused, ...step } = fromStepFields(wire);
    const value = Object.hasOwn(wire, "value") ? values.next().value!.text : error === null ? null : JSON.stringify(error);
    const detail: StepDetail = {
      ...(runMs === null ? {} : { runMs }),
      ...(call === null ? {} : { call }),
      ...(schema === null ? {} : { schema }),
      ...(refused.length === 0 ? {} : { refused }),
    };
    return { ...step, value, detail: Object.keys(detail).length === 0 ? null : JSON.stringify(detail) };
  });
}

/** A step to store, as JSON text. Its value is already JSON text. */
export function newStepText(step: NewStep): string {
  const { name, kind, value, untilMs } = step;
  const { runMs, schema, refused } = detailOf(step);
  const wire = kind === "wait" ? { name, kind, delay: untilMs ?? undefined, schema, refused } : { name, run_ms: runMs };
  const text = JSON.stringify(wire);
  return value === null ? text : `${text.slice(0, -1)},"value":${value}}`;
}
