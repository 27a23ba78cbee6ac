import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson, textsIn } from "../../../src/core/json-source.ts";
import { JsonText, payloadOf, prettyJson, resultOf, stringifyJson, withTexts } from "../../../src/core/json-text.ts";
import { canonicalText } from "../../../src/core/unique.ts";

/** Texts that could be taken for the place where a text goes in. */
const HOSTILE = fc.string({ unit: fc.constantFrom('"', "\\", "u", "0", "4", "1", "A", "\u0000") });

describe("stringifyJson", () => {
  test("writes what JSON.stringify writes, whatever the strings", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void expect(stringifyJson(value)).toBe(JSON.stringify(value))));
    fc.assert(fc.property(fc.array(HOSTILE), (value) => void expect(stringifyJson(value)).toBe(JSON.stringify(value))));
  });

  test("writes each text in its place", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(HOSTILE, fc.json())), (pairs) => {
        const written = stringifyJson(pairs.map(([before, text]) => ({ before, inner: [new JsonText(text, null)] })));
        expect(written).toBe(`[${pairs.map(([before, text]) => `{"before":${JSON.stringify(before)},"inner":[${text}]}`).join(",")}]`);
      }),
    );
  });

  test("leaves no trace when a toJSON throws", () => {
    const broken = {
      toJSON: () => {
        throw new Error("broken");
      },
    };
    expect(() => stringifyJson([new JsonText("1.0", 1), broken])).toThrow("broken");
    expect(JSON.stringify([new JsonText("1.0", 1)])).toBe("[1]");
  });
});

describe("texts of fields", () => {
  const spaced = (value: unknown): string => JSON.stringify(value, null, 1);

  test("are those that stand in the outermost object, whatever stands around and within", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (value, others) => {
        const body = { ...others, nested: { payload: 1 }, payload: value };
        expect(textsIn(spaced(body), { fields: ["payload"] }).map(({ text }) => JSON.parse(text) as unknown)).toEqual([
          JSON.parse(JSON.stringify(value)),
        ]);
      }),
    );
  });

  test("are those of each object in a list, in order", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.jsonValue(), { nil: undefined })), (values) => {
        const body = {
          other: [{ payload: 0 }],
          jobs: values.map((payload) => ({ payload, more: { payload: [1] } })),
          last: { payload: 3 },
        };
        const texts = textsIn(spaced(body), { list: "jobs", fields: ["payload"] }).map(({ text }) => JSON.parse(text) as unknown);
        expect(texts).toEqual(values.flatMap((value) => (value === undefined ? [] : [JSON.parse(JSON.stringify(value)) as unknown])));
      }),
    );
  });

  test("are cut exactly", () => {
    expect(parseJson('{"a":1 , "payload" :\t[ 1.0 , {"x":-0} ]\n,"z":{}}', { fields: ["payload", "z"] }).texts).toEqual([
      { field: "payload", text: '[ 1.0 , {"x":-0} ]' },
      { field: "z", text: "{}" },
    ]);
  });
});

test("numbers of a canonical text count by their exact value", () => {
  const same = [
    ["1", "1.0", "1e0", "10E-1", "0.1e+1"],
    ["0", "-0", "0.0", "-0e5"],
    ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
    ["0.1", "0.10", "1e-1"],
    ["1e21", "1000000000000000000000"],
    ["1e-400", "0.1e-399"],
  ];
  for (const forms of same) expect(new Set(forms.map((form) => canonicalText(`[${form}]`))).size).toBe(1);
  expect(new Set(same.map(([form]) => canonicalText(`[${form}]`))).size).toBe(same.length);
  expect(canonicalText("[9007199254740992]")).not.toBe(canonicalText("[9007199254740993]"));
  expect(canonicalText("[-9007199254740993]")).not.toBe(canonicalText("[9007199254740993]"));
});

test("numbers that JavaScript wrote have the canonical form that they always had", () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (number) => void expect(canonicalText(`[${JSON.stringify(number)}]`)).toBe(`[${JSON.stringify(number)}]`),
    ),
  );
});

test("the texts of a job are beside it, not in it", () => {
  const job = withTexts({ payload: 1, result: null }, "1.0");
  expect(job).toEqual({ payload: 1, result: null });
  expect(stringifyJson([payloadOf(job), resultOf(job)])).toBe("[1.0,null]");
  expect(stringifyJson(payloadOf({ ...job }))).toBe("1");
});

test("over several lines numbers stay as they were written", () => {
  expect(prettyJson(new JsonText('{"n":9007199254740993,"m":[1.0]}', null))).toBe('{\n  "n": 9007199254740993,\n  "m": [\n    1.0\n  ]\n}');
});
