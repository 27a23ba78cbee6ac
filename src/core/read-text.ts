import { invalid } from "./errors.ts";
import { utf8Length } from "./json.ts";
import { MAX_LIMIT_KEY_BYTES } from "./limits.ts";

/** Reads a key of a job. Throws nothing: undefined if it is not valid. */
export function readText(input: unknown, mostBytes: number): string | undefined {
  // A lone surrogate has no UTF-8 form: a store could make one key out of two.
  if (typeof input !== "string" || input === "" || !input.isWellFormed()) return undefined;
  return utf8Length(input) <= mostBytes ? input : undefined;
}

export const LIMIT_KEY_RULE = `a string of 1 to ${MAX_LIMIT_KEY_BYTES} bytes`;

/** Reads a limit key. Throws `invalid_input`. */
export function readLimitKey(input: unknown, field = "limitKey"): string {
  const key = readText(input, MAX_LIMIT_KEY_BYTES);
  if (key === undefined) throw invalid(field, LIMIT_KEY_RULE, input);
  return key;
}
