/** argv -> command -> exit code. */
import { CommanderError } from "commander";
import { meantBy } from "../core/did-you-mean.ts";
import { CommandRefused, EXIT, type ExitCode } from "./exit-codes.ts";
import { failureOf } from "./failure.ts";
import { Output } from "./output.ts";
import { buildProgram, type Call } from "./program.ts";
import { safeLines } from "./safe-text.ts";
import { Session } from "./session.ts";
import type { Terminal } from "./terminal.ts";

const MAX_TIMER_MS = 2 ** 31 - 1;

/** Runs the command and returns the exit code. Never throws. */
export async function run(terminal: Terminal): Promise<ExitCode> {
  let call: Call | null = null;
  let flags: readonly string[] = [];
  try {
    const { program, args, ...named } = await buildProgram(terminal, (made) => (call = made));
    flags = named.flags;
    program.parse(args, { from: "user" });
    return call === null ? EXIT.ok : await start(terminal, call);
  } catch (error) {
    if (error instanceof CommanderError) return refusedByParser(terminal, error, flags);
    return failed(terminal, call, error);
  }
}

async function start(terminal: Terminal, { command, input, global }: Call): Promise<ExitCode> {
  const session = new Session(terminal, new Output(terminal, global), global);
  // An idle store does not keep the process alive; a command that is not done must.
  const alive = setInterval(() => {}, MAX_TIMER_MS);
  try {
    return (await command.run(input as never, session)) ?? EXIT.ok;
  } finally {
    clearInterval(alive);
    session.end();
  }
}

/** The parser throws for help and version too, not only for mistakes. */
function refusedByParser(terminal: Terminal, error: CommanderError, flags: readonly string[]): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  // Without a command, the parser has already printed the help.
  if (error.code === "commander.help") return EXIT.usage;
  const message = withSuggestion(error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " "), flags);
  new Output(terminal, { json: terminal.args.includes("--json") }).fail({
    message,
    code: "invalid_input",
    field: null,
    exitCode: EXIT.usage,
  });
  return EXIT.usage;
}

/** The parser knows similar options; we also know what other queues call them. */
function withSuggestion(message: string, flags: readonly string[]): string {
  const given = /^unknown option '--([^'=]+)'$/.exec(message)?.[1];
  const meant = given === undefined ? null : meantBy(given, flags);
  return meant === null ? message : `${message} (Did you mean --${meant}?)`;
}

function failed(terminal: Terminal, call: Call | null, error: unknown): ExitCode {
  const output = new Output(terminal, call?.global ?? {});
  const failure = failureOf(error, call?.command);
  output.fail(failure);
  if (error instanceof CommandRefused && !output.json) for (const line of error.details) output.warn(line);
  if (call?.global.debug && error instanceof Error) for (const line of safeLines(error.stack ?? "")) output.warn(line);
  return failure.exitCode;
}
