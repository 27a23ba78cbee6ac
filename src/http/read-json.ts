/** BYTES TO JSON. */
import { isUtf8 } from "node:buffer";
import { MillraceError, preview } from "../core/errors.ts";
import { type FieldText, parseJson, type TextPlace } from "../core/json-source.ts";
import { JsonText } from "../core/json-text.ts";
import { WireError } from "./problem.ts";

/** The value of a body, and the JSON texts of the fields that are kept as they were sent. */
export interface ReadBody {
  readonly value: unknown;
  readonly texts: readonly FieldText[];
}

/** Reads a body. Throws `malformed_body`, or `invalid_input` if an object has a name twice. */
export function readJson(bytes: Uint8Array, place: TextPlace | null = null): ReadBody {
  if (!isUtf8(bytes)) throw new WireError("malformed_body", "the body is not UTF-8");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  try {
    return parseJson(text, place);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new WireError("malformed_body", `the body is not JSON: ${preview((error as Error).message)}`);
  }
}

type Fields = Record<string, unknown>;

/** Replaces the values of the kept fields by their texts. The body was checked, so `list` is a list. */
export function putTexts({ value, texts }: ReadBody, { list }: TextPlace): void {
  if (texts.length === 0) return;
  const owners = list === undefined ? [value] : ((value as Fields)[list] as unknown[]);
  // Both are in the order of the body, and an owner has a field once.
  let next = 0;
  for (const owner of owners) {
    while (next < texts.length && awaits(owner, texts[next]!.field)) {
      const { field, text } = texts[next++]!;
      owner[field] = new JsonText(text, owner[field]);
    }
  }
}

function awaits(owner: unknown, field: string): owner is Fields {
  return typeof owner === "object" && owner !== null && Object.hasOwn(owner, field) && !((owner as Fields)[field] instanceof JsonText);
}
