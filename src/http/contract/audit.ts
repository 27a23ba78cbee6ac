/** The audit: who changed what. */
import { AUDIT_ACTIONS, AUDIT_KEPT_WORDS } from "../../core/audit.ts";
import { ACTOR_RULE, MAX_ACTOR_LENGTH } from "../../core/manual-change.ts";
import type { Route } from "./route.ts";
import { ACTOR, closed, Id, Name, nullable, oneOf, PAGE, Time } from "./schemas.ts";
import { Type } from "./type.ts";

const AuditEntry = Type.Object({
  number: Type.Integer({ minimum: 1, description: "Higher for a later entry." }),
  at: Time,
  action: Type.Enum([...AUDIT_ACTIONS]),
  ...ACTOR,
  queue: nullable(Type.String()),
  job_id: nullable(Type.String({ description: "The job, or the bulk operation." })),
  schedule: nullable(Type.String()),
  details: nullable(Type.String({ description: "What exactly, such as a filter or settings." })),
});

export const auditRoutes = {
  "GET /api/v1/audit": {
    summary: "List who changed what, newest first",
    scope: "read",
    query: closed({
      by: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_ACTOR_LENGTH, description: ACTOR_RULE })),
      action: Type.Optional(oneOf([...AUDIT_ACTIONS])),
      queue: Type.Optional(Name),
      job_id: Type.Optional(Id),
      limit: PAGE.limit,
      cursor: PAGE.cursor,
    }),
    answers: {
      200: {
        when: `A page. Entries are kept for ${AUDIT_KEPT_WORDS}.`,
        is: Type.Object({ entries: Type.Array(AuditEntry), next_cursor: nullable(Type.String()) }),
      },
    },
    problems: ["invalid_input", "invalid_cursor"],
  },
} as const satisfies Record<string, Route>;
