import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Arrays, BINARY_ARRAYS, TEXT_ARRAYS } from "../../../../src/store/postgres/arrays.ts";
import { connectedTo, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const orNull = <Value>(values: fc.Arbitrary<Value>) => fc.array(fc.option(values), { minLength: 1, maxLength: 20 });

/** No text that PostgreSQL cannot store: see encodeText. */
const text = fc.string({ unit: "binary" }).map((any) => any.replaceAll("\u0000", "").toWellFormed());

const KINDS: [kind: keyof Arrays, type: string, values: fc.Arbitrary<unknown[]>][] = [
  ["ids", "uuid", fc.array(fc.uuid(), { minLength: 1, maxLength: 20 })],
  ["ints", "int", orNull(fc.integer())],
  ["bigints", "bigint", orNull(fc.maxSafeInteger())],
  ["floats", "float8", orNull(fc.double({ noDefaultInfinity: true, noNaN: true }).filter((number) => !Object.is(number, -0)))],
  ["texts", "text", orNull(text)],
];

describe("an array in binary", () => {
  test.each(KINDS)("of %s is what its text is to the server", async (kind, type, values) => {
    const client = await connectedTo(server());
    const same = async (items: unknown[]): Promise<unknown> => {
      const sent = [BINARY_ARRAYS, TEXT_ARRAYS].map((arrays) => (arrays[kind] as (values: unknown[]) => unknown)(items));
      expect(sent[0]).toBeInstanceOf(Buffer);
      const { rows } = await client.query(
        `select $1::${type}[] is not distinct from $2::${type}[] as same, cardinality($1::${type}[]) as count`,
        sent,
      );
      return rows[0];
    };
    await fc.assert(
      fc.asyncProperty(values, async (items) => {
        expect(await same(items)).toEqual({ same: true, count: items.length });
      }),
    );
  });

  test.each([
    "no id",
    "0198B0A5-0000-7000-8000-00000000000g",
    "0198b0a50-000-7000-8000-000000000000",
    "0198b0a5-0000-7000-8000-0000000000\u0141\u0141",
  ])("with %s is a text, for the server to judge", (id) => {
    const all = ["0198b0a5-0000-7000-8000-000000000000", id];
    expect(BINARY_ARRAYS.ids(all)).toBe(TEXT_ARRAYS.ids(all));
  });
});
