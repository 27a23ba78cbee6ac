/** Parts of what workers report. */
import { MAX_DELAY_MS } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import { readDuration } from "../../core/read-fields.ts";

export function readDelay(delay: string | number | undefined, field: string): number | undefined {
  return delay === undefined ? undefined : readDuration(delay, field, "a time of at most 10 years", MAX_DELAY_MS);
}

export function missing(field: string, what: string): never {
  throw new MillraceError("invalid_input", `${field} is required: it says ${what}`, { field });
}
