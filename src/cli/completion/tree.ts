/** The table of commands for shell completion: what can follow what. */
import { SETTINGS } from "../../config.ts";
import type { Setting } from "../../config/setting.ts";
import { type Command, flagOf } from "../command.ts";
import { COMMANDS, isGroup } from "../commands.ts";
import { GLOBAL_OPTIONS } from "../program.ts";

/** A word that can be typed, and what it means. */
export interface Suggestion {
  readonly word: string;
  readonly about: string;
}

/** An option. */
export interface Flag extends Suggestion {
  readonly takesValue: boolean;
  readonly takesFile: boolean;
  /** Values to offer. */
  readonly values: readonly string[];
}

/** A command and its path, such as `["schedules", "create"]`. The path of the program itself is empty. */
export interface Node {
  readonly path: readonly string[];
  readonly about: string;
  readonly commands: readonly Suggestion[];
  readonly flags: readonly Flag[];
  /** Values of the first argument. */
  readonly values: readonly string[];
}

const HELP: Flag = { word: "--help", about: "show help", takesValue: false, takesFile: false, values: [] };

/** The program and every command. */
export async function commandTree(): Promise<Node[]> {
  const root: Node = {
    path: [],
    about: "",
    commands: COMMANDS.map(({ name, summary }) => ({ word: name, about: summary })),
    flags: globalFlags(),
    values: [],
  };
  const below = await Promise.all(COMMANDS.map(async ({ name, summary, load }) => nodesOf([name], summary, await load())));
  return [root, ...below.flat()];
}

function nodesOf(path: readonly string[], about: string, command: Awaited<ReturnType<(typeof COMMANDS)[number]["load"]>>): Node[] {
  if (!isGroup(command)) return [leafOf(path, about, command)];
  const verbs = Object.entries(command.commands);
  const commands = verbs.map(([word, { summary }]) => ({ word, about: summary }));
  return [
    { path, about, commands, flags: globalFlags(), values: [] },
    ...verbs.map(([verb, facts]) => leafOf([...path, verb], facts.summary, facts)),
  ];
}

function leafOf(path: readonly string[], about: string, command: Command): Node {
  const own = Object.entries(command.options).map(([name, option]) => flag(flagOf(name), option.placeholder, option.about, option.words));
  const settings = command.settings.flatMap((name) => {
    const { flag: word, kind, about } = SETTINGS[name] as Setting<unknown, unknown>;
    return word === undefined ? [] : [flag(`--${word}`, kind.placeholder, about, [])];
  });
  const [first] = Object.values(command.arguments);
  return { path, about, commands: [], flags: [...own, ...settings, ...globalFlags()], values: first?.words ?? [] };
}

function globalFlags(): Flag[] {
  const flags = GLOBAL_OPTIONS.map(([flags, about]) => {
    const [word = "", placeholder = ""] = flags.split(" ");
    return flag(word, placeholder, about, []);
  });
  return [...flags, HELP];
}

function flag(word: string, placeholder: string, about: string, values: readonly string[]): Flag {
  return { word, about, takesValue: placeholder !== "", takesFile: placeholder === "<file>", values };
}
