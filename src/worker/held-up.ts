import { MillraceError } from "../core/errors.ts";

/** What the answer `locked` is as an error: nothing was changed, and it may be asked for again. */
export function heldUp(): MillraceError {
  return new MillraceError("store_unavailable", "another transaction that is still open holds the job", { retryAfterMs: 1000 });
}
