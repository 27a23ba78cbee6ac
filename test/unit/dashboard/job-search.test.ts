import { expect, test } from "vitest";
import { orderOf } from "../../../src/dashboard/job-search.ts";

test.each([
  [{}, null],
  [{ ended: "1h" }, "ended"],
  [{ status: "pending" }, "pending"],
  [{ status: "pending,dead" }, null],
  [{ status: "pending,dead", ended: "1h" }, "ended"],
  [{ status: "pending", ended: "1h" }, null],
])("a list of %j is sorted as the store does it: %j", (search, order) => {
  expect(orderOf(search)).toBe(order);
});
