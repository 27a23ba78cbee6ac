/** The parser, made from the table of commands: argv becomes a call, which `run` then carries out. */
import { styleText } from "node:util";
import { Command as Parser, Option as ParserOption } from "commander";
import { type SettingName, SETTINGS } from "../config.ts";
import type { Setting } from "../config/setting.ts";
import { type Command, type CommandGroup, flagOf, type Given } from "./command.ts";
import { COMMANDS, isGroup } from "./commands.ts";
import { mayColour, type Terminal } from "./terminal.ts";
import { packageVersion } from "./version.ts";

/** The command to run and its input. */
export interface Call {
  readonly command: Command;
  /** Options and arguments by their names. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly global: GlobalOptions;
}

/** The options of every command. */
export interface GlobalOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly color?: boolean | undefined;
  readonly debug?: boolean | undefined;
  readonly config?: string | undefined;
  readonly envFile?: string | undefined;
  /** Settings given as flags. */
  readonly flags: Readonly<Partial<Record<SettingName, string | boolean>>>;
}

/** The options of every command, as `[flags, meaning]`. The first is a setting. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, about: string])[] = [
  ["--url <url>", "the store or server: sqlite:path.db, postgres://…, redis://…, http://… (MILLRACE_URL)"],
  ["--config <file>", "the configuration file, instead of millrace.config.ts in this folder"],
  ["--env-file <file>", "a file of variables; the environment overrides them"],
  ["--json", "print JSON lines for programs"],
  ["--quiet", "print data and errors only"],
  ["--color", "use colours even if the output is not a terminal"],
  ["--no-color", "use no colours"],
  ["--debug", "show the stack trace of an error"],
];

const DEFAULT_VERB = "list";

/** Loads only the command that was named; `flags` are its options, without dashes. */
export async function buildProgram(
  terminal: Terminal,
  onCall: (call: Call) => void,
): Promise<{ program: Parser; args: string[]; flags: readonly string[] }> {
  const program = withGlobalOptions(new Parser("millrace"))
    .description("A job queue: inspect and change jobs, queues and workers.")
    .version(packageVersion(), "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "Show help for a command")
    .showSuggestionAfterError()
    .exitOverride();
  writeTo(terminal, program);
  const [first, second, ...more] = operandsOf(terminal.args);
  const wanted = first === "help" ? second : first;
  const args = [...terminal.args];
  let flags: readonly string[] = [];
  for (const { name, group, summary, load } of COMMANDS) {
    const parser = program.command(name).summary(summary).helpGroup(`${group}:`);
    if (name !== wanted) continue;
    const command = await load();
    describe(parser, command);
    if (isGroup(command)) defineGroup(parser, command, onCall);
    else define(parser, command, onCall);
    flags = flagsOf(parser);
    const verb = first === "help" ? more[0] : second;
    const isHelp = first === "help" || args.some((arg) => arg === "--help" || arg === "-h");
    if (isGroup(command) && !isHelp) addVerb(command, args, name, verb);
  }
  return { program, args, flags };
}

/** Adds the verb that is meant. */
function addVerb({ usual, commands }: CommandGroup, args: string[], noun: string, verb: string | undefined): void {
  if (usual === undefined && verb === undefined) args.push(DEFAULT_VERB);
  // Behind the noun, because options of the verb may follow it.
  if (usual !== undefined && (verb === undefined || commands[verb] === undefined)) args.splice(args.indexOf(noun) + 1, 0, usual);
}

function flagsOf(parser: Parser): string[] {
  return [parser, ...parser.commands].flatMap(({ options }) => options.map(({ long }) => (long ?? "").replace(/^--/, "")));
}

function define(parser: Parser, command: Command, onCall: (call: Call) => void): void {
  for (const { form, about } of Object.values(command.arguments)) parser.argument(form, about);
  for (const [name, { about, placeholder, many }] of Object.entries(command.options)) {
    const option = new ParserOption(`${flagOf(name)} ${placeholder}`.trim(), about);
    if (many) option.argParser((given: string, earlier: string[] | undefined) => [...(earlier ?? []), given]);
    parser.addOption(option);
  }
  for (const name of command.settings) addSettingFlag(parser, name);
  parser.action(() => onCall(callOf(parser, command)));
}

function defineGroup(parser: Parser, group: CommandGroup, onCall: (call: Call) => void): void {
  for (const [name, command] of Object.entries(group.commands)) {
    const child = parser.command(name).summary(command.summary);
    describe(child, command);
    define(child, command, onCall);
  }
}

/** Examples come before the options: most readers of a help text look for one. */
function describe(parser: Parser, { about, examples }: Command | CommandGroup): void {
  parser.description([about, "", "Examples:", ...examples.map((example) => `  ${example}`)].join("\n"));
}

function callOf(parser: Parser, command: Command): Call {
  const given = parser.optsWithGlobals<Record<string, Given>>();
  const options = Object.entries(command.options).map(([name, { read }]) => [name, read(given[name])]);
  const args = Object.entries(command.arguments).map(([name, { read }], index) => [name, read(parser.processedArgs[index] as Given)]);
  return { command, input: Object.fromEntries([...options, ...args]), global: globalOf(given, command.settings) };
}

function globalOf(given: Readonly<Record<string, Given>>, settings: readonly SettingName[]): GlobalOptions {
  const flags = (["url", ...settings] as const).flatMap((name) => {
    const flag = settingFlag(name);
    const value = flag === undefined ? undefined : given[camelCase(flag)];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...(given as Omit<GlobalOptions, "flags">), flags: Object.fromEntries(flags) };
}

function withGlobalOptions(parser: Parser): Parser {
  for (const [flags, about] of GLOBAL_OPTIONS) parser.option(flags, about);
  return parser;
}

/** A switch also gets a `--no-` form; anything else takes a value. A secret has no flag. */
function addSettingFlag(parser: Parser, name: SettingName): void {
  const flag = settingFlag(name);
  if (flag === undefined) return;
  const { kind, env, about, fallback } = SETTINGS[name] as Setting<unknown, unknown>;
  const usual = kind.show(fallback);
  const meaning = `${about} (${env}${usual === "" ? "" : `, default ${usual}`})`;
  parser.option(`--${flag} ${kind.placeholder}`.trim(), meaning);
  if (kind.placeholder === "") parser.option(`--no-${flag}`, `not --${flag}`);
}

function settingFlag(name: SettingName): string | undefined {
  return (SETTINGS[name] as Setting<unknown, unknown>).flag;
}

function camelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The words without dashes, up to the first option that is not global. */
function operandsOf(args: readonly string[]): string[] {
  return withGlobalOptions(new Parser())
    .allowUnknownOption()
    .parseOptions([...args]).operands;
}

function writeTo(terminal: Terminal, program: Parser): void {
  const columns = terminal.stdout.isTTY === true ? terminal.stdout.columns : undefined;
  program.configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    writeErr: (text) => void terminal.stderr.write(text),
    // `run` prints errors, so that all look the same.
    outputError: () => {},
    ...(columns === undefined ? {} : { getOutHelpWidth: () => columns, getErrHelpWidth: () => columns }),
    getOutHasColors: () => mayColour(terminal, terminal.stdout, undefined),
    getErrHasColors: () => mayColour(terminal, terminal.stderr, undefined),
  });
  program.configureHelp({
    showGlobalOptions: true,
    styleTitle: (title) => styleText("bold", title, { validateStream: false }),
  });
}
