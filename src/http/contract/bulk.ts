/** Bulk operations: one change for all jobs that match. */
import type { Static } from "typebox";
import { BULK_ACTIONS, BULK_STATUSES, MAX_BULK_LIMIT, MAX_OPERATIONS_PAGE, SPREAD_RULE } from "../../core/bulk.ts";
import type { Route } from "./route.ts";
import { ACTOR, closed, Count, duration, Id, JOB_FILTER, nullable, oneOf, PAGE, REASON, StatusList, Time } from "./schemas.ts";
import { Type } from "./type.ts";

const Action = oneOf([...BULK_ACTIONS]);

const BulkFilter = closed(
  {
    status: Type.Optional(
      Type.Union([Type.String({ maxLength: 20 }), StatusList], { description: "a status, an alias of one, or a list of them" }),
    ),
    ...JOB_FILTER,
  },
  { description: "an object of filters, as GET /api/v1/jobs takes them; a filter that you leave out matches every job" },
);

const MATCHED = {
  action: Action,
  limit: nullable(
    Type.Integer({ minimum: 1, description: "How many jobs change at most, the newest created ones; null: all that match." }),
  ),
  spread: nullable(
    Type.Integer({ minimum: 0, description: "A retry: over how many milliseconds the jobs come due, evenly; null: all at once." }),
  ),
  filter: Type.Record(Type.String(), Type.Unknown(), {
    description: "Which jobs match. It always names the statuses; times are ISO 8601 in UTC.",
  }),
  group_words: nullable(
    Type.String({
      description:
        "What the error of the filter's group says: its name and the first line of its message. Null without a group, or if no job has it.",
    }),
  ),
  matched: Type.Integer({ minimum: 0, description: "How many jobs matched when the operation started, and not more than `limit`." }),
  matched_is_capped: Type.Boolean({
    description: "There may be more: at most 10,000 jobs are looked at, unless you filter by status and queue only.",
  }),
};

const BulkPreview = Type.Object({ ...MATCHED, dry_run: Type.Literal(true) });
export type BulkPreviewWire = Static<typeof BulkPreview>;

const BulkOperation = Type.Object({
  id: Id,
  ...MATCHED,
  ...ACTOR,
  status: Type.Enum([...BULK_STATUSES]),
  processed: Count,
  succeeded: Count,
  failed: Type.Integer({ minimum: 0, description: "Jobs that the operation could not change." }),
  failures: Type.Array(
    Type.Object({ id: Id, code: Type.Enum(["not_found", "wrong_status", "store_unavailable"]), message: Type.String() }),
    { description: "The first 100 of them." },
  ),
  error: nullable(Type.String({ description: "Why the whole operation failed, or is being retried." })),
  created_at: Time,
  updated_at: Time,
  ended_at: nullable(Time),
});
export type BulkOperationWire = Static<typeof BulkOperation>;

export const bulkRoutes = {
  "POST /api/v1/bulk": {
    summary: "Retry, cancel or delete all jobs that match",
    scope: "admin",
    query: closed(REASON),
    body: closed({
      action: Action,
      filter: Type.Optional(BulkFilter),
      all: Type.Optional(Type.Boolean({ description: "true to change every job; required if the filter is empty" })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_BULK_LIMIT,
          description: `a whole number from 1 to ${MAX_BULK_LIMIT}: change only that many jobs, the newest created`,
        }),
      ),
      spread: Type.Optional(duration(`${SPREAD_RULE}, for a retry only: the jobs come due one after the other, evenly over this time`)),
      dry_run: Type.Optional(Type.Boolean({ description: "true to only count the jobs that match" })),
      id: Type.Optional(
        Type.Union([Id], {
          description:
            "a UUIDv7 that carries the partition of the queue ~bulk; Millrace clients set it, so that a repeated request starts no second operation",
        }),
      ),
    }),
    answers: {
      202: { when: "The operation runs in the background.", is: BulkOperation, headers: { Location: "Its relative URL." } },
      200: { when: "A dry run: how many jobs match.", is: BulkPreview },
    },
    problems: ["invalid_input", "malformed_body", "unsupported_media_type"],
  },
  "GET /api/v1/bulk": {
    summary: "List operations, newest first",
    scope: "read",
    query: closed({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_OPERATIONS_PAGE, description: `a whole number from 1 to ${MAX_OPERATIONS_PAGE}` }),
      ),
      cursor: PAGE.cursor,
    }),
    answers: {
      200: {
        when: `A page, by default of ${MAX_OPERATIONS_PAGE}. Operations that wait for another attempt come with the first page, beyond its limit.`,
        is: Type.Object({ operations: Type.Array(BulkOperation), next_cursor: nullable(Type.String()) }),
      },
    },
    problems: ["invalid_input", "invalid_cursor"],
  },
  "GET /api/v1/bulk/{id}": {
    summary: "Get an operation",
    scope: "read",
    answers: { 200: { when: "The operation, ended or not.", is: BulkOperation } },
    problems: ["invalid_input", "not_found"],
  },
  "POST /api/v1/bulk/{id}/stop": {
    summary: "Stop an operation after its current batch",
    scope: "admin",
    query: closed(REASON),
    answers: { 200: { when: "Stopped, also if it already was. Jobs that it already changed stay changed.", is: BulkOperation } },
    problems: ["invalid_input", "not_found", "wrong_status"],
  },
} as const satisfies Record<string, Route>;
