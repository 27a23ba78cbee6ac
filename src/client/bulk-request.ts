/** WHAT A BULK OPERATION IS TO DO: read from a caller, kept as the payload of its job, and read again by whoever works it. */
import { BULK_ACTIONS, type BulkAction, STATUSES_OF } from "../core/bulk.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Filter } from "../core/filter.ts";
import type { Status } from "../core/job.ts";
import { readFields } from "../core/read-fields.ts";
import type { JobFilter } from "./client.ts";
import { readJobFilter } from "./filter.ts";

/** An operation as it was asked for, checked. */
export interface Wanted {
  readonly action: BulkAction;
  /** As people see it: with its statuses named, and times as milliseconds. */
  readonly filter: JobFilter;
  readonly query: Filter;
}

/** A cancelled job was ended by somebody's will: it gets a new life only where the filter names it. */
const RETRIED_UNASKED: readonly Status[] = ["dead", "failed"];

/** Reads a request. A filter that names nothing must be meant so. Throws `invalid_input`. */
export function readBulkRequest(input: unknown, isDry: boolean): Wanted {
  const { action, filter, all = false } = readFields(input, "a bulk operation", ["action", "filter", "all"]);
  if (!isAction(action)) throw invalid("action", `one of ${BULK_ACTIONS.join(", ")}`, action);
  if (typeof all !== "boolean") throw invalid("all", "true or false", all);
  const wanted = readWanted(action, filter);
  // `internal` names no job: it means more of them.
  const namesNothing = Object.entries(filter ?? {}).every(([name, value]) => value === undefined || value === null || name === "internal");
  if (namesNothing && !all && !isDry) {
    throw new MillraceError("invalid_input", `filter names nothing: to ${action} every job that can be, say so with all: true`, {
      field: "filter",
    });
  }
  return wanted;
}

/** Reads what can be done to which jobs. */
export function readWanted(action: BulkAction, filter: unknown): Wanted {
  const query = readInnerFilter(filter);
  const possible = STATUSES_OF[action];
  if (query.status?.some((status) => !possible.includes(status))) {
    throw invalid("filter.status", `of jobs that can be ${DONE[action]}: ${possible.join(", ")}`, query.status.join(", "));
  }
  const status = query.status ?? (action === "retry" ? RETRIED_UNASKED : possible);
  return { action, filter: { ...asGiven(filter), ...timesOf(query), status }, query: { ...query, status } };
}

/** How a change is called that was made. */
export const DONE: Readonly<Record<BulkAction, string>> = { retry: "retried", cancel: "cancelled", delete: "deleted" };

/** The fields of a filter are fields of a field here, and are called so. */
function readInnerFilter(filter: unknown): Filter {
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

function timesOf({ from, to }: Filter): Pick<JobFilter, "from" | "to"> {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}
