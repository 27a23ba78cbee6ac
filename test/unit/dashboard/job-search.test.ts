import { expect, test } from "vitest";
import {
  orderOf,
  readAuditSearch,
  readFlowSearch,
  readFlowsSearch,
  readJobSearch,
  searchOfKey,
  toFilter,
  toListQuery,
} from "../../../src/dashboard/job-search.ts";
import { readWhere, writeWhere } from "../../../src/dashboard/where-text.ts";

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

test.each(["globex", "globex ", " globex", "a, b", "a\\", "a\\ ", "x:y", "\n"])(
  "a link to the payload field %j finds that value",
  (value) => {
    expect(readWhere(writeWhere({ customer: value, region: "eu" })!)).toEqual({ customer: value, region: "eu" });
    expect(readWhere(writeWhere({ customer: value })!)).toEqual({ customer: value });
  },
);

test("spaces around typed payload fields do not count", () => {
  expect(readWhere(" customer:globex , region:eu ")).toEqual({ customer: "globex", region: "eu" });
});

test.each(["acme", " acme ", "a&b=c", "~"])("a link to the jobs of the limit key %j finds that key", (limitKey) => {
  const search = searchOfKey("mail", limitKey);
  expect(readJobSearch({ ...search })).toEqual({ queue: "mail", limit_key: limitKey });
  expect(toFilter(toListQuery(search, 50, 0))).toEqual({ queue: "mail", limitKey });
});

test("the URL of the audit keeps what is a filter", () => {
  expect(readAuditSearch({ by: "ann", jobId: "7", action: "job:eaten", queue: "", other: "x" })).toEqual({ by: "ann", jobId: "7" });
});

test("the URL of flows and of one flow keeps what it knows, and drops the rest", () => {
  expect(readFlowsSearch({ status: "failed", cursor: "c", q: "x" })).toEqual({ status: "failed", cursor: "c" });
  expect(readFlowsSearch({ status: "dead" })).toEqual({});
  expect(readFlowSearch({ view: "table", status: "dead", q: "chunk", cursor: "c" })).toEqual({ view: "table", status: "dead", q: "chunk" });
  expect(readFlowSearch({ view: "list" })).toEqual({});
});
