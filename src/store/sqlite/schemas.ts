import type { SchemaText } from "../../core/payload-schema.ts";
import { PUT_SCHEMA, READ_SCHEMA } from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

export function putSchemas({ on, now }: Transaction, schemas: readonly SchemaText[], ttlMs: number): void {
  for (const { digest, text } of schemas) on.run(PUT_SCHEMA, digest, text, now + ttlMs);
}

export function readSchemas({ on, now }: View, digests: readonly string[]): (string | null)[] {
  return digests.map((digest) => (on.get(READ_SCHEMA, digest, now)?.[0] as string | undefined) ?? null);
}
