import { expect, test } from "vitest";
import { MAX_SEARCH_LENGTH } from "../../../src/core/search.ts";
import { readQuery } from "../../../src/dashboard/find-jobs.ts";

test.each([
  ["type:email:send status:dead timeout", { type: "email:send", status: "dead", q: "timeout" }],
  ['"two words" status:dead', { status: "dead", q: "two words" }],
  ['"two words"', { q: "two words" }],
  ['payload.customer:globex payload.order.id:"a, b:c" late', { where: "customer:globex,order.id:a\\, b:c", q: "late" }],
  ["key:customer-7 queue:mail late", { limit_key: "customer-7", queue: "mail", q: "late" }],
  ["flow:01a1ed07-0000-7000-8000-000000000000 failed", { flow: "01a1ed07-0000-7000-8000-000000000000", q: "failed" }],
  ['limit_key:"acme inc"', { limit_key: "acme inc" }],
  ["payload.:x payload.customer:", { q: "payload.:x payload.customer:" }],
  ['{ "to": "a  b", "status": "x" }', { q: '{"to":"a  b","status":"x"}' }],
  ['"to": "type:x",\n"n": 1,', { q: '"to":"type:x","n":1,' }],
  ['[1, { "a\\" b": 2 }]', { q: '[1,{"a\\" b":2}]' }],
  ["{ not json", { q: "{ not json" }],
  ["x".repeat(300), { q: "x".repeat(MAX_SEARCH_LENGTH) }],
  [`${"x".repeat(MAX_SEARCH_LENGTH - 1)}😀`, { q: "x".repeat(MAX_SEARCH_LENGTH - 1) }],
])("%s", (text, search) => {
  expect(readQuery(text)).toEqual(search);
});
