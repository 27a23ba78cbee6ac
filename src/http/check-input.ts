/** CHECKS INPUT by the schemas of the contract, compiled at their first use. The error names the first wrong field and what it must be. */
import type { TObject, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/schema";
import { suggest } from "../core/did-you-mean.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { plainName } from "../core/plain-name.ts";

/** Throws `invalid_input` for the first wrong field. `place` is put before field names. */
export type InputCheck = (value: unknown, place?: string) => void;

/**
 * The check of a schema. It is compiled at its first use: to compile the whole contract takes longer than all else that a server does to start,
 * and most servers are asked for a few routes. Looks for what is wrong only after the quick check failed.
 */
export function inputCheck(schema: TSchema): InputCheck {
  let validator: Validator | undefined;
  return (value, place = "") => {
    validator ??= Compile(schema);
    if (!validator.Check(value)) throw faultOf(validator, schema, value, place);
  };
}

/** The same object with fields of any value, for input whose values the library checks. Lists of objects are such objects again. */
export function namesOf(schema: TSchema): TSchema {
  const { description: words, properties = {}, required } = schema as NamedSchema & { required?: string[] };
  const open = Object.entries(properties).map(([name, { description, items }]) => {
    return [name, items?.properties === undefined ? { description } : { type: "array", description, items: namesOf(items) }];
  });
  const fields = { properties: Object.fromEntries(open) as unknown, required, additionalProperties: false };
  return { type: "object", description: words, ...fields };
}

interface NamedSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, NamedSchema>>;
  readonly items?: NamedSchema;
}

function faultOf(validator: Validator, schema: TSchema, value: unknown, place: string): MillraceError {
  const [, errors] = validator.Errors(value);
  const unknown = errors.find((error) => error.keyword === "additionalProperties");
  const missing = errors.find((error) => error.keyword === "required");
  // An unknown field first: it is probably a typo, and then another field is missing because of it.
  const first = unknown ?? missing ?? errors[0];
  const path = stepsOf(first?.instancePath ?? "");
  if (first?.keyword === "additionalProperties")
    return unknownField(schema, value, path, namesIn(first.params, "additionalProperties"), place);
  if (first?.keyword === "required") return missingField(schema, value, path, namesIn(first.params, "requiredProperties"), place);
  const { words, depth } = wordsFor(schema, path);
  return invalid(fieldAt(path.slice(0, depth), value, place), words, valueAt(value, path.slice(0, depth)));
}

function namesIn(params: unknown, list: string): string {
  return (params as Record<string, readonly string[]>)[list]?.[0] ?? "";
}

function unknownField(schema: TSchema, value: unknown, path: readonly string[], name: string, place: string): MillraceError {
  const field = plainName(fieldAt([...path, name], value, place));
  const known = Object.keys((schemaAt(schema, path) as Partial<TObject>).properties ?? {});
  return new MillraceError("invalid_input", `unknown field ${field}; ${suggest(name, known, "known fields")}`, { field });
}

function missingField(schema: TSchema, value: unknown, path: readonly string[], name: string, place: string): MillraceError {
  const field = fieldAt([...path, name], value, place);
  const { description } = schemaAt(schema, [...path, name]) as { description?: string };
  const rule = description === undefined || description === "" ? "" : `: it must be ${description}`;
  return new MillraceError("invalid_input", `${field} is required${rule}`, { field });
}

/** The description of the deepest schema on the path that has one, and its depth. */
function wordsFor(schema: TSchema, path: readonly string[]): { words: string; depth: number } {
  for (let depth = path.length; depth >= 0; depth--) {
    const { description } = schemaAt(schema, path.slice(0, depth)) as { description?: string };
    if (description !== undefined && description !== "") return { words: description, depth };
  }
  return { words: path.length === 0 ? "an object" : wordsOfType(schemaAt(schema, path)), depth: path.length };
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** What a value must be if its schema has no description. */
export function wordsOfType(schema: TSchema): string {
  const { type, anyOf, minimum, maximum } = schema as { type?: string; anyOf?: TSchema[]; minimum?: number; maximum?: number };
  if (anyOf !== undefined) return anyOf.map(wordsOfType).join(" or ");
  // The largest whole number that JavaScript keeps is no bound that a caller meets.
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const bounds = [minimum === undefined ? "" : ` of at least ${minimum}`, most === undefined ? "" : ` of at most ${most}`];
  return `${TYPES[type ?? ""] ?? "another value"}${bounds.filter((bound) => bound !== "").join(" and")}`;
}

function schemaAt(schema: TSchema, path: readonly string[]): TSchema {
  return path.reduce<TSchema>((inner, step) => innerSchema(inner, step) ?? {}, schema);
}

/** Of a union, the first member that has the step. */
function innerSchema(schema: TSchema, step: string): TSchema | undefined {
  const { properties, items, anyOf } = schema as { properties?: Record<string, TSchema>; items?: TSchema; anyOf?: TSchema[] };
  if (properties !== undefined && Object.hasOwn(properties, step)) return properties[step];
  return items ?? anyOf?.map((one) => innerSchema(one, step)).find((found) => found !== undefined);
}

/** The steps of a JSON pointer. */
function stepsOf(pointer: string): string[] {
  return pointer === ""
    ? []
    : pointer
        .slice(1)
        .split("/")
        .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string, unknown> | null | undefined)?.[step], value);
}

/** `jobs[3].priority` */
function fieldAt(path: readonly string[], value: unknown, place: string): string {
  let inner = value;
  let field = place;
  for (const step of path) {
    field = Array.isArray(inner) ? `${field}[${step}]` : field === "" ? step : `${field}.${step}`;
    inner = (inner as Record<string, unknown> | null | undefined)?.[step];
  }
  return field === "" ? "body" : field;
}
