/**
 * INPUT -> JSON TEXT. `JSON.stringify` silently drops what it cannot write. Here each field is checked by itself, so that the error names it,
 * as with a client over the store. The server checks the rest.
 */
import { invalid } from "../../core/errors.ts";
import { encodeJson, MAX_META_BYTES, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import { toSnakeCase } from "../wire/values.ts";

/** The JSON text of an object, with the field names of the wire. Fields in `raw` are already JSON text. */
export function wireText(fields: object, raw: Readonly<Record<string, string>> = {}): string {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(toSnakeCase(name))}:${fieldText(name, value)}`],
  );
  for (const [name, text] of Object.entries(raw)) parts.push(`${JSON.stringify(name)}:${text}`);
  return `{${parts.join(",")}}`;
}

/** The server accepts null for these fields, because a job may have null there. The library does not. */
const NEVER_NULL = new Set(["meta", "limitKey", "webhookUrl", "runAt", "idempotencyKey"]);

function fieldText(name: string, value: unknown): string {
  if (value === null && NEVER_NULL.has(name)) throw invalid(name, "set or left out", value);
  return encodeJson(value, name, name === "meta" ? MAX_META_BYTES : MAX_PAYLOAD_BYTES);
}
