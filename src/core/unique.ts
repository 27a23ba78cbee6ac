import { createHash } from "node:crypto";

/**
 * What makes two jobs under one idempotency key the same: SHA-256 of type and canonical JSON payload. Priority, delay and the rest do
 * not matter.
 */
export function fingerprint(type: string, payload: string): string {
  return createHash("sha256")
    .update(type)
    .update("\n")
    .update(canonicalJson(JSON.parse(payload)))
    .digest("base64url");
}

/** JSON with the keys of every object in order, so that {a, b} and {b, a} are one. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value);
}
