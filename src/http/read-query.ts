/** READS QUERY STRINGS: converts each parameter to the type that the route's schema has. */
import type { TObject } from "typebox";
import { MillraceError } from "../core/errors.ts";
import { type InputCheck, inputCheck } from "./check-input.ts";
import { plainName } from "../core/plain-name.ts";

/** Reads a query string. Throws `invalid_input` for the first parameter that is unknown, given twice, or bad. */
export type QueryReader = (search: string) => Record<string, unknown>;

type Convert = (text: string) => unknown;

/** Makes the reader of a route's query string. */
export function queryReader(schema: TObject | undefined): QueryReader {
  const converts = new Map<string, Convert>(Object.entries(schema?.properties ?? {}).map(([name, inner]) => [name, convertFor(inner)]));
  const check: InputCheck = schema === undefined ? () => {} : inputCheck(schema);
  return (search) => {
    if (search === "") return {};
    const query = readParameters(search, converts);
    check(query);
    return query;
  };
}

function readParameters(search: string, converts: ReadonlyMap<string, Convert>): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(search)) {
    const convert = converts.get(name);
    if (convert === undefined) throw unknownParameter(name, converts);
    const value = convert(text);
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (Array.isArray(before) && Array.isArray(value)) query[name] = [...(before as unknown[]), ...(value as unknown[])];
    else if (isRecord(before) && isRecord(value) && !Object.keys(value).some((field) => Object.hasOwn(before, field)))
      query[name] = { ...before, ...value };
    else throw new MillraceError("invalid_input", `${name} is given twice: give it once`, { field: name });
  }
  return query;
}

function unknownParameter(name: string, converts: ReadonlyMap<string, Convert>): MillraceError {
  const field = plainName(name);
  const known = converts.size === 0 ? "this route has none" : `known parameters: ${[...converts.keys()].join(", ")}`;
  return new MillraceError("invalid_input", `unknown parameter ${field}; ${known}`, { field });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** `customer:globex` as an object. A value may have colons, a name may not. */
function readPair(text: string): unknown {
  const [, name, value] = /^([^:]+):(.+)$/s.exec(text) ?? [];
  return name === undefined ? text : Object.fromEntries([[name, value]]);
}

const WHOLE_NUMBER = /^-?\d{1,16}$/;

/** Text that cannot be converted stays text: the schema then refuses it by name. */
function convertFor(schema: object): Convert {
  const { type, anyOf } = schema as { type?: string; anyOf?: { type?: string }[] };
  const types = anyOf === undefined ? [type] : anyOf.map((inner) => inner.type);
  if (types.includes("array")) return (text) => text.split(",");
  if (types.includes("object")) return readPair;
  if (types.includes("boolean")) return (text) => (text === "true" ? true : text === "false" ? false : text);
  if (types.includes("integer")) return (text) => (WHOLE_NUMBER.test(text) ? Number(text) : text);
  return (text) => text;
}
