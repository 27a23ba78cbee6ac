import { defineCommand, required } from "../command.ts";
import { CommandRefused } from "../exit-codes.ts";
import { completionScript, SHELLS } from "../completion/scripts.ts";
import { commandTree } from "../completion/tree.ts";

export const completion = defineCommand({
  about: "Prints a script that makes the shell complete commands, options and their values.",
  examples: ["source <(millrace completion bash)", "source <(millrace completion zsh)", "millrace completion fish | source"],
  arguments: { shell: required("shell", SHELLS.join(", "), SHELLS) },
  async run({ shell }, { output }) {
    const known = SHELLS.find((name) => name === shell);
    if (known === undefined) throw new CommandRefused(`there is no completion for ${shell}: choose one of ${SHELLS.join(", ")}`);
    output.painted([completionScript(known, await commandTree())]);
  },
});
