import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { completionScript, type Shell, SHELLS } from "../../../src/cli/completion/scripts.ts";
import { commandTree } from "../../../src/cli/completion/tree.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";

const tree = await commandTree();
const folder = mkdtempSync(join(tmpdir(), "millrace-completion-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const paths = Object.fromEntries(SHELLS.map((shell) => [shell, join(folder, `completion.${shell}`)])) as Record<Shell, string>;
for (const shell of SHELLS) writeFileSync(paths[shell], completionScript(shell, tree));

function isInstalled(shell: Shell): boolean {
  return spawnSync(shell, ["-c", "exit 0"]).status === 0;
}

/** What bash offers where the line ends. */
function offered(line: string): string[] {
  const ask = `source "$1"; COMP_LINE=$2; COMP_POINT=\${#COMP_LINE}; COMP_WORDBREAKS=$' \\t\\n:='; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const said = execFileSync("bash", ["--norc", "-c", ask, "ask", paths.bash, line], { encoding: "utf8", cwd: folder });
  return said.split("\n").filter((word) => word !== "");
}

describe("completion in bash", () => {
  test.each([
    ["millrace enq", ["enqueue"]],
    ["millrace re", ["retry", "retry-dead", "resume"]],
    ["millrace list --sta", ["--status"]],
    ["millrace list --status de", ["dead"]],
    ["millrace --json list --priority c", ["critical"]],
    ["millrace schedules cr", ["create"]],
    ["millrace schedules create nightly --over", ["--overlap"]],
    ["millrace schedules create nightly --overlap s", ["skip"]],
    ["millrace worker --conc", ["--concurrency"]],
    ["millrace worker --handlers comp", ["completion.bash", "completion.zsh", "completion.fish"]],
    ["millrace completion ", ["bash", "zsh", "fish", ...tree.find(({ path }) => path[0] === "completion")!.flags.map(({ word }) => word)]],
    // An argument that is called like a command changes nothing.
    ["millrace enqueue list --key-", ["--key-ttl"]],
    ["millrace tail --event queue:", ["paused", "resumed"]],
    ["millrace nonsense --j", ["--json"]],
  ])("%s", (line, words) => {
    expect(offered(line).sort()).toEqual(words.toSorted());
  });

  test("offers every command", () => {
    expect(offered("millrace ")).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)));
  });
});

describe("the script", () => {
  test.each([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ] as const)("for %s is one that the shell understands", (shell, check) => {
    // Not every machine has every shell; what is there is asked.
    if (!isInstalled(shell)) return;
    expect(spawnSync(shell, [...check, paths[shell]], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });

  test.for(SHELLS)("for %s knows every command and option", (shell) => {
    const script = completionScript(shell, tree);
    const words = tree.flatMap(({ path, flags }) => [
      ...path,
      ...flags.map(({ word }) => (shell === "fish" ? `-l ${word.slice(2)}` : word)),
    ]);
    expect(words.filter((word) => !script.includes(word))).toEqual([]);
  });
});
