/** RULES FOR OPTIONS that code gives: unknown names are refused, and values by what they must be. */
import { invalid, MillraceError } from "./errors.ts";
import { readFields } from "./read-fields.ts";

export interface OptionRule {
  readonly mustBe: string;
  readonly allows: (given: unknown) => boolean;
  /** The value may have a secret in it, so the message leaves it out. */
  readonly isSecret?: true;
  /** If the value is an object: the only names that it may have, and what each must be. */
  readonly fields?: OptionRules;
}

export type OptionRules = Readonly<Record<string, OptionRule>>;

export const YES_OR_NO: OptionRule = { mustBe: "true or false", allows: (given) => typeof given === "boolean" };
export const FUNCTION: OptionRule = { mustBe: "a function", allows: (given) => typeof given === "function" };
export const ABOVE_0: OptionRule = {
  mustBe: "a whole number above 0",
  allows: (given) => Number.isSafeInteger(given) && Number(given) > 0,
};
export const OBJECT: OptionRule = { mustBe: "an object", allows: isObject };
/** For a value that is checked where it is used. */
export const ANYTHING: OptionRule = { mustBe: "anything", allows: () => true };

/** Checks options; undefined is as if left out. `others` are read elsewhere. Throws `invalid_input` at the first unknown or bad one. */
export function checkOptions(options: object, what: string, rules: OptionRules, others: readonly string[], prefix = ""): void {
  const given = readFields(options, what, [...others, ...Object.keys(rules)], prefix);
  for (const [name, { mustBe, allows, isSecret, fields }] of Object.entries(rules)) {
    const field = prefix + name;
    const value = given[name];
    if (value === undefined) continue;
    // Names first: whoever mistypes a required one should hear its name.
    if (fields !== undefined && isObject(value)) checkOptions(value, field, fields, [], `${field}.`);
    if (allows(value)) continue;
    throw isSecret ? new MillraceError("invalid_input", `${field} must be ${mustBe}`, { field }) : invalid(field, mustBe, value);
  }
}

export function isObject(given: unknown): given is object {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
