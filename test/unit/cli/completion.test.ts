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

/** What a person would be shown, for lines that every shell treats alike. */
const SAME_IN_ALL: readonly (readonly [line: string, words: readonly string[]])[] = [
  ["millrace enq", ["enqueue"]],
  ["millrace re", ["retry", "retry-dead", "resume"]],
  ["millrace list --sta", ["--status"]],
  ["millrace list --status de", ["dead"]],
  ["millrace schedules cr", ["create"]],
  ["millrace schedules create nightly --over", ["--overlap"]],
  ["millrace schedules create nightly --overlap s", ["skip"]],
  ["millrace worker --conc", ["--concurrency"]],
  ["millrace worker --handlers comp", ["completion.bash", "completion.zsh", "completion.fish"]],
  ["millrace completion f", ["fish"]],
];

function isInstalled(shell: Shell): boolean {
  return spawnSync(shell, ["-c", "exit 0"]).status === 0;
}

/** What bash offers where the line ends. */
function offeredByBash(line: string): string[] {
  const ask = `source "$1"; COMP_LINE=$2; COMP_POINT=\${#COMP_LINE}; COMP_WORDBREAKS=$' \\t\\n:='; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const said = execFileSync("bash", ["--norc", "-c", ask, "ask", paths.bash, line], { encoding: "utf8", cwd: folder });
  return said.split("\n").filter((word) => word !== "");
}

/** What fish offers: it can be asked. */
function offeredByFish(line: string): string[] {
  const said = execFileSync("fish", ["--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', paths.fish, line], {
    encoding: "utf8",
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder },
  });
  return said.split("\n").flatMap((word) => (word === "" ? [] : [word.split("\t")[0]!]));
}

/**
 * What zsh offers. Its builtins for completion work only inside a line editor, so they are replaced by ones that say what they are given;
 * which of it fits what was typed is then ours to find, as it is zsh's there.
 */
function offeredByZsh(line: string): string[] {
  const ask = [
    "compdef() { : }",
    '_describe() { local -a all=("${(@P)2}"); print -l -- "${(@)all%%:*}" }',
    'compadd() { shift; print -l -- "$@" }',
    "_files() { print -l -- * }",
    'source "$1"',
    'words=("${(@s: :)2}") CURRENT=${#words}',
    "_millrace",
  ].join("\n");
  const said = execFileSync("zsh", ["--no-rcs", "-c", ask, "ask", paths.zsh, line], { encoding: "utf8", cwd: folder });
  const typed = line.slice(line.lastIndexOf(" ") + 1);
  return said.split("\n").filter((word) => word !== "" && word.startsWith(typed));
}

describe.for([
  ["bash", offeredByBash],
  ["zsh", offeredByZsh],
  ["fish", offeredByFish],
] as const)("completion in %s", ([shell, offered]) => {
  // Not every machine has every shell, and installs it when it may: what is there is asked.
  test.skipIf(!isInstalled(shell)).each(SAME_IN_ALL)("%s", (line, words) => {
    expect(offered(line).sort()).toEqual(words.toSorted());
  });

  // What is not installed cannot be asked.
  test.skipIf(!isInstalled(shell))("offers every command", () => {
    expect(offered("millrace ")).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)));
  });
});

describe("completion in bash", () => {
  test.each([
    ["millrace --json list --priority c", ["critical"]],
    ["millrace completion ", ["bash", "zsh", "fish", ...tree.find(({ path }) => path[0] === "completion")!.flags.map(({ word }) => word)]],
    // An argument that is called like a command changes nothing.
    ["millrace enqueue list --key-", ["--key-ttl"]],
    ["millrace tail --event queue:", ["paused", "resumed"]],
    ["millrace nonsense --j", ["--json"]],
  ])("%s", (line, words) => {
    expect(offeredByBash(line).sort()).toEqual(words.toSorted());
  });
});

describe("the script", () => {
  test.for([
    ["bash", ["-n"]],
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ] as const)("for %s is one that the shell understands", ([shell, check], { skip }) => {
    if (!isInstalled(shell)) skip(`${shell} is not installed on this machine`);
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
