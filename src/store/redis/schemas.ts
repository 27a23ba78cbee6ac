import type { SchemaText } from "../../core/payload-schema.ts";
import { listOf, numberOf, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { DROP_SCHEMA, NOTE_SCHEMAS, PUT_SCHEMA, SWEEP_SCHEMAS } from "./statements/shared.ts";

/** One script per digest, sent together: on a Cluster each has its own slot. First they are noted, so that `sweep` knows every one. */
export async function putSchemas({ session, keys }: Context, schemas: readonly SchemaText[], ttlMs: number): Promise<void> {
  if (schemas.length === 0) return;
  await session.run(NOTE_SCHEMAS, keys.schemas, [String(ttlMs), ...schemas.map(({ digest }) => digest)]);
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

/** Drops up to `limit` of those beyond the latest. A process that ends in between leaves a text that expires by itself. */
export async function sweepSchemas({ session, keys }: Context, limit: number): Promise<number> {
  const found = listOf(await session.run(SWEEP_SCHEMAS, keys.schemas, [String(limit)])).map(textOf);
  const digests = found.filter((_, index) => index % 2 === 0);
  const dropped = digests.map((digest, index) => session.run(DROP_SCHEMA, keys.schema(digest), [found[2 * index + 1]!]));
  return (await Promise.all(dropped)).reduce<number>((sum, reply) => sum + numberOf(reply), 0);
}
