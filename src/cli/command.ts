/** WHAT A COMMAND IS: a row of facts from which its parsing, its help, its completion and its reference are made, and what it does. */
import type { SettingName } from "../config.ts";
import type { Duration } from "../core/duration.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Session } from "./session.ts";

/** An option, such as `--queue <name>`. The name is the key that it stands under: `runAt` is `--run-at`. */
export interface Option<Value> {
  readonly about: string;
  /** Stands for the value in help texts; a switch has none. */
  readonly placeholder: string;
  /** May be given several times. */
  readonly many: boolean;
  /** Values that a shell may offer. */
  readonly words: readonly string[];
  /** What the client calls it, where that differs: errors name the field, and people know the flag. */
  readonly field?: string;
  readonly read: (given: Given) => Value;
}

/** What the parser found for an option or an argument. */
export type Given = string | boolean | readonly string[] | undefined;

/** An argument, which has no dashes and counts by its place. */
export interface Argument<Value> {
  /** `<id>` must be given, `[name]` may, `<id...>` takes all that follow. */
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
  /** What it does, in a sentence or two, beyond its summary. */
  readonly about: string;
  /** How it is called; shown before all else in its help. */
  readonly examples: readonly string[];
  readonly arguments: Arguments;
  readonly options: Options;
  /** Settings that have a flag here. */
  readonly settings: readonly SettingName[];
  readonly run: (input: never, session: Session) => Promise<ExitCode | void>;
}

/** A noun with verbs: `schedules create`. Without a verb it is `list`. */
export interface CommandGroup {
  readonly about: string;
  readonly examples: readonly string[];
  readonly commands: Readonly<Record<string, Command & { readonly summary: string }>>;
}

/** Makes a command of its facts; `run` gets its options and arguments by name. */
// oxlint-disable-next-line no-generated-empty-object-type -- a command without options has none, and its input no such fields
export function defineCommand<O extends Options = Record<never, never>, A extends Arguments = Record<never, never>>(facts: {
  readonly about: string;
  readonly examples: readonly string[];
  readonly arguments?: A;
  readonly options?: O;
  readonly settings?: readonly SettingName[];
  readonly run: (input: ValuesOf<O> & ValuesOf<A>, session: Session) => Promise<ExitCode | void>;
}): Command {
  return { arguments: {}, options: {}, settings: [], ...facts };
}

/** A value that is a text. */
export function text(placeholder: string, about: string, words: readonly string[] = []): Option<string | undefined> {
  return { about, placeholder, many: false, words, read: (given) => (typeof given === "string" ? given : undefined) };
}

/** Given or not given. */
export function toggle(about: string): Option<boolean> {
  return { about, placeholder: "", many: false, words: [], read: (given) => given === true };
}

/** Texts, one each time that the option is given. */
export function texts(placeholder: string, about: string, words: readonly string[] = []): Option<readonly string[] | undefined> {
  return { about, placeholder, many: true, words, read: (given) => (Array.isArray(given) ? (given as string[]) : undefined) };
}

/** A whole number. What is none is handed on as it is: the client refuses it, and says what it must be. */
export function number(about: string): Option<number | undefined> {
  return { about, placeholder: "<number>", many: false, words: [], read: (given) => numberOr(given) as number | undefined };
}

/** A length of time: milliseconds, or with a unit. */
export function time(about: string): Option<Duration | undefined> {
  return { about, placeholder: "<time>", many: false, words: [], read: (given) => numberOr(given) as Duration | undefined };
}

/** An argument that must be given. */
export function required(name: string, about: string, words: readonly string[] = []): Argument<string> {
  return { form: `<${name}>`, about, words, read: (given) => given as string };
}

/** An argument that may be left out. */
export function optional(name: string, about: string): Argument<string | undefined> {
  return { form: `[${name}]`, about, words: [], read: (given) => given as string | undefined };
}

/** One argument or more. */
export function several(name: string, about: string): Argument<readonly string[]> {
  return { form: `<${name}...>`, about, words: [], read: (given) => given as readonly string[] };
}

/** A text of digits as the number that it is, else what was given. */
export function numberOr(given: Given): Given | number {
  return typeof given === "string" && /^-?\d{1,15}$/.test(given) ? Number(given) : given;
}

/** `runAt` is the option `--run-at`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
