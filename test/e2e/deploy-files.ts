import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { buildProgram, type Call } from "../../src/cli/program.ts";
import { SETTING_NAMES, SETTINGS } from "../../src/config.ts";
import { readConfig } from "../../src/config/read-config.ts";
import type { Setting } from "../../src/config/setting.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** A file of the project. */
export function read(path: string): string {
  return readFileSync(`${root}${path}`, "utf8");
}

/** The documents of a YAML file. */
export function yamlOf(path: string): unknown[] {
  return parseAllDocuments(read(path)).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as unknown;
  });
}

/** The variables that settings are read from. */
const VARIABLES = new Set(
  SETTING_NAMES.flatMap((name) => {
    const { env, aliases = [] } = SETTINGS[name] as Setting<unknown, unknown>;
    return [env, ...aliases.map((alias) => alias.env)];
  }),
);

/** Variables that are not ours: those of Node. */
const OF_NODE = ["NODE_ENV"];

/** What is wrong with these variables: names that no setting has, values that a setting refuses. */
export function wrongVariables(env: Readonly<Record<string, unknown>>): string[] {
  const unknown = Object.keys(env).filter((name) => !VARIABLES.has(name) && !OF_NODE.includes(name));
  const texts = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
  try {
    readConfig({ env: texts }, SETTING_NAMES);
    return unknown;
  } catch (error) {
    return [...unknown, (error as Error).message];
  }
}

/** The command that these words are, with its options, without carrying it out. Throws where the command line would refuse them. */
export async function commandOf(words: readonly string[]): Promise<Call> {
  let call: Call | null = null;
  const silent = new PassThrough().resume();
  const terminal = { args: words, env: {}, cwd: root, stdin: new PassThrough(), stdout: silent, stderr: silent };
  const { program, args } = await buildProgram(terminal, (made) => (call = made));
  program.parse(args, { from: "user" });
  if (call === null) throw new Error(`${words.join(" ")} is no command`);
  return call;
}

/** One line of a Dockerfile: COPY, its flags, and its words. */
export interface Instruction {
  readonly keyword: string;
  readonly rest: string;
  /** The words of the exec form, or else those between spaces, without flags. */
  readonly words: readonly string[];
}

/** The instructions of a Dockerfile by stage. */
export function dockerStages(text: string): Instruction[][] {
  const lines = text
    .replace(/^#.*\n/gm, "")
    .replace(/\\\n/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, keyword = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (keyword === "FROM") stages.push([]);
    const list = /\[.*\]$/.exec(rest)?.[0];
    const words = list === undefined ? rest.split(/\s+/).filter((word) => !word.startsWith("--")) : (JSON.parse(list) as string[]);
    stages.at(-1)!.push({ keyword, rest, words });
  }
  return stages;
}
