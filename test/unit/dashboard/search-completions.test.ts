import { describe, expect, test } from "vitest";
import { completions } from "../../../src/dashboard/search-completions.ts";

const KNOWN = {
  types: ["email:send", "report:make"],
  queues: ["mail", "default"],
  tags: ["newsletter", "black friday"],
  limitKeys: ["customer-7", "acme inc"],
  facets: [["customer", "globex"] as const],
};

describe("the search suggests", () => {
  test.each([
    ["", []],
    ["sta", ["status:"]],
    ["status:de", ["status:dead"]],
    ["STATUS:DE", ["status:dead"]],
    ["type:", ["type:email:send", "type:report:make"]],
    ["type:email:s", ["type:email:send"]],
    ["mail", ["type:email:send", "queue:mail"]],
    ["status:dead queue:d", ["status:dead queue:default"]],
    ["status:dead tag:news", ["status:dead tag:newsletter"]],
    ["from:1", ["from:15m", "from:1h"]],
    ["ended:24", ["ended:24h"]],
    ["status:fail", ["status:failed", "status:failed_only"]],
    ["tag:black", ['tag:"black friday"']],
    ['tag:"black f', ['tag:"black friday"']],
    ['tag:"black friday"', []],
    ['tag:"black friday" queue:m', ['tag:"black friday" queue:mail']],
    ["key", ["key:"]],
    ["key:cust", ["key:customer-7"]],
    ["customer-7", ["key:customer-7"]],
    ["queue:mail key:ac", ['queue:mail key:"acme inc"']],
    ["pay", ["payload.customer:"]],
    ["payload.customer:gl", ["payload.customer:globex"]],
    ["nothing of the sort", []],
    ["order:4711", []],
    ["status:dead ", []],
    ["status:dead", []],
  ])("for %j", (text, expected) => {
    expect(completions(text, KNOWN)).toEqual(expected);
  });

  test("no more than can be read", () => {
    const types = Array.from({ length: 100 }, (_, index) => `t${index}`);
    expect(completions("type:t", { ...KNOWN, types })).toHaveLength(20);
  });
});
