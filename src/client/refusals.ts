import { invalid, messageOf, MillraceError, preview } from "../core/errors.ts";
import type { Status } from "../core/job.ts";
import { readFields } from "../core/read-fields.ts";
import { isId } from "../lib/id.ts";

export function readId(id: unknown): string {
  if (!isId(id)) throw invalid("id", "the id of a job, a UUIDv7 in lower case", id);
  return id;
}

export function jobNotFound(id: string): MillraceError {
  return new MillraceError("not_found", `there is no job ${id}: it was removed, or pruned after its retention, or never existed`, {
    jobId: id,
  });
}

export function scheduleNotFound(name: string): MillraceError {
  return new MillraceError("not_found", `there is no schedule ${name}`, { field: "name" });
}

export function scheduleExists(name: string): MillraceError {
  return new MillraceError("schedule_exists", `schedule ${name} already exists`, { field: "name" });
}

/** How many names to list: usually enough to find the right one. */
const MOST_NAMES = 20;

/** No queue with that name. Lists those that exist. */
export function queueNotFound(queue: string, names: readonly string[]): MillraceError {
  const some = names.toSorted().slice(0, MOST_NAMES).join(", ");
  const rest = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  const there = names.length === 0 ? "there are no queues yet" : `the queues are ${some}${rest}`;
  return new MillraceError("not_found", `there is no queue ${queue}: ${there}. To make a new queue, set create to true`, {
    field: "queue",
  });
}

/** The status does not allow it. Names the status, and those that would. */
export function wrongStatus(id: string, status: Status, verb: string, possible: readonly Status[], advice = ""): MillraceError {
  const which = `${possible.slice(0, -1).join(", ")}${possible.length > 1 ? " and " : ""}${possible.at(-1)}`;
  return new MillraceError("wrong_status", `job ${id} is ${status}: only ${which} jobs can be ${verb}${advice}`, {
    jobId: id,
    field: "status",
  });
}

export function queueFull(queue: string, capacity: number | null, limitKey?: string): MillraceError {
  if (limitKey !== undefined && capacity === null) {
    const message = `queue ${queue} or its limit key ${preview(limitKey)} has as many waiting jobs as it may have; try again later`;
    return new MillraceError("queue_full", message, { field: "limitKey", retryAfterMs: 1000 });
  }
  if (limitKey !== undefined) {
    const message = `limit key ${preview(limitKey)} of queue ${queue} has ${capacity} waiting jobs, which is its limit; try again later`;
    return new MillraceError("queue_full", message, { field: "limitKey", retryAfterMs: 1000 });
  }
  const bound = capacity === null ? "" : ` of ${capacity}`;
  return new MillraceError("queue_full", `queue ${queue} is full: its capacity${bound} is reached; try again later`, {
    field: "queue",
    retryAfterMs: 1000,
  });
}

export function heldElsewhere(what: string): MillraceError {
  return new MillraceError("store_unavailable", `another open transaction has locked ${what}: commit it or roll it back, then try again`, {
    retryAfterMs: 1000,
  });
}

export function clientClosed(): MillraceError {
  return new MillraceError("closed", "the client was closed");
}

export function asMillraceError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  return new MillraceError("store_unavailable", `the store failed: ${messageOf(error)}`, { cause: error });
}

/** Checks options that may be absent. */
export function readOptions<Name extends string>(input: unknown, what: string, known: readonly Name[]): { readonly [K in Name]?: unknown } {
  return input === undefined || input === null ? {} : readFields(input, what, known);
}
