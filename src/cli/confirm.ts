/** Asks before something is deleted for good; a program must pass `--yes`. */
import { createInterface } from "node:readline/promises";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import { safeLine } from "../core/safe-line.ts";
import type { Session } from "./session.ts";
import type { Terminal } from "./terminal.ts";

/** Throws, with exit code 2, unless a person confirms. */
export async function confirm(question: string, { terminal }: Session): Promise<void> {
  if (terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) {
    throw new CommandRefused(`${question} There is no terminal to ask on: pass --yes to confirm`);
  }
  const answer = await ask(question, terminal);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandRefused("nothing was changed");
}

/** The answer; empty when the input ends (Ctrl-D), because readline alone would wait forever. */
async function ask(question: string, { stdin, stderr }: Terminal): Promise<string> {
  const dialogue = createInterface({ input: stdin, output: stderr });
  const ended = new Promise<string>((resolve, reject) => {
    dialogue.once("close", () => resolve(""));
    dialogue.once("SIGINT", () => reject(new CommandRefused("interrupted: nothing was changed", EXIT.interrupted)));
  });
  try {
    return await Promise.race([dialogue.question(`${safeLine(question)} [y/N] `), ended]);
  } finally {
    dialogue.close();
  }
}
