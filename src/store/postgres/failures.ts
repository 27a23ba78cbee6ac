import { MillraceError } from "../../core/errors.ts";
import { isRefusal } from "../../lib/refused.ts";
import { cannotReach } from "../cannot-reach.ts";

/**
 * What an error means for the statement that failed.
 *
 * - `again`: the server rolled it back: it can be sent again.
 * - `unknown`: the connection was lost; it may be committed or not.
 * - `away`: there was no connection, so it was never sent.
 * - `read-only`: the server rolled it back because it takes no writes: a standby, or the former primary after a failover. It can be sent
 *   again over a new connection.
 * - `locked`: it waited too long for a row that another transaction holds.
 * - `duplicate`: an id that it inserts exists, or is being inserted by another call; a second look will see it.
 * - `missing`: the server has no such function: ours were dropped, because nobody had used them for long.
 * - `unprepared`: a pooler lost our prepared statement, or gave us a connection that has it already.
 * - `full`, `refused`: sending it again will not help.
 */
export type Failure = "again" | "read-only" | "unknown" | "away" | "locked" | "duplicate" | "missing" | "unprepared" | "full" | "refused";

/** The server's code for a statement that waited too long for a lock. */
export const LOCKED = "55P03";

const FAILURES: Readonly<Record<string, Failure>> = {
  "40001": "again", // serialization failure
  "40P01": "again", // deadlock
  "25006": "read-only", // read-only transaction
  "23505": "duplicate",
  "42883": "missing", // undefined function
  "26000": "unprepared", // no such statement
  "42P05": "unprepared", // the name is taken
  "57014": "again", // cancelled, for example by statement_timeout
  [LOCKED]: "locked",
  "53100": "full",
  "53200": "again", // out of memory
  "53300": "away", // too many connections
  "57P01": "unknown", // terminated by an administrator
  "57P02": "unknown", // another server process crashed
  "57P03": "away", // starting up or shutting down
  "57P05": "unknown", // idle session timeout
  "25P03": "unknown", // idle-in-transaction timeout
};

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (code === null) return "unknown"; // the driver's own: connection terminated, timeout
  const known = FAILURES[code];
  if (known !== undefined) return known;
  if (code.startsWith("08") || code.startsWith("58")) return "unknown";
  return /^[0-9A-Z]{5}$/.test(code) ? "refused" : "unknown"; // ECONNRESET and the like come from the socket
}

/** Whether the server rolled it back because of a conflict with another transaction. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01";
}

/** Whether this role lacks the permission. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === "42501";
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}

/** The error that a caller gets when PostgreSQL fails for good. */
export function storeError(error: unknown, place: string): MillraceError {
  if (error instanceof MillraceError) return error;
  if (failureOf(error) === "full") {
    return new MillraceError("store_full", `the disk of PostgreSQL at ${place} is full. Free some space, then try again`, { cause: error });
  }
  if (isRefusal(error)) return cannotReach(`PostgreSQL at ${place}`, error, null);
  return new MillraceError("store_unavailable", `PostgreSQL at ${place} answered with an error: ${messageOf(error)}`, { cause: error });
}

export function messageOf(error: unknown): string {
  // A host with several addresses fails with one error for each.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
