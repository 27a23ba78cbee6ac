/** WHAT A SETTING IS, and the kinds of values. ../config.ts has the table of all settings. */
import { durationWithin, formatDuration } from "../core/duration.ts";
import { readInteger } from "../core/read-fields.ts";

/** How values of a setting are written and read. */
export interface Kind<Input, Value> {
  /** What a value must be, in words for error messages and the reference. */
  readonly mustBe: string;
  /** The value's placeholder in help texts: `<number>`. Empty for yes or no. */
  readonly placeholder: string;
  /** The value, or undefined to refuse it. The environment and flags give strings; a file may give numbers and lists. */
  readonly read: (input: string | Input) => Value | undefined;
  /** A text that `read` accepts. */
  readonly show: (value: Value) => string;
}

export interface Setting<Input, Value> {
  readonly env: string;
  readonly kind: Kind<Input, Value>;
  /** What it is for, in one sentence. */
  readonly about: string;
  readonly fallback: Value;
  /** Its heading in help texts and reference. */
  readonly group: SettingGroup;
  /** Its flag, without dashes. Secrets have none: every user of a machine can list the arguments of processes. */
  readonly flag?: string;
  /** Other names, from other products or for a part of it. The first one with a value counts. */
  readonly aliases?: readonly Alias[];
  /** Whether it is never shown. */
  readonly secret?: boolean;
}

/** Another environment variable for a setting. */
export interface Alias {
  readonly env: string;
  /** Another name in a configuration file, if there is one. */
  readonly inFile?: string;
  /** Its value for this setting, in the setting's format; undefined if it has none. */
  readonly take?: (text: string) => string | undefined;
  /** What it must be, if that differs from the setting. */
  readonly mustBe?: string;
}

/** The headings of the reference, in order. */
export const SETTING_GROUPS = ["Store", "Server", "Workers", "Jobs", "Webhooks", "Dashboard", "Observing"] as const;
export type SettingGroup = (typeof SETTING_GROUPS)[number];

export function wholeNumber(min: number, max: number): Kind<number, number> {
  return {
    mustBe: `a whole number from ${min} to ${max}`,
    placeholder: "<number>",
    read: (input) => readInteger(numeric(input), min, max),
    show: String,
  };
}

export function duration(minMs: number, maxMs: number): Kind<number, number> {
  return {
    mustBe: `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, in milliseconds or as "30s", "5m"`,
    placeholder: "<time>",
    read: (input) => durationWithin(numeric(input), minMs, maxMs),
    show: formatDuration,
  };
}

export function choice<Word extends string>(...words: readonly Word[]): Kind<Word, Word> {
  return {
    mustBe: `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`,
    placeholder: `<${words.join("|")}>`,
    read: (input) => words.find((word) => word === input),
    show: String,
  };
}

const YES: readonly unknown[] = [true, "true", "1", "yes", "on"];
const NO: readonly unknown[] = [false, "false", "0", "no", "off"];

export const yesOrNo: Kind<boolean, boolean> = {
  mustBe: "true or false",
  placeholder: "",
  read: (input) => {
    const word = typeof input === "string" ? input.toLowerCase() : input;
    if (YES.includes(word)) return true;
    return NO.includes(word) ? false : undefined;
  },
  show: String,
};

export function text(mustBe: string, placeholder: string, pattern: RegExp): Kind<string, string> {
  return { mustBe, placeholder, read: (input) => (typeof input === "string" && pattern.test(input) ? input : undefined), show: String };
}

/** Several texts: separated by commas, or a list in a file. */
export function list(mustBe: string, placeholder: string, item: RegExp): Kind<readonly string[], readonly string[]> {
  return {
    mustBe,
    placeholder,
    read: (input) => {
      const items = typeof input === "string" ? input.split(",").map((part) => part.trim()) : input;
      const isSound = Array.isArray(items) && items.every((part) => typeof part === "string" && item.test(part));
      return isSound ? items : undefined;
    },
    show: (items) => items.join(","),
  };
}

/** The same kind for a setting that may be unset. */
export function optional<Input, Value>(kind: Kind<Input, Value>): Kind<Input, Value | null> {
  return { ...kind, show: (value) => (value === null ? "" : kind.show(value)) };
}

/** Turns digits into a number: the environment has only texts. */
export function numeric(input: unknown): unknown {
  return typeof input === "string" && /^\d{1,15}$/.test(input) ? Number(input) : input;
}
