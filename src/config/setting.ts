/** WHAT A SETTING IS, and the kinds of values that settings have. The table of them all is in ../config.ts. */
import { durationWithin, formatDuration } from "../core/duration.ts";
import { readInteger } from "../core/read-fields.ts";

/** How the values of a setting are written and read. */
export interface Kind<Input, Value> {
  /** What a value must be, in words: they are the error message and the reference. */
  readonly mustBe: string;
  /** Stands for the value in a help text: `<number>`. Empty for yes or no. */
  readonly placeholder: string;
  /** The value, or undefined to refuse it. A text is what the environment or a flag gave; a file may give numbers and lists. */
  readonly read: (input: string | Input) => Value | undefined;
  /** As a text that `read` would read again. */
  readonly show: (value: Value) => string;
}

/** One setting. */
export interface Setting<Input, Value> {
  /** Its name in the environment. */
  readonly env: string;
  readonly kind: Kind<Input, Value>;
  /** What it is for, in one sentence. */
  readonly about: string;
  readonly fallback: Value;
  /** Where it stands in help texts and reference. */
  readonly group: SettingGroup;
  /** Its flag, without the dashes. Secrets have none: every user of a machine can list the arguments of its processes. */
  readonly flag?: string;
  /** Other names, from other products or for parts of it. The first that says something counts. */
  readonly aliases?: readonly Alias[];
  /** Never shown. */
  readonly secret?: boolean;
}

/** Another name in the environment. */
export interface Alias {
  readonly env: string;
  /** Another name in a configuration file, where it has one. */
  readonly inFile?: string;
  /** What it says about this setting, in the form that the setting reads; undefined when it says nothing about it. */
  readonly take?: (text: string) => string | undefined;
  /** What it must be, where that differs from the setting itself. */
  readonly mustBe?: string;
}

/** The headings of the reference, in its order. */
export const SETTING_GROUPS = ["Store", "Server", "Workers", "Jobs", "Webhooks", "Dashboard", "Observing"] as const;
/** One of those headings. */
export type SettingGroup = (typeof SETTING_GROUPS)[number];

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): Kind<number, number> {
  return {
    mustBe: `a whole number from ${min} to ${max}`,
    placeholder: "<number>",
    read: (input) => readInteger(numeric(input), min, max),
    show: String,
  };
}

/** A time within bounds, in milliseconds. */
export function duration(minMs: number, maxMs: number): Kind<number, number> {
  return {
    mustBe: `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, in milliseconds or as "30s", "5m"`,
    placeholder: "<time>",
    read: (input) => durationWithin(numeric(input), minMs, maxMs),
    show: formatDuration,
  };
}

/** One of a few words. */
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

/** Yes or no. */
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

/** Any text that fits a pattern. */
export function text(mustBe: string, placeholder: string, pattern: RegExp): Kind<string, string> {
  return { mustBe, placeholder, read: (input) => (typeof input === "string" && pattern.test(input) ? input : undefined), show: String };
}

/** Several texts: by comma, or in a file as a list. */
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

/** The same kind, for a setting that may be left unset. */
export function optional<Input, Value>(kind: Kind<Input, Value>): Kind<Input, Value | null> {
  return { ...kind, show: (value) => (value === null ? "" : kind.show(value)) };
}

/** Texts of digits are numbers: the environment knows only texts. */
export function numeric(input: unknown): unknown {
  return typeof input === "string" && /^\d{1,15}$/.test(input) ? Number(input) : input;
}
