/**
 * THE SCHEMA OF A PAYLOAD AS JSON SCHEMA. A worker publishes those of its definitions: the texts once, each under its digest, and which type has
 * which digest in its entry. So the entry, which is written at every beat, stays small.
 */
import { createHash } from "node:crypto";
import { invalid } from "./errors.ts";
import { utf8Length } from "./json.ts";
import { JSON_SCHEMA_TARGET, type StandardSchemaV1 } from "./standard-schema.ts";
import { DAY_MS, HOUR_MS } from "./time-units.ts";
import { ZOD_OPTIONS } from "./zod-input.ts";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Larger schemas are not published, and neither are those of more types than these of one worker. */
export const MAX_SCHEMA_BYTES: number = 16 * 1024;
export const MAX_PUBLISHED_SCHEMAS = 100;

/** How many different schemas a store keeps: the latest published. Those of ended workers stay until their time is over. */
export const MAX_KEPT_SCHEMAS = 5000;

/** How long a store keeps a published schema, and how often a worker publishes its schemas again. */
export const SCHEMAS_KEPT_MS: number = DAY_MS;
export const PUBLISH_AGAIN_MS: number = 6 * HOUR_MS;

export const schemaRule = (maxBytes: number): string => `a JSON Schema: an object of at most ${maxBytes / 1024} KiB as JSON`;
export const SCHEMA_RULE: string = schemaRule(MAX_SCHEMA_BYTES);

/** A schema as JSON text, and the digest of that text. */
export interface SchemaText {
  readonly digest: string;
  readonly text: string;
}

const DIGEST_CHARS = 22;
export const SCHEMA_DIGEST = new RegExp(`^[\\w-]{${DIGEST_CHARS}}$`);

/** Reads a JSON Schema that somebody gave. Throws `invalid_input`. */
export function readSchema(given: unknown, field: string, maxBytes: number = MAX_SCHEMA_BYTES): SchemaText {
  const known = schemaText(given, maxBytes);
  if (known === null) throw invalid(field, schemaRule(maxBytes), given);
  return known;
}

/**
 * The JSON Schema of a definition: the one it was given, or the one that its Standard Schema makes of itself. Null if there is none, or if it is
 * too large. Some schemas cannot be written as JSON Schema (a Date, a transform): then theirs throws, and nothing is published.
 */
export function schemaOf(
  input: StandardSchemaV1 | undefined,
  given: JsonSchema | undefined,
  maxBytes: number = MAX_SCHEMA_BYTES,
): SchemaText | null {
  if (given !== undefined) return schemaText(given, maxBytes);
  try {
    const { vendor, jsonSchema } = input?.["~standard"] ?? {};
    const libraryOptions = vendor === "zod" ? ZOD_OPTIONS : undefined;
    return schemaText(jsonSchema?.input({ target: JSON_SCHEMA_TARGET, libraryOptions }), maxBytes);
  } catch {
    return null;
  }
}

function schemaText(schema: unknown, maxBytes: number): SchemaText | null {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return null;
  try {
    const text = JSON.stringify(schema);
    if (utf8Length(text) > maxBytes) return null;
    return { text, digest: createHash("sha256").update(text).digest("base64url").slice(0, DIGEST_CHARS) };
  } catch {
    return null;
  }
}
