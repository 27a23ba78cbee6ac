import { expect, test } from "vitest";
import { casesOf, NAMES, promisesOf } from "./cases.ts";

test("every status and every problem of every route of the contract has a case", () => {
  const promises = NAMES.flatMap(promisesOf);
  const missing = promises.filter((promised) => casesOf(promised).length === 0);
  expect(missing.map(({ name, status, code }) => `${name} ${status ?? code}`)).toEqual([]);
  expect(promises.length).toBeGreaterThan(400);
});
