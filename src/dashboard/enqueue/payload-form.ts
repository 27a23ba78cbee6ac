/**
 * A FORM FROM A JSON SCHEMA: the fields of a payload, and the payload with one field changed. Everything that is typed is in the payload's text at
 * once, so one can switch between form and JSON at any time. Pure.
 */
import { servesQueue } from "../../core/explain.ts";
import type { HandledType } from "../../core/handled-type.ts";
import { exactValue, isExactNumber, numberAsWritten } from "../../core/json-text.ts";
import type { JsonSchema } from "../../core/payload-schema.ts";

/** A field of the form. */
export interface FormField {
  /** The names that lead to it. */
  readonly path: readonly string[];
  readonly label: string;
  readonly hint: string;
  readonly isRequired: boolean;
  /** `json` is anything that has no field of its own. */
  readonly kind: "text" | "number" | "choice" | "json" | "group";
  /** The values of a choice. */
  readonly choices: readonly unknown[];
  /** Of a group. */
  readonly fields: readonly FormField[];
}

/** Deeper objects are JSON fields. */
const MAX_DEPTH = 3;

/** The schema that a form for this type should follow, from workers that serve the queue if there are any; null if none is published. */
export function formSchema(handled: readonly HandledType[], type: string, queue: string): JsonSchema | null {
  const found = handled.filter((each) => each.type === type && each.schema !== null);
  return (found.find((each) => servesQueue(each, queue)) ?? found[0])?.schema ?? null;
}

/** The fields of an object's schema; null if it is not one with known properties. */
export function fieldsOf(schema: JsonSchema): readonly FormField[] | null {
  return fieldsWithin(schema, schema, []);
}

function fieldsWithin(root: JsonSchema, schema: JsonSchema, path: readonly string[]): readonly FormField[] | null {
  const { type, properties, required } = schema;
  if (type !== "object" || !isObject(properties) || path.length >= MAX_DEPTH) return null;
  const needed = Array.isArray(required) ? (required as unknown[]) : [];
  return Object.entries(properties).map(([name, inner]) => {
    return fieldOf(root, resolved(root, inner), [...path, name], needed.includes(name));
  });
}

function fieldOf(root: JsonSchema, schema: JsonSchema, path: readonly string[], isRequired: boolean): FormField {
  const { title, type } = schema;
  const field = { path, isRequired, hint: hintOf(schema, isRequired), label: typeof title === "string" ? title : path.at(-1)! };
  const fields = fieldsWithin(root, schema, path);
  if (fields !== null) return { ...field, kind: "group", choices: [], fields };
  const choices = type === "boolean" ? [true, false] : Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  if (choices.length > 0) return { ...field, kind: "choice", choices, fields: [] };
  const kind = type === "string" ? "text" : type === "number" || type === "integer" ? "number" : "json";
  return { ...field, kind, choices, fields: [] };
}

function hintOf(schema: JsonSchema, isRequired: boolean): string {
  const { description, default: usual } = schema;
  const words = typeof description === "string" ? [description] : [];
  if (usual !== undefined) words.push(`Default: ${JSON.stringify(usual)}.`);
  else if (!isRequired) words.push("Optional.");
  return words.join(" ");
}

const LOCAL = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** Follows one reference within the schema. */
function resolved(root: JsonSchema, schema: unknown): JsonSchema {
  if (!isObject(schema)) return {};
  const { $ref } = schema;
  const name = typeof $ref === "string" ? LOCAL.exec($ref)?.[1] : undefined;
  const found = name === undefined ? undefined : ((root["$defs"] ?? root["definitions"]) as Record<string, unknown> | undefined)?.[name];
  return isObject(found) ? { ...found, ...schema, $ref: undefined } : schema;
}

/** A payload in a form. */
export interface FormPayload {
  /** The whole payload. If a JSON field has text that is not JSON, this is not JSON either. */
  readonly text: string;
  /** Without `typed`. */
  readonly payload: Record<string, unknown>;
  /** What was typed into JSON fields, by path: it is seldom JSON while one types. */
  readonly typed: ReadonlyMap<string, { readonly path: readonly string[]; readonly text: string }>;
}

/** The payload that a form can show; undefined if the text is no JSON object. */
export function readPayload(text: string): FormPayload | undefined {
  try {
    const payload = exactValue(text);
    return isObject(payload) ? { text, payload, typed: new Map() } : undefined;
  } catch {
    return undefined;
  }
}

/** What a field shows of the payload; empty if it is not set. */
export function shownAt({ payload, typed }: FormPayload, { path, kind }: FormField): string {
  const written = typed.get(keyOf(path));
  if (written !== undefined) return written.text;
  const value = path.reduce<unknown>(
    (within, name) => (isObject(within) && Object.hasOwn(within, name) ? within[name] : undefined),
    payload,
  );
  if (value === undefined) return "";
  if (typeof value === "string" && (kind === "text" || kind === "number")) return value;
  return JSON.stringify(value, null, kind === "json" ? 2 : 0);
}

/** The payload with this in a field. What is no number stays a text: the server names the place. */
export function withField(form: FormPayload, field: FormField, shown: string): FormPayload {
  const { path, kind } = field;
  const typed = new Map(form.typed);
  if (kind === "json" && shown.trim() !== "") {
    typed.set(keyOf(path), { path, text: shown });
    return { ...form, typed, text: textOf(form.payload, typed) };
  }
  typed.delete(keyOf(path));
  const payload = put(form.payload, path, valueOf(field, shown)) as Record<string, unknown>;
  return { payload, typed, text: textOf(payload, typed) };
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** The payload as text. What was typed is in its place as it is, whether it is JSON or not. */
function textOf(payload: Record<string, unknown>, typed: FormPayload["typed"]): string {
  const texts = [...typed.values()];
  // Not in the payload, so that it marks only the places of these texts.
  let mark = "#";
  while (JSON.stringify(payload).includes(mark)) mark += "#";
  const marked = texts.reduce<unknown>((within, { path }, index) => put(within, path, `${mark}${index}`), payload);
  return JSON.stringify(marked, null, 2).replaceAll(new RegExp(`"${mark}(\\d+)"`, "g"), (_, index) => texts[Number(index)]!.text);
}

/** Undefined removes the field. */
function valueOf({ kind, isRequired }: FormField, shown: string): unknown {
  if (kind === "text") return shown === "" && !isRequired ? undefined : shown;
  if (shown.trim() === "") return undefined;
  if (kind === "number") return numberAsWritten(shown.trim()) ?? shown;
  return exactValue(shown);
}

function put(within: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const object = isObject(within) ? within : {};
  // Not what every object has, such as `constructor`.
  const former = Object.hasOwn(object, name) ? object[name] : undefined;
  const { [name]: _, ...others } = object;
  const inner = put(former, rest, value);
  if (inner === undefined || (rest.length > 0 && former === undefined && value === undefined)) return others;
  // In its old place, so that the JSON does not jump.
  return { ...object, [name]: inner };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value);
}
