import { Discard } from "../core/control-errors.ts";
import type { Job } from "../core/job.ts";
import { fieldOfIssue } from "../core/payload-issue.ts";
import type { StandardIssue, StandardSchemaV1 } from "../core/standard-schema.ts";

const MAX_ISSUES_SHOWN = 5;

/**
 * The job with its payload as the schema of its type makes it. A payload that does not fit is discarded, not retried: it will not fit later
 * either. (After a deploy that repairs the schema, the job can be retried by hand from the dead letters.)
 */
export async function readPayload(job: Job, schema: StandardSchemaV1): Promise<Job> {
  const result = await schema["~standard"].validate(job.payload);
  if (result.issues !== undefined) throw new InvalidPayload(result.issues);
  return result.value === job.payload ? job : { ...job, payload: result.value };
}

class InvalidPayload extends Discard {
  override readonly name = "InvalidPayload";

  constructor(issues: readonly StandardIssue[]) {
    super(`the payload does not fit the schema of its type: ${issues.slice(0, MAX_ISSUES_SHOWN).map(describe).join("; ")}`);
  }
}

function describe(issue: StandardIssue): string {
  return `${fieldOfIssue(issue)}: ${issue.message}`;
}
