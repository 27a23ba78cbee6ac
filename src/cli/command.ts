/** WHAT A COMMAND IS: data from which its parser, help, completion and reference are made, and the function that runs it. */
import type { SettingName } from "../config.ts";
import type { Duration } from "../core/duration.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Session } from "./session.ts";

/** An option, such as `--queue <name>`. Its name is its key: `runAt` is `--run-at`. */
export interface Option<Value> {
  readonly about: string;
  /** Stands for the value in help texts; a switch has none. */
  readonly placeholder: string;
  /** May be given several times. */
  readonly many: boolean;
  /** Values for shell completion. */
  readonly words: readonly string[];
  /** The client's name of it, if that differs. Errors name the field, and we show the flag. */
  readonly field?: string;
  readonly read: (given: Given) => Value;
}

/** The value that the parser found. */
export type Given = string | boolean | readonly string[] | undefined;

/** A positional argument. */
export interface Argument<Value> {
  /** `<id>` is required, `[name]` is optional, `<id...>` takes all that follow. */
  readonly form: string;
  readonly about: string;
  readonly words: readonly string[];
  readonly read: (given: Given) => Value;
}

type Options = Readonly<Record<string, Option<unknown>>>;
type Arguments = Readonly<Record<string, Argument<unknown>>>;
type ValuesOf<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends { readonly read: (given: Given) => infer Value } ? Value : never;
};

/** A command. */
export interface Command {
  readonly about: string;
  readonly examples: readonly string[];
  readonly arguments: Arguments;
  readonly options: Options;
  /** Settings that have a flag here. */
  readonly settings: readonly SettingName[];
  readonly run: (input: never, session: Session) => Promise<ExitCode | void>;
}

/** A noun with verbs: `schedules create`. Without a verb, it is `list`. */
export interface CommandGroup extends Pick<Command, "about" | "examples"> {
  /** The verb that is meant if another word, or none, follows the noun: `limits mail` is `limits show mail`. */
  readonly usual?: string;
  readonly commands: Readonly<Record<string, Verb>>;
}

// oxlint-disable-next-line no-generated-empty-object-type -- a command without options has no such fields in its input
type None = Record<never, never>;

export type Verb = Command & { readonly summary: string };

/** What a command is made of; `run` gets its options and arguments by name. */
interface CommandInput<O, A> extends Pick<Command, "about" | "examples">, Partial<Pick<Command, "settings">> {
  readonly arguments?: A;
  readonly options?: O;
  readonly run: (input: ValuesOf<O> & ValuesOf<A>, session: Session) => Promise<ExitCode | void>;
}

export function defineCommand<O extends Options = None, A extends Arguments = None>(input: CommandInput<O, A>): Command {
  return { arguments: {}, options: {}, settings: [], ...input };
}

/** A command of a group; its summary is shown in the help of the group. */
export function defineVerb<O extends Options = None, A extends Arguments = None>(summary: string, input: CommandInput<O, A>): Verb {
  return { summary, ...defineCommand(input) };
}

export function text(placeholder: string, about: string, words: readonly string[] = []): Option<string | undefined> {
  return { about, placeholder, many: false, words, read: (given) => (typeof given === "string" ? given : undefined) };
}

/** Why something is changed. */
export const reason: Option<string | undefined> = text("<text>", "why; kept with what is changed");

export function toggle(about: string): Option<boolean> {
  return { about, placeholder: "", many: false, words: [], read: (given) => given === true };
}

/** An option that may be given several times. */
export function texts(placeholder: string, about: string, words: readonly string[] = []): Option<readonly string[] | undefined> {
  return { about, placeholder, many: true, words, read: (given) => (Array.isArray(given) ? (given as string[]) : undefined) };
}

/** A whole number. Anything else is passed on: the client refuses it and says what it must be. */
export function number(about: string): Option<number | undefined> {
  return { about, placeholder: "<number>", many: false, words: [], read: (given) => numberOr(given) as number | undefined };
}

/** A value, or a word that stands for null. */
export function orNone<Value>(option: Option<Value>, word: string): Option<Value | null> {
  return { ...option, words: [word], read: (given) => (given === word ? null : option.read(given)) };
}

/** A duration: milliseconds, or with a unit. */
export function time(about: string): Option<Duration | undefined> {
  return { about, placeholder: "<time>", many: false, words: [], read: (given) => numberOr(given) as Duration | undefined };
}

export function required(name: string, about: string, words: readonly string[] = []): Argument<string> {
  return { form: `<${name}>`, about, words, read: (given) => given as string };
}

export function optional(name: string, about: string): Argument<string | undefined> {
  return { form: `[${name}]`, about, words: [], read: (given) => given as string | undefined };
}

export function several(name: string, about: string): Argument<readonly string[]> {
  return { form: `<${name}...>`, about, words: [], read: (given) => given as readonly string[] };
}

/** A text of digits as a number, otherwise what was given. */
export function numberOr(given: Given): Given | number {
  return typeof given === "string" && /^-?\d{1,15}$/.test(given) ? Number(given) : given;
}

/** `runAt` is the option `--run-at`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
