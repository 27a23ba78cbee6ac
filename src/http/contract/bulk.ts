/** Bulk operations: one change for all jobs that match. */
import { type Static, Type } from "typebox";
import { BULK_ACTIONS, BULK_STATUSES } from "../../core/bulk.ts";
import type { Route } from "./route.ts";
import { closed, Count, Id, JOB_FILTER, nullable, oneOf, StatusList, Time } from "./schemas.ts";

const Action = oneOf([...BULK_ACTIONS]);

const BulkFilter = closed(
  {
    status: Type.Optional(
      Type.Union([Type.String({ maxLength: 20 }), StatusList], { description: "a status or a list of them, or their aliases" }),
    ),
    ...JOB_FILTER,
  },
  { description: "which jobs are meant, as lists take it; what is not named does not matter" },
);

const MATCHED = {
  action: Action,
  filter: Type.Record(Type.String(), Type.Unknown(), {
    description: "Which jobs are meant; the statuses are always named, times are ISO 8601 in UTC.",
  }),
  matched: Type.Integer({ minimum: 0, description: "How many jobs matched when it began." }),
  matched_is_capped: Type.Boolean({
    description: "There may be more: counting ends at about 10,000, unless status and queue are all that is named.",
  }),
};

const BulkPreview = Type.Object({ ...MATCHED, dry_run: Type.Literal(true) });
export type BulkPreviewWire = Static<typeof BulkPreview>;

const BulkOperation = Type.Object({
  id: Id,
  ...MATCHED,
  status: Type.Enum([...BULK_STATUSES]),
  processed: Count,
  succeeded: Count,
  failed: Type.Integer({ minimum: 0, description: "Jobs that changed or vanished before their turn." }),
  failures: Type.Array(
    Type.Object({ id: Id, code: Type.Enum(["not_found", "wrong_status", "store_unavailable"]), message: Type.String() }),
    {
      description: "The first 100 of them.",
    },
  ),
  error: nullable(Type.String({ description: "Why the operation as a whole has failed, or is being tried again." })),
  created_at: Time,
  updated_at: Time,
  ended_at: nullable(Time),
});
export type BulkOperationWire = Static<typeof BulkOperation>;

export const bulkRoutes = {
  "POST /api/v1/bulk": {
    summary: "Retry, cancel or delete all jobs that match",
    scope: "admin",
    body: closed({
      action: Action,
      filter: Type.Optional(BulkFilter),
      all: Type.Optional(Type.Boolean({ description: "true to mean every job: a filter that names nothing is refused without it" })),
      dry_run: Type.Optional(Type.Boolean({ description: "true to only count what matches" })),
      id: Type.Optional(
        Type.Union([Id], {
          description:
            "a UUIDv7 that carries the partition of the queue ~bulk: Millrace clients make it, so that a repeat of a request is the same operation",
        }),
      ),
    }),
    answers: {
      202: { when: "It has begun, and goes on by itself.", is: BulkOperation, headers: { Location: "Where the operation is." } },
      200: { when: "It was a dry run: how many match.", is: BulkPreview },
    },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
  "GET /api/v1/bulk": {
    summary: "The latest operations, newest first",
    scope: "read",
    answers: { 200: { when: "At most 100.", is: Type.Object({ operations: Type.Array(BulkOperation) }) } },
  },
  "GET /api/v1/bulk/{id}": {
    summary: "Look at an operation",
    scope: "read",
    answers: { 200: { when: "The operation, ended or not.", is: BulkOperation } },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/bulk/{id}/stop": {
    summary: "Stop an operation after the batch under way",
    scope: "admin",
    answers: { 200: { when: "It is stopped, also when it was already. What was done stays done.", is: BulkOperation } },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
} as const satisfies Record<string, Route>;
