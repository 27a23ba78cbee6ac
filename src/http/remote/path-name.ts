import { MillraceError } from "../../core/errors.ts";
import { readStepName } from "../../core/steps.ts";

/** Every URL parser takes these steps of a path away, encoded or not. */
const NO_STEPS = [".", ".."];

/** Reads a name that goes into the path: of a signal, or of a member of a flow. */
export function readPathName(given: unknown, of: "signal" | "member"): string {
  const name = readStepName(given, "name");
  if (!NO_STEPS.includes(name)) return name;
  throw new MillraceError("invalid_input", `no URL can name the ${of} "${name}": connect to the store itself for that`, { field: "name" });
}
