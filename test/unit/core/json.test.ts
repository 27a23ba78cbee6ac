import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { encodeJson, MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES, utf8Length } from "../../../src/core/json.ts";

function refusal(value: unknown, maxBytes = MAX_PAYLOAD_BYTES): MillraceError {
  try {
    encodeJson(value, "payload", maxBytes);
  } catch (error) {
    if (error instanceof MillraceError) return error;
  }
  throw new Error("it was accepted");
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe("a value that is accepted", () => {
  test("comes back equal, whatever JSON it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        // -0 has no JSON form; it is the one number that comes back as another.
        expect(JSON.parse(encodeJson(value, "payload", MAX_PAYLOAD_BYTES))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("or is refused: nothing in between, for values of any kind", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: false, withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
        let text: string;
        try {
          text = encodeJson(value, "payload", MAX_PAYLOAD_BYTES);
        } catch (error) {
          expect(error).toBeInstanceOf(MillraceError);
          return;
        }
        expect(withoutUndefined(JSON.parse(text))).toEqual(withoutUndefined(value ?? null));
      }),
    );
  });

  test.each([
    ["U+0000 and lone surrogates", { a: "\u0000", b: "\ud800", c: "\udc00x" }],
    ["a key called __proto__", JSON.parse('{"__proto__": {"admin": true}}')],
    ["undefined properties, which are left out", { a: 1, b: undefined }],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
    ["an object of a class", new (class Point { x = 1; y = 2; })()], // oxfmt-ignore
    ["the deepest that may be", nested(MAX_JSON_DEPTH)],
  ])("may be or have %s", (_, value: unknown) => {
    expect(JSON.parse(encodeJson(value, "payload", MAX_PAYLOAD_BYTES))).toEqual(JSON.parse(JSON.stringify(value)));
  });

  test("of undefined is null, and a Date speaks for itself", () => {
    expect(encodeJson(undefined, "payload", 10)).toBe("null");
    expect(encodeJson({ at: new Date(0) }, "payload", 100)).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  test("leaves the prototypes of others alone", () => {
    encodeJson(JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}'), "payload", 1000);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("a value that JSON would change in silence", () => {
  test.each([
    ["NaN", Number.NaN, "payload"],
    ["Infinity, deep inside", { a: [{ b: Infinity }] }, "payload.a[0].b"],
    ["undefined in an array", [1, undefined], "payload[1]"],
    ["a hole in an array", [1, , 3], "payload[1]"], // oxlint-disable-line no-sparse-arrays -- the hole is what is tested
    ["an invalid Date", { at: new Date(Number.NaN) }, "payload.at"],
    ["a function", { run: () => 1 }, "payload.run"],
    ["a symbol", Symbol("x"), "payload"],
    ["a bigint", [1n], "payload[0]"],
    ["a Map", { map: new Map([[1, 2]]) }, "payload.map"],
    ["an Error", new Error("lost"), "payload"],
    ["a RegExp", /x/, "payload"],
    ["a Promise", { later: Promise.resolve(1) }, "payload.later"],
    ["a boxed number", Object(1), "payload"],
    ["a toJSON that says nothing", { toJSON: () => undefined }, "payload"],
    ["a toJSON that says NaN", { price: { toJSON: () => Number.NaN } }, "payload.price"],
    ["a getter that throws", { get x(): never { throw new Error("no"); } }, "payload"], // oxfmt-ignore
  ])("is refused with its place: %s", (_, value: unknown, field) => {
    expect(refusal(value)).toMatchObject({ code: "invalid_input", field });
  });

  test("is refused when it contains itself, once or many times", () => {
    const self: Record<string, unknown> = {};
    Object.assign(self, { a: self, b: self, c: [self, self] });
    expect(refusal(self)).toMatchObject({
      code: "invalid_input",
      field: "payload",
      message: expect.stringContaining("contain itself") as string,
    });
  });

  test("is refused when it is small in memory and endless as text", () => {
    let value: unknown = [1];
    for (let level = 0; level < 90; level++) value = [value, value];
    expect(refusal(value).message).toContain("at most 1048576 bytes");
    expect(refusal(Object.assign([], { length: 1_000_000_000 })).code).toBe("invalid_input");
  });

  test("is refused one level too deep", () => {
    expect(refusal(nested(MAX_JSON_DEPTH + 1)).message).toContain(`deeper than ${MAX_JSON_DEPTH} levels`);
    expect(refusal(nested(10_000)).message).toContain(`deeper than ${MAX_JSON_DEPTH} levels`);
  });
});

describe("the size of a value", () => {
  test("is counted in bytes of UTF-8: the limit passes, one more does not", () => {
    expect(encodeJson("x".repeat(98), "payload", 100)).toHaveLength(100);
    expect(refusal("x".repeat(99), 100).message).toBe("payload must be at most 100 bytes of JSON; got 101");
    expect(encodeJson("ü".repeat(49), "payload", 100)).toHaveLength(51);
    expect(refusal("ü".repeat(50), 100).message).toContain("got 102");
  });

  test("is what Buffer says, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(utf8Length(text)).toBe(Buffer.byteLength(text));
      }),
    );
  });
});

/** As JSON means it: no undefined properties, no prototypes, no -0. */
function withoutUndefined(value: unknown): unknown {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  return new Map(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [key, withoutUndefined(inner)]),
  );
}
