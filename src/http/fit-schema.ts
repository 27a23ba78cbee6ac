/** APPLIES THE JSON SCHEMAS OF WORKERS. An interpreter reads them: no code is made of them. */
import { Check, Errors } from "typebox/schema";
import type { JobStep } from "../client/client.ts";
import { counted } from "../core/counted.ts";
import { type Issue, MillraceError, preview } from "../core/errors.ts";
import { JsonText } from "../core/json-text.ts";
import type { JsonSchema } from "../core/payload-schema.ts";
import { fieldOfIssue } from "../core/standard-schema.ts";

/** How many places of a payload are named. */
const MAX_ISSUES = 20;

/** Refuses a signal that the wait of this name would refuse. Throws `invalid_input`. What no open wait asks for is accepted: it may come early. */
export function checkSignal(steps: readonly JobStep[], name: string, payload: unknown): void {
  const wait = steps.find((step) => step.name === name && step.kind === "wait" && step.state === "open");
  if (wait === undefined || wait.schema === null) return;
  const value = payload instanceof JsonText ? payload.value : (payload ?? null);
  const schema = toApply(wait.schema);
  if (!fitsOne(schema, value)) throw refusal([schema], `the schema of the wait ${preview(name)}`, value);
}

/** Without formats. One that is nested too deep to be read refuses nothing. */
export function toApply(schema: JsonSchema): JsonSchema {
  try {
    return withoutFormats(schema);
  } catch {
    return {};
  }
}

/** A schema that cannot be applied (a pattern that is none, a reference that leads nowhere) refuses nothing. */
export function fitsOne(schema: JsonSchema, value: unknown): boolean {
  try {
    return Check(schema, value);
  } catch {
    return true;
  }
}

/** Names the places by the schema that comes closest. `which` says whose schema it is. */
export function refusal(schemas: readonly JsonSchema[], which: string, value: unknown): MillraceError {
  const [issues] = schemas.map((schema) => issuesOf(schema, value)).sort((a, b) => a.length - b.length);
  const { field, message } = issues![0]!;
  const more = issues!.length > 1 ? ` (and ${counted(issues!.length - 1, "other place")})` : "";
  const text = `${field} ${message}${more}: the payload does not fit ${which}`;
  return new MillraceError("invalid_input", text, { field, issues: issues!.slice(0, MAX_ISSUES) });
}

function issuesOf(schema: JsonSchema, value: unknown): Issue[] {
  const [, errors] = Errors(schema, value);
  const issues = errors.flatMap(({ keyword, instancePath, params, message }): Issue[] => {
    const path = pathOf(instancePath);
    if (keyword !== "required") return [{ field: fieldOfIssue({ message, path }), message: wordsOf(message, params) }];
    const { requiredProperties } = params;
    return requiredProperties.map((name) => ({ field: fieldOfIssue({ message, path: [...path, name] }), message: "is required" }));
  });
  return issues.length > 0 ? issues : [{ field: "payload", message: "does not fit" }];
}

function wordsOf(message: string, params: object): string {
  return "allowedValues" in params
    ? `must be one of ${(params.allowedValues as unknown[]).map((each) => JSON.stringify(each)).join(", ")}`
    : message;
}

/** A JSON pointer as a path; a number is the place in a list. */
function pathOf(pointer: string): (string | number)[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll("~1", "/").replaceAll("~0", "~")));
}

/** These hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/**
 * The schema without `format`: libraries do not agree on what an e-mail address or a date is, and JSON Schema 2020-12 does not check it. What the
 * library itself accepts must not be refused here.
 */
function withoutFormats<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(withoutFormats) as Part;
  if (typeof part !== "object" || part === null) return part;
  const kept = Object.entries(part).filter(([name, value]) => name !== "format" || typeof value !== "string");
  return Object.fromEntries(
    kept.map(([name, value]) => [name, VALUES.has(name) ? (value as unknown) : withoutFormats(value as unknown)]),
  ) as Part;
}
