import { expect, test } from "vitest";
import { detailsOf } from "../../../src/core/audit.ts";

test.each<[object, string | null]>([
  [{}, null],
  [{ type: undefined }, null],
  [{ type: "mail", status: ["dead", "failed"], jobs: 2 }, "type=mail status=dead,failed jobs=2"],
  [{ capacity: null, retention: { age: "1h", count: undefined } }, "capacity=none retention=(age=1h)"],
  [{ q: "x".repeat(600) }, `q=${"x".repeat(498)}`],
])("the details of %j are %j", (fields, text) => {
  expect(detailsOf(fields)).toBe(text);
});
