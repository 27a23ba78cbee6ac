import { expect, test } from "vitest";
import { inOrder, isDrawable, isTall, membersAfter, membersBefore, shapeOf } from "../../../src/dashboard/flows/flow-shape.ts";

const member = (name: string, ...after: string[]): { name: string; after: string[] } => ({ name, after });
const last = (name: string): { name: string; after: "*" } => ({ name, after: "*" });
const names = (members: readonly { name: string }[]): string[] => members.map(({ name }) => name);

const DIAMOND = [member("report", "b", "a"), member("fetch"), member("a", "fetch"), member("b", "fetch"), member("alone"), last("done")];

test("edges lead from what a member waits for; who waits for all others is drawn after the ends", () => {
  const { edges, columns } = shapeOf(DIAMOND);
  expect(edges.map(({ from, to }) => `${from} ${to}`)).toEqual(["fetch a", "fetch b", "b report", "a report", "alone done", "report done"]);
  expect(Object.fromEntries(columns)).toEqual({ fetch: 0, alone: 0, a: 1, b: 1, report: 2, done: 3 });
});

test("a name given twice is one edge, and what is not there is left out", () => {
  expect(shapeOf([member("a"), member("b", "a", "a", "gone")]).edges).toEqual([{ from: "a", to: "b" }]);
});

test("members that can start first come first, and numbers in names count as numbers", () => {
  expect(names(inOrder(DIAMOND, shapeOf(DIAMOND)))).toEqual(["alone", "fetch", "a", "b", "report", "done"]);
  const chunks = [member("chunk-10"), member("chunk-9")];
  expect(names(inOrder(chunks, shapeOf(chunks)))).toEqual(["chunk-9", "chunk-10"]);
});

test("what a member waits for, and what waits for it", () => {
  const [report, fetch, , , , done] = DIAMOND as [(typeof DIAMOND)[0], (typeof DIAMOND)[0], ...typeof DIAMOND];
  expect(names(membersBefore(report, DIAMOND))).toEqual(["a", "b"]);
  expect(names(membersBefore(done!, DIAMOND))).toEqual(["report", "fetch", "a", "b", "alone"]);
  expect(names(membersAfter(fetch, DIAMOND))).toEqual(["a", "b", "done"]);
  expect(membersAfter(done!, [...DIAMOND, last("other")])).toEqual([]);
});

test("some hundreds of members are drawn, unless their edges cross too much", () => {
  const fan = [member("first"), ...Array.from({ length: 299 }, (_, index) => member(`m${index}`, "first"))];
  expect(isDrawable(shapeOf(fan))).toBe(true);
  expect(isTall(shapeOf(fan))).toBe(true);
  expect(isTall(shapeOf(fan.slice(0, 41)))).toBe(false);
  expect(isDrawable(shapeOf([...fan, member("one more")]))).toBe(false);
  expect(isDrawable(shapeOf([]))).toBe(false);
  const before = (index: number): string[] => Array.from({ length: index }, (_, other) => `m${other}`);
  const dense = Array.from({ length: 60 }, (_, index) => member(`m${index}`, ...before(index)));
  expect(isDrawable(shapeOf(dense))).toBe(false);
});
