import { expect, test } from "vitest";
import { detailsOf } from "../../../src/core/audit.ts";

test.each<[object, string | null]>([
  [{}, null],
  [{ type: undefined }, null],
  [{ type: "mail", status: ["dead", "failed"], jobs: 2 }, "type=mail status=dead,failed jobs=2"],
  [{ capacity: null, retention: { age: "1h", count: undefined } }, "capacity=none retention=(age=1h)"],
  [{ capacity: 10, retention: { age: undefined } }, "capacity=10"],
  [
    { from: new Date(Date.UTC(2030, 0, 1)), endedTo: Date.UTC(2030, 0, 2) },
    "from=2030-01-01T00:00:00.000Z endedTo=2030-01-02T00:00:00.000Z",
  ],
  [{ where: { to: 4_915_112_345_678, from: 1e20 } }, "where=(to=4915112345678 from=100000000000000000000)"],
  [{ q: "x".repeat(600) }, `q=${"x".repeat(498)}`],
])("the details of %j are %j", (fields, text) => {
  expect(detailsOf(fields)).toBe(text);
});
