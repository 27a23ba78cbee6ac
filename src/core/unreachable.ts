/** WHAT A PERSON READS when a server cannot be reached: the same words for a database and for a Millrace server. */
import { formatSpan } from "./duration.ts";
import { MillraceError } from "./errors.ts";

/** What to do about it. */
export const CHECK_ADDRESS = "Check that it is running and that the address is right";

/** Nothing listens there, or the address does not exist. `server`: its product and place, such as `Redis at localhost:6379`. */
export function unreachable(server: string, why: string | null, tried: { readonly ms: number } | null, cause: unknown): MillraceError {
  const time = tried === null ? "" : ` (tried for ${timeInWords(tried.ms)})`;
  return new MillraceError("store_unavailable", `cannot reach ${server}: ${why}${time}. ${CHECK_ADDRESS}`, { cause, retryAfterMs: 1_000 });
}

export function timeInWords(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : formatSpan(ms);
}
