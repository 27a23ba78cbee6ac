/** WHAT STEPS KEEP, AS JSON: their values, and the details that people and senders of signals read. */
import { messageOf, MillraceError } from "../core/errors.ts";
import { encodeJson } from "../core/json.ts";
import { schemaOf } from "../core/payload-schema.ts";
import { fieldOfIssue, type StandardIssue, type StandardSchemaV1 } from "../core/standard-schema.ts";
import {
  detailOf,
  MAX_REFUSAL_BYTES,
  MAX_REFUSED,
  MAX_STEP_BYTES,
  MAX_WAIT_SCHEMA_BYTES,
  type StepDetail,
  type StepRecord,
} from "../core/steps.ts";
import { cutText } from "./cut-text.ts";

export function parse(text: string | null): unknown {
  return text === null ? undefined : (JSON.parse(text) as unknown);
}

export function encodeValue(value: unknown, what: string): string | null {
  try {
    return value === undefined ? null : encodeJson(value, "result", MAX_STEP_BYTES);
  } catch (error) {
    throw new MillraceError("invalid_input", `${what} cannot be stored: ${messageOf(error)}`, { field: "result", cause: error });
  }
}

export function describeIssue(issue: StandardIssue | undefined): string {
  return issue === undefined ? "it does not match the schema" : `${fieldOfIssue(issue)}: ${issue.message}`;
}

export function detail(of: StepDetail): string {
  return JSON.stringify(of);
}

/** What a wait tells senders of signals: its schema as JSON Schema, if it has one that is small enough. */
export function waitDetail(schema: StandardSchemaV1 | undefined, stored: StepRecord | undefined): string | null {
  const known = schema === undefined ? null : schemaOf(schema, undefined, MAX_WAIT_SCHEMA_BYTES);
  const refused = stored === undefined ? undefined : detailOf(stored).refused;
  if (known === null && refused === undefined) return null;
  return detail({
    ...(known === null ? {} : { schema: JSON.parse(known.text) as unknown }),
    ...(refused === undefined ? {} : { refused }),
  });
}

export function calledJob(step: StepRecord): string | null {
  return detailOf(step).call?.id ?? null;
}

/** The signals that a wait has refused, with the one that it took at last: it does not fit either. */
export function withRefusal(taken: StepRecord, at: number, error: string): NonNullable<StepDetail["refused"]> {
  // A server refuses longer errors.
  const cut = cutText(error, MAX_REFUSAL_BYTES);
  return [...(detailOf(taken).refused ?? []), { at, by: taken.by, error: cut }].slice(-MAX_REFUSED);
}
