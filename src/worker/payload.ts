import { Discard } from "../core/control-errors.ts";
import type { Job } from "../core/job.ts";
import { fieldOfIssue, type StandardIssue, type StandardSchemaV1 } from "../core/standard-schema.ts";

const MAX_ISSUES_SHOWN = 5;

/** The job with the schema's output as its payload. An invalid payload is discarded: a retry would not help until the schema is fixed. */
export async function readPayload(job: Job, schema: StandardSchemaV1): Promise<Job> {
  const result = await schema["~standard"].validate(job.payload);
  if (result.issues !== undefined) throw new InvalidPayload(result.issues);
  return result.value === job.payload ? job : { ...job, payload: result.value };
}

class InvalidPayload extends Discard {
  override readonly name = "InvalidPayload";

  constructor(issues: readonly StandardIssue[]) {
    super(`the payload does not match the schema of its type: ${issues.slice(0, MAX_ISSUES_SHOWN).map(describe).join("; ")}`);
  }
}

function describe(issue: StandardIssue): string {
  return `${fieldOfIssue(issue)}: ${issue.message}`;
}
