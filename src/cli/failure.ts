import { MillraceError } from "../core/errors.ts";
import { withoutDate } from "../core/time-words.ts";
import { type Command, flagOf } from "./command.ts";
import { EXIT, type ExitCode, exitCodeOf } from "./exit-codes.ts";

/** A failure as it is printed. */
export interface Failure {
  readonly message: string;
  readonly code: string;
  readonly field: string | null;
  readonly exitCode: ExitCode;
}

/** An error names the client's field. If `command` has a flag for it, the message names the flag instead. */
export function failureOf(error: unknown, command?: Command): Failure {
  const exitCode = exitCodeOf(error);
  const message = withoutDate(error instanceof Error ? error.message : String(error));
  if (!(error instanceof MillraceError))
    return { message, code: exitCode === EXIT.usage ? "invalid_input" : "failure", field: null, exitCode };
  const { code, field = null } = error;
  const flag = code === "invalid_input" && field !== null && command !== undefined ? flagFor(command, field) : null;
  return { message: flag === null ? message : message.replace(field!, flag), code, field: flag ?? field, exitCode };
}

/** Here the fields of a filter, and the limits of a queue, are options like any other. */
function flagFor(command: Command, field: string): string | null {
  const own = field.replace(/^(filter|limits)\./, "");
  const named = Object.entries(command.options).find(([name, option]) => (option.field ?? name) === own);
  return named === undefined ? null : flagOf(named[0]);
}
