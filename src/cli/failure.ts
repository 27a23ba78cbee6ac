import { MillraceError } from "../core/errors.ts";
import { withoutDate } from "../core/time-words.ts";
import { type Command, flagOf } from "./command.ts";
import { EXIT, type ExitCode, exitCodeOf } from "./exit-codes.ts";

/** A failure as it is told. */
export interface Failure {
  readonly message: string;
  readonly code: string;
  readonly field: string | null;
  readonly exitCode: ExitCode;
}

/** What to say about an error. It names the field of the client; a person typed the flag, which `command` knows. */
export function failureOf(error: unknown, command?: Command): Failure {
  const exitCode = exitCodeOf(error);
  const message = withoutDate(error instanceof Error ? error.message : String(error));
  if (!(error instanceof MillraceError))
    return { message, code: exitCode === EXIT.usage ? "invalid_input" : "failure", field: null, exitCode };
  const { code, field = null } = error;
  const flag = code === "invalid_input" && field !== null && command !== undefined ? flagFor(command, field) : null;
  return { message: flag === null ? message : message.replace(field!, flag), code, field: flag ?? field, exitCode };
}

/** Options of a filter stand beside the others here. */
function flagFor(command: Command, field: string): string | null {
  const own = field.replace(/^filter\./, "");
  const named = Object.entries(command.options).find(([name, option]) => (option.field ?? name) === own);
  return named === undefined ? null : flagOf(named[0]);
}
