/** The table of commands as a parser: what was typed becomes a call, which nobody has carried out yet. */
import { styleText } from "node:util";
import { Command as Parser, Option as ParserOption } from "commander";
import { type SettingName, SETTINGS } from "../config.ts";
import type { Setting } from "../config/setting.ts";
import { type Command, type CommandGroup, flagOf, type Given } from "./command.ts";
import { COMMANDS, isGroup } from "./commands.ts";
import { mayColour, type Terminal } from "./terminal.ts";
import { packageVersion } from "./version.ts";

/** What was asked for. */
export interface Call {
  readonly command: Command;
  /** Options and arguments by their names. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly global: GlobalOptions;
}

/** What every command can be told. */
export interface GlobalOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly color?: boolean | undefined;
  readonly debug?: boolean | undefined;
  readonly config?: string | undefined;
  readonly envFile?: string | undefined;
  /** Settings that were given as flags. */
  readonly flags: Readonly<Partial<Record<SettingName, string | boolean>>>;
}

/** The options that every command has, as `[flags, meaning]`. The first is a setting. */
export const GLOBAL_OPTIONS: readonly (readonly [flags: string, about: string])[] = [
  ["--url <url>", "the store or server: sqlite:path.db, postgres://…, redis://…, http://… (MILLRACE_URL)"],
  ["--config <file>", "the configuration file, instead of millrace.config.ts in this folder"],
  ["--env-file <file>", "a file of variables, for those that the environment does not set"],
  ["--json", "print JSON lines for programs"],
  ["--quiet", "print data and errors only"],
  ["--color", "use colours also where nobody seems to look"],
  ["--no-color", "use no colours"],
  ["--debug", "show where an error came from"],
];

const DEFAULT_VERB = "list";

/** The parser for what was typed. Only the command that was named is loaded. */
export async function buildProgram(terminal: Terminal, onCall: (call: Call) => void): Promise<{ program: Parser; args: string[] }> {
  const program = withGlobalOptions(new Parser("millrace"))
    .description("A job queue: look at jobs, queues and workers, and change them.")
    .version(packageVersion(), "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "Show help for a command")
    .showSuggestionAfterError()
    .exitOverride();
  speakThrough(program, terminal);
  const [first, second, ...more] = operandsOf(terminal.args);
  const wanted = first === "help" ? second : first;
  const args = [...terminal.args];
  for (const { name, group, summary, load } of COMMANDS) {
    const parser = program.command(name).summary(summary).helpGroup(`${group}:`);
    if (name !== wanted) continue;
    const command = await load();
    describe(parser, command);
    if (isGroup(command)) defineGroup(parser, command, onCall);
    else define(parser, command, onCall);
    const verb = first === "help" ? more[0] : second;
    const isHelp = first === "help" || args.some((arg) => arg === "--help" || arg === "-h");
    if (isGroup(command) && verb === undefined && !isHelp) args.push(DEFAULT_VERB);
  }
  return { program, args };
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

/** Who asks for help mostly wants to see how it is done: examples come before the options. */
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
    const word = settingFlag(name);
    const value = word === undefined ? undefined : given[camelCase(word)];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...(given as Omit<GlobalOptions, "flags">), flags: Object.fromEntries(flags) };
}

function withGlobalOptions(parser: Parser): Parser {
  for (const [flags, about] of GLOBAL_OPTIONS) parser.option(flags, about);
  return parser;
}

/** A switch can be thrown either way; anything else takes a value. A secret has no flag. */
function addSettingFlag(parser: Parser, name: SettingName): void {
  const word = settingFlag(name);
  if (word === undefined) return;
  const { kind, env, about, fallback } = SETTINGS[name] as Setting<unknown, unknown>;
  const usual = kind.show(fallback);
  const meaning = `${about} (${env}${usual === "" ? "" : `, default ${usual}`})`;
  const flag = `--${word}`;
  parser.option(`${flag} ${kind.placeholder}`.trim(), meaning);
  if (kind.placeholder === "") parser.option(flag.replace("--", "--no-"), `not ${flag}`);
}

function settingFlag(name: SettingName): string | undefined {
  return (SETTINGS[name] as Setting<unknown, unknown>).flag;
}

function camelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What stands without dashes, up to the first option that only a command knows. */
function operandsOf(args: readonly string[]): string[] {
  return withGlobalOptions(new Parser())
    .allowUnknownOption()
    .parseOptions([...args]).operands;
}

function speakThrough(program: Parser, terminal: Terminal): void {
  const columns = terminal.stdout.isTTY === true ? terminal.stdout.columns : undefined;
  program.configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    writeErr: (text) => void terminal.stderr.write(text),
    // Errors are told by who catches them, in the words of this command line.
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
