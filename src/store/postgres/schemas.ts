import type { SchemaText } from "../../core/payload-schema.ts";
import type { Context } from "./context.ts";

export async function putSchemas(context: Context, schemas: readonly SchemaText[], ttlMs: number): Promise<void> {
  const sorted = [...new Map(schemas.map(({ digest, text }) => [digest, text]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const values = [context.now(), sorted.map(([digest]) => digest), sorted.map(([, text]) => text), ttlMs];
  await context.connections.call(context.sql.putSchemas, values);
}

export async function readSchemas(context: Context, digests: readonly string[]): Promise<(string | null)[]> {
  if (digests.length === 0) return [];
  const rows = await context.connections.call(context.sql.readSchemas, [context.now(), digests]);
  const texts = new Map(rows.map(([digest, text]) => [digest as string, text as string]));
  return digests.map((digest) => texts.get(digest) ?? null);
}
