import { describe, expect, test } from "vitest";
import {
  decodeFacets,
  facetsIn,
  FACETS_HEARD_MS,
  fieldIn,
  isField,
  readFacets,
  readFieldValue,
  sinceDeclared,
} from "../../../src/core/facets.ts";

describe("a field of a payload", () => {
  test.each([
    [`{"customer":"globex"}`, "customer", "globex"],
    [`{"customer": {"id": 12345678901234567890 }}`, "customer.id", "12345678901234567890"],
    [`{"n":1.50}`, "n", "1.50"],
    [`{"ok":true}`, "ok", "true"],
    [`{"a\\u002db":"M\\u00fcller"}`, "a-b", "Müller"],
    [`{"x":{"customer":"acme"},"customer":"globex"}`, "customer", "globex"],
    [`{"x":{"customer":"acme"}}`, "customer", null],
    [`[{"customer":"acme"}]`, "customer", null],
    [`{"customer":null}`, "customer", null],
    [`{"customer":["globex"]}`, "customer", null],
    [`{"customer":{"id":1}}`, "customer", null],
    [`{"customer":""}`, "customer", null],
    [`{"customer":"\\u0000"}`, "customer", null],
    [`{"customer":"\\ud800"}`, "customer", null],
    [`{"customer":"${"x".repeat(201)}"}`, "customer", null],
    [`{"customer":"globex"}`, "customer.id", null],
    [`"customer"`, "customer", null],
    [`null`, "customer", null],
  ])("%s has %s: %s", (payload, field, value) => {
    expect(fieldIn(payload, field)).toBe(value);
  });

  test("facets are sorted by field, and null if there are none", () => {
    expect(JSON.stringify(facetsIn(`{"b":1,"a":"x"}`, ["b", "a", "c"]))).toBe(`{"a":"x","b":"1"}`);
    expect(facetsIn(`{"b":1}`, ["a"])).toBeNull();
  });

  test("names and values have rules", () => {
    for (const field of ["customer", "customer.id", "客户", "a-b_c", "0"]) expect([field, isField(field)]).toEqual([field, true]);
    for (const field of ["", ".", "a.", "a b", "a:b", "a=b", "a,b", `"a"`, "__proto__", "a\u0000b", "a.\u0007", "x".repeat(101), 5, null]) {
      expect([field, isField(field)]).toEqual([field, false]);
    }
    expect([readFieldValue(5), readFieldValue(true), readFieldValue("x")]).toEqual(["5", "true", "x"]);
    expect([readFieldValue(""), readFieldValue(null), readFieldValue({}), readFieldValue("x".repeat(201))]).toEqual(
      Array(4).fill(undefined),
    );
  });
});

describe("the setting of a queue", () => {
  test("a field that was declared before keeps its time, a new one begins a little later", () => {
    const first = sinceDeclared(readFacets(["customer"]) ?? null, null, 1000);
    expect(decodeFacets(first)).toEqual([{ field: "customer", since: 1000 + FACETS_HEARD_MS }]);
    const second = sinceDeclared(readFacets(["region", "customer"]) ?? null, first, 500_000);
    expect(decodeFacets(second)).toEqual([
      { field: "region", since: 500_000 + FACETS_HEARD_MS },
      { field: "customer", since: 1000 + FACETS_HEARD_MS },
    ]);
  });

  test("takes at most four fields, and none by null or an empty list", () => {
    expect([readFacets([]), readFacets(null)]).toEqual([null, null]);
    expect([readFacets("a"), readFacets(["a b"]), readFacets(["a", "b", "c", "d", "e"])]).toEqual([undefined, undefined, undefined]);
  });
});
