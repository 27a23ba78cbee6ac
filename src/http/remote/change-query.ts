import { MillraceError } from "../../core/errors.ts";
import { CHANGE_OPTIONS, readActor } from "../../core/manual-change.ts";
import { readFields } from "../../core/read-fields.ts";

/** Reads the options of a change: the reason for the query, and the values of other options. Refuses `by`, which only the server knows. */
export function changeQuery<Name extends string>(
  options: unknown,
  what: string,
  others: readonly Name[] = [],
): { readonly query: { readonly reason: string | undefined }; readonly given: { readonly [K in Name]?: unknown } } {
  if (options === undefined || options === null) return { query: { reason: undefined }, given: {} };
  const { by, reason, ...given } = readFields(options, what, [...others, ...CHANGE_OPTIONS]);
  if (by !== undefined && by !== null) {
    throw new MillraceError("invalid_input", "by cannot be set over HTTP: the server uses the name of the API key", { field: "by" });
  }
  return { query: { reason: readActor({ reason }, undefined).reason ?? undefined }, given: given as { [K in Name]?: unknown } };
}
