/**
 * WHAT CALLERS GIVE -> JSON TEXT. `JSON.stringify` is silent about what it cannot say; here every field is checked by itself, so that it is
 * refused by its name, as a client over the store does. What a value must be beyond that, the server says.
 */
import { invalid } from "../../core/errors.ts";
import { encodeJson, MAX_META_BYTES, MAX_PAYLOAD_BYTES } from "../../core/json.ts";
import { toSnakeCase } from "../wire/values.ts";

/** The JSON text of an object whose fields are named as the wire names them. Fields in `raw` are JSON text already. */
export function wireText(fields: object, raw: Readonly<Record<string, string>> = {}): string {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(toSnakeCase(name))}:${fieldText(name, value)}`],
  );
  for (const [name, text] of Object.entries(raw)) parts.push(`${JSON.stringify(name)}:${text}`);
  return `{${parts.join(",")}}`;
}

/** Fields that a job shows as null and that the wire therefore takes as null. The library does not. */
const NEVER_NULL = new Set(["meta", "webhookUrl", "runAt", "idempotencyKey"]);

function fieldText(name: string, value: unknown): string {
  if (value === null && NEVER_NULL.has(name)) throw invalid(name, "given, or left out", value);
  return encodeJson(value, name, name === "meta" ? MAX_META_BYTES : MAX_PAYLOAD_BYTES);
}
