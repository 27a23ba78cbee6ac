/** Aliases: the routes of the first source design. They answer 400 to any invalid input. */
import { MAX_BODY_BYTES } from "./jobs.ts";
import type { Route } from "./route.ts";
import { AliasNewJob, Id, Job, JobSummary, NOTICE, Problem, PrunedJob, Status } from "./schemas.ts";
import { Type } from "./type.ts";

const Accepted = Type.Object({ job_id: Id, status: Status });

export const aliasRoutes = {
  "POST /jobs": {
    summary: "Enqueue a job (alias)",
    scope: "enqueue",
    body: AliasNewJob,
    checksNamesOnly: true,
    keepsText: { fields: ["payload"] },
    maxBody: MAX_BODY_BYTES,
    inputStatus: 400,
    answers: {
      202: { when: "The job is stored.", is: Type.Object({ ...Accepted.properties, ...NOTICE }) },
      409: {
        when: "The idempotency key is in use: the job that has it. If that job differs from this one, a problem.",
        is: Type.Union([Type.Object({ ...Accepted.properties, job: Type.Union([Job, PrunedJob]) }), Problem]),
      },
    },
    problems: ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type", "queue_full", "unknown_type", "store_full"],
  },
  "GET /jobs/{id}": {
    summary: "Get a job (alias)",
    scope: "read",
    inputStatus: 400,
    answers: { 200: { when: "The job.", is: Job } },
    problems: ["invalid_input", "not_found"],
  },
  "GET /dlq": {
    summary: "List dead letters (alias)",
    scope: "read",
    answers: { 200: { when: "The newest 1,000.", is: Type.Object({ jobs: Type.Array(JobSummary) }) } },
  },
  "POST /dlq/{id}/retry": {
    summary: "Retry a dead letter (alias)",
    scope: "admin",
    inputStatus: 400,
    answers: { 200: { when: "The job is pending.", is: Accepted } },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
} as const satisfies Record<string, Route>;
