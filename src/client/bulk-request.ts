/** THE REQUEST OF A BULK OPERATION: read from the caller, stored as the payload of its job, and read again by its handler. */
import {
  BULK_ACTIONS,
  BULK_FIELDS,
  type BulkAction,
  MAX_BULK_LIMIT,
  MAX_SPREAD_MS,
  MIN_SPREAD_MS,
  SPREAD_RULE,
  STATUSES_OF,
} from "../core/bulk.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { TIME_FIELDS } from "../core/filter.ts";
import type { Status } from "../core/job.ts";
import { demandInteger, readDuration, readFields } from "../core/read-fields.ts";
import { statusWords } from "../core/status-filter.ts";
import type { JobFilter } from "./client.ts";
import { readJobFilter } from "./filter.ts";
import type { FieldFilter } from "./where.ts";

/** How many jobs at most, and over which time they come due; null: all, at once. */
export interface Portion {
  readonly limit: number | null;
  readonly spreadMs: number | null;
}

export interface Wanted {
  readonly action: BulkAction;
  /** Stored, shown and read again: with statuses named, and times in milliseconds. */
  readonly filter: JobFilter;
  readonly query: FieldFilter;
}

/** Somebody cancelled a cancelled job on purpose, so it is retried only if the filter names that status. */
const RETRIED_UNASKED: readonly Status[] = ["dead", "failed"];

/** Reads a request. An empty filter needs `all: true`. Throws `invalid_input`. */
export function readBulkRequest(input: unknown, isDry: boolean): Wanted & Portion {
  const { action, filter, all = false, limit, spread } = readFields(input, "a bulk operation", BULK_FIELDS);
  if (!isAction(action)) throw invalid("action", `one of ${BULK_ACTIONS.join(", ")}`, action);
  if (typeof all !== "boolean") throw invalid("all", "true or false", all);
  const wanted = readWanted(action, filter);
  // What was read counts, not what was given: `where: {}` selects nothing. Neither does `internal`, which adds jobs.
  const { status: _status, internal: _internal, ...selecting } = wanted.query;
  const isEmpty = asGiven(filter).status === undefined && Object.values(selecting).every((value) => value === undefined);
  if (isEmpty && !all && !isDry) {
    throw new MillraceError("invalid_input", `filter is empty: to ${action} every job that can be ${DONE[action]}, set all: true`, {
      field: "filter",
    });
  }
  return { ...wanted, ...readPortion(action, limit ?? null, spread ?? null) };
}

function readPortion(action: BulkAction, limit: unknown, spread: unknown): Portion {
  if (spread !== null && action !== "retry") throw invalid("spread", "absent: only a retry can be spread over a time", spread);
  return {
    limit: limit === null ? null : demandInteger(limit, "limit", 1, MAX_BULK_LIMIT),
    spreadMs: spread === null ? null : readDuration(spread, "spread", SPREAD_RULE, MAX_SPREAD_MS, MIN_SPREAD_MS),
  };
}

export function readWanted(action: BulkAction, filter: unknown): Wanted {
  const query = readInnerFilter(filter);
  const possible = STATUSES_OF[action];
  if (query.status?.some((status) => !possible.includes(status))) {
    throw invalid("filter.status", `a status of jobs that can be ${DONE[action]}: ${possible.join(", ")}`, query.status.join(", "));
  }
  const status = query.status ?? (action === "retry" ? RETRIED_UNASKED : possible);
  return { action, filter: { ...asGiven(filter), ...timesOf(query), status: statusWords(status) }, query: { ...query, status } };
}

/** The past participle of each action. */
export const DONE: Readonly<Record<BulkAction, string>> = { retry: "retried", cancel: "cancelled", delete: "deleted" };

/** Names a bad field with the prefix `filter.`. */
function readInnerFilter(filter: unknown): FieldFilter {
  try {
    return readJobFilter(filter);
  } catch (error) {
    if (!(error instanceof MillraceError) || error.field === undefined) throw error;
    throw new MillraceError(error.code, `filter.${error.message}`, { field: `filter.${error.field}` });
  }
}

function isAction(action: unknown): action is BulkAction {
  return (BULK_ACTIONS as readonly unknown[]).includes(action);
}

function asGiven(filter: unknown): JobFilter {
  return Object.fromEntries(Object.entries((filter ?? {}) as JobFilter).filter(([, value]) => value !== undefined && value !== null));
}

function timesOf(filter: FieldFilter): Pick<JobFilter, (typeof TIME_FIELDS)[number]> {
  return Object.fromEntries(TIME_FIELDS.flatMap((name) => (filter[name] === undefined ? [] : [[name, filter[name]]])));
}
