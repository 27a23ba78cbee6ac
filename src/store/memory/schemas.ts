import type { SchemaText } from "../../core/payload-schema.ts";
import type { Context } from "./context.ts";

export function putSchemas({ shared, now }: Context, schemas: readonly SchemaText[], ttlMs: number): void {
  for (const { digest, text } of schemas) shared.schemas.set(digest, text, now + ttlMs);
}

export function readSchemas({ shared, now }: Context, digests: readonly string[]): (string | null)[] {
  return digests.map((digest) => shared.schemas.get(digest, now) ?? null);
}
