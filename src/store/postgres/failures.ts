import { MillraceError } from "../../core/errors.ts";
import { isRefusal } from "../../lib/refused.ts";

/**
 * What a failure means for the statement that met it.
 *
 * - `again`: the server undid it and says so: it can be sent again.
 * - `unknown`: the connection was lost on the way; it may be committed or not.
 * - `away`: it was never sent: no connection could be had.
 * - `read-only`: the server undid it, because this connection leads to one that takes no writes: to a standby, or to what was the primary
 *   before a failover. It can be sent again over a new connection.
 * - `locked`: it waited too long for another's row.
 * - `twin`: an id that it inserts is there already, or comes in at this very moment by another; a second look will see it.
 * - `missing`: the server knows no such function: ours were dropped, because nobody had used them for long.
 * - `unprepared`: a pooler lost our prepared statement, or gave us the connection of one who has it.
 * - `full`, `refused`: sending it again will not help.
 */
export type Fate = "again" | "read-only" | "unknown" | "away" | "locked" | "twin" | "missing" | "unprepared" | "full" | "refused";

/** The server's code for a call that waited too long for another's row. */
export const LOCKED = "55P03";

const FATES: Readonly<Record<string, Fate>> = {
  "40001": "again", // serialization failure
  "40P01": "again", // deadlock
  "25006": "read-only", // read-only transaction
  "23505": "twin",
  "42883": "missing", // undefined function
  "26000": "unprepared", // there is no such statement
  "42P05": "unprepared", // there is one of that name
  "57014": "again", // cancelled, by somebody's statement_timeout
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

export function fateOf(error: unknown): Fate {
  const code = codeOf(error);
  if (code === null) return "unknown"; // the driver's own: connection terminated, timeout
  const known = FATES[code];
  if (known !== undefined) return known;
  if (code.startsWith("08") || code.startsWith("58")) return "unknown";
  return /^[0-9A-Z]{5}$/.test(code) ? "refused" : "unknown"; // ECONNRESET and its like are the socket's
}

/** Whether the server undid it because another transaction was at the same rows. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01";
}

/** Whether the server says that this role may not do it. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === "42501";
}

function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : null;
}

/** What a caller is told when PostgreSQL itself fails for good. */
export function storeError(error: unknown, place: string): MillraceError {
  if (error instanceof MillraceError) return error;
  if (fateOf(error) === "full") {
    return new MillraceError("store_full", `the disk of PostgreSQL at ${place} is full: free some space, then try again`, { cause: error });
  }
  if (isRefusal(error)) return tookNoConnection(error, place);
  return new MillraceError("store_unavailable", `PostgreSQL at ${place} answered with an error: ${messageOf(error)}`, { cause: error });
}

/** Nobody listens there, or there is no such address. `time` is for how long it was tried. */
export function tookNoConnection(error: unknown, place: string, time = ""): MillraceError {
  const message = `PostgreSQL at ${place} took no connection${time}: ${messageOf(error)}. Check that it is running and that the address is right`;
  return new MillraceError("store_unavailable", message, { cause: error, retryAfterMs: 1_000 });
}

export function messageOf(error: unknown): string {
  // A host with several addresses fails with one error for each.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
