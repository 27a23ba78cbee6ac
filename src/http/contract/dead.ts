/** Dead letters: jobs that failed for good and wait for somebody to act. */
import { Type } from "typebox";
import type { Route } from "./route.ts";
import { closed, Count, JOB_FILTER, JobPage, Message, PAGE } from "./schemas.ts";

export const deadRoutes = {
  "GET /api/v1/dead": {
    summary: "List dead letters, newest first",
    scope: "read",
    query: closed({ ...JOB_FILTER, ...PAGE }),
    answers: { 200: { when: "A page.", is: JobPage } },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "DELETE /api/v1/dead": {
    summary: "Remove dead letters: all, or those that match",
    scope: "admin",
    query: closed(JOB_FILTER),
    answers: { 200: { when: "Removed.", is: Type.Object({ ...Message, purged: Count }) } },
    problems: ["invalid_input"],
  },
  "POST /api/v1/dead/retry": {
    summary: "Give dead letters a new life: all, or those that match",
    scope: "admin",
    body: closed(JOB_FILTER),
    bodyIsOptional: true,
    answers: { 200: { when: "They are pending.", is: Type.Object({ ...Message, retried: Count }) } },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
} as const satisfies Record<string, Route>;
