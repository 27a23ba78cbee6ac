import { expect, test } from "vitest";
import { EarliestTold } from "../../../src/lib/earliest-told.ts";

test("a time is news unless others were told of an earlier one that is still to come", () => {
  const told = new EarliestTold();
  expect(told.isNews(1000, 0)).toBe(true);
  expect(told.isNews(1000, 0)).toBe(false);
  expect(told.isNews(2000, 500)).toBe(false);
  expect(told.isNews(100, 500)).toBe(true);
  expect(told.isNews(300, 550)).toBe(false);
  // What they were told has come: they have looked, and what came after that they do not know.
  expect(told.isNews(5000, 600)).toBe(true);
});
