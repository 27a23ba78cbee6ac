/** Before something is lost for good: a person is asked, a program must have said `--yes`. */
import { createInterface } from "node:readline/promises";
import { CommandRefused, EXIT } from "./exit-codes.ts";
import { safeLine } from "./safe-text.ts";
import type { Session } from "./session.ts";
import type { Terminal } from "./terminal.ts";

/** Goes on only if it was asked for with `--yes` or a person says so; else throws, with exit code 2. */
export async function confirm(question: string, yes: boolean, { terminal }: Session): Promise<void> {
  if (yes) return;
  if (terminal.stdin.isTTY !== true || terminal.stderr.isTTY !== true) {
    throw new CommandRefused(`${question} Nobody is here to answer: say it with --yes`);
  }
  const answer = await ask(question, terminal);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandRefused("nothing was changed");
}

/** The answer; none when the input ends (Ctrl-D), which readline itself would wait for without end. */
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
