/** THE AUDIT: who changed what in a store by hand, when, and why. One entry for a call or a bulk operation, not one for each job. */
import { count } from "./counted.ts";
import { invalid, MillraceError } from "./errors.ts";
import { DEFAULT_PAGE, MAX_PAGE, TIME_FIELDS } from "./filter.ts";
import { ACTOR_RULE, type Actor, isActor } from "./manual-change.ts";
import { demandInteger, isName, NAME_RULE, readFields } from "./read-fields.ts";
import { DAY_MS } from "./time-units.ts";

/** Older entries are dropped, and so are those beyond the newest. */
export const AUDIT_KEPT_MS: number = 30 * DAY_MS;
export const MAX_AUDIT_ENTRIES = 10_000;
export const AUDIT_KEPT_WORDS: string = `${AUDIT_KEPT_MS / DAY_MS} days, at most ${count(MAX_AUDIT_ENTRIES)} of them`;

/** The longest text of what exactly was changed. */
const MAX_DETAILS_LENGTH = 500;

export const AUDIT_ACTIONS = [
  "job:retried",
  "job:edited",
  "job:started",
  "job:cancelled",
  "job:removed",
  "job:signalled",
  "dead:retried",
  "dead:purged",
  "error:muted",
  "error:unmuted",
  "flow:cancelled",
  "flow:retried",
  "bulk:started",
  "bulk:stopped",
  "queue:configured",
  "queue:paused",
  "queue:resumed",
  "limits:set",
  "limits:removed",
  "schedule:saved",
  "schedule:removed",
  "schedule:paused",
  "schedule:resumed",
  "schedule:run",
] as const;
/** What was done. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** A change, as a store is told of it. */
export interface NewAuditEntry extends Actor {
  readonly action: AuditAction;
  readonly queue: string | null;
  /** The job, or the bulk operation. */
  readonly jobId: string | null;
  readonly schedule: string | null;
  /** The filter, the settings or the like: `type=mail status=dead`. */
  readonly details: string | null;
}

/** A change that somebody made. */
export interface AuditEntry extends NewAuditEntry {
  /** Higher for a later entry. */
  readonly number: number;
  readonly at: number;
}

/** Which entries to list. */
export interface AuditQuery {
  readonly by?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly queue?: string | undefined;
  readonly jobId?: string | undefined;
  /** At most 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** From the page before. */
  readonly cursor?: string | null | undefined;
}

/** A page of entries, newest first; the last page has a null cursor. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly cursor: string | null;
}

/** An entry about nothing but what is given. */
export function auditEntry(action: AuditAction, { by, reason }: Actor, about: Partial<NewAuditEntry>): NewAuditEntry {
  return { action, by, reason, queue: null, jobId: null, schedule: null, details: null, ...about };
}

/** Fields as one line of text. */
export function detailsOf(fields: object): string | null {
  const words = wordsOf(fields, TIME_FIELDS);
  return words.length === 0 ? null : words.join(" ").slice(0, MAX_DETAILS_LENGTH);
}

/** Filters hold times as callers gave them, or in milliseconds. Further inside are the caller's own names: a payload field `to` is no time. */
function wordsOf(fields: object, times: readonly string[]): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (value === null) return [`${name}=none`];
    if (value instanceof Date || (typeof value === "number" && times.includes(name))) return [`${name}=${new Date(value).toISOString()}`];
    if (typeof value !== "object" || Array.isArray(value)) return [`${name}=${String(value)}`];
    const inner = wordsOf(value as object, []);
    return inner.length === 0 ? [] : [`${name}=(${inner.join(" ")})`];
  });
}

/** A query that was checked. */
export interface ReadAuditQuery {
  /** Lists entries with a lower number; null: from the newest. */
  readonly before: number | null;
  readonly limit: number;
  readonly matches: (entry: AuditEntry) => boolean;
}

/** Reads a query. Throws `invalid_input` or `invalid_cursor`. */
export function readAuditQuery(input: unknown): ReadAuditQuery {
  const known = ["by", "action", "queue", "jobId", "limit", "cursor"] as const;
  const { by, action, queue, jobId, limit, cursor } =
    input === undefined || input === null ? {} : withoutNulls(readFields(input, "a list of changes", known));
  if (by !== undefined && !isActor(by)) throw invalid("by", ACTOR_RULE, by);
  if (action !== undefined && !AUDIT_ACTIONS.includes(action as AuditAction)) {
    throw invalid("action", `one of ${AUDIT_ACTIONS.join(", ")}`, action);
  }
  if (queue !== undefined && !isName(queue)) throw invalid("queue", NAME_RULE, queue);
  if (jobId !== undefined && typeof jobId !== "string") throw invalid("jobId", "the id of a job", jobId);
  const wanted = Object.entries({ by, action, queue, jobId }).filter(([, value]) => value !== undefined);
  return {
    before: cursor === undefined ? null : readCursor(cursor),
    limit: limit === undefined ? DEFAULT_PAGE : demandInteger(limit, "limit", 1, MAX_PAGE),
    matches: (entry) => wanted.every(([name, value]) => entry[name as keyof AuditEntry] === value),
  };
}

function withoutNulls<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Fields;
}

function readCursor(cursor: unknown): number {
  if (typeof cursor === "string" && /^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
}
