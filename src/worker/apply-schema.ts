/** THE SCHEMAS OF A DEFINITION, applied by the worker: `input` to the payload before the handler runs, `output` to what it returned. */
import { Discard } from "../core/control-errors.ts";
import type { Job } from "../core/job.ts";
import { fieldOfIssue, type StandardIssue, type StandardSchemaV1 } from "../core/standard-schema.ts";

const MAX_ISSUES_SHOWN = 5;

/** The job with the schema's output as its payload. An invalid payload is discarded: a retry would not help until the schema is fixed. */
export async function readPayload(job: Job, schema: StandardSchemaV1): Promise<Job> {
  const result = await schema["~standard"].validate(job.payload);
  if (result.issues !== undefined) throw new InvalidPayload(describe(result.issues, "payload"));
  return result.value === job.payload ? job : { ...job, payload: result.value };
}

/** The schema's output for what a handler returned. An invalid result fails the attempt: the next one may return another. */
export async function readResult(returned: unknown, schema: StandardSchemaV1): Promise<unknown> {
  const result = await schema["~standard"].validate(returned);
  if (result.issues !== undefined) throw new InvalidResult(describe(result.issues, "result"));
  return result.value;
}

class InvalidPayload extends Discard {
  override readonly name = "InvalidPayload";
}

class InvalidResult extends Error {
  override readonly name = "InvalidResult";
}

function describe(issues: readonly StandardIssue[], whole: "payload" | "result"): string {
  const shown = issues.slice(0, MAX_ISSUES_SHOWN).map((issue) => `${fieldOfIssue(issue, whole)}: ${issue.message}`);
  return `the ${whole} does not match the schema of its type: ${shown.join("; ")}`;
}
