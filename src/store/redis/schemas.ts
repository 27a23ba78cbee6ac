import type { SchemaText } from "../../core/payload-schema.ts";
import { textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { PUT_SCHEMA } from "./statements/shared.ts";

/** One script per digest, sent together: on a Cluster each has its own slot. */
export async function putSchemas({ session, keys }: Context, schemas: readonly SchemaText[], ttlMs: number): Promise<void> {
  await Promise.all(schemas.map(({ digest, text }) => session.run(PUT_SCHEMA, keys.schema(digest), [String(ttlMs), text])));
}

/** One command per digest, as above. */
export async function readSchemas({ session, keys }: Context, digests: readonly string[]): Promise<(string | null)[]> {
  const [now, kept] = await Promise.all([session.now(), Promise.all(digests.map((digest) => session.command("GET", keys.schema(digest))))]);
  return kept.map((value) => {
    if (value === null) return null;
    const [, until, text] = /^(\d+) (.*)$/s.exec(textOf(value))!;
    return Number(until) > now ? text! : null;
  });
}
