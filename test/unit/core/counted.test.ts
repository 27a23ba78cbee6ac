import { expect, test } from "vitest";
import { count, counted } from "../../../src/core/counted.ts";

test.each([
  [count(0), "0"],
  [count(999), "999"],
  [count(1000), "1,000"],
  [count(1234567), "1,234,567"],
  [counted(0, "job"), "0 jobs"],
  [counted(1, "job"), "1 job"],
  [counted(2000, "job"), "2,000 jobs"],
  [counted(1, "dead letter waits", "dead letters wait"), "1 dead letter waits"],
  [counted(2, "dead letter waits", "dead letters wait"), "2 dead letters wait"],
])("%s", (shown, wanted) => {
  expect(shown).toBe(wanted);
});
