import { expect, test } from "vitest";
import { sharedRun } from "../../../src/lib/shared-run.ts";

/** A run that ends when the test says so. */
function held(): { ask: () => Promise<number>; runs: PromiseWithResolvers<number>[] } {
  const runs: PromiseWithResolvers<number>[] = [];
  const ask = sharedRun(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  return { ask, runs };
}

test("those who ask at one time share a run, and who comes after its end starts another", async () => {
  const { ask, runs } = held();
  const [one, two] = [ask(), ask()];
  expect(runs).toHaveLength(1);
  runs[0]!.resolve(1);
  expect(await Promise.all([one, two])).toEqual([1, 1]);
  const three = ask();
  runs[1]!.resolve(2);
  expect(await three).toBe(2);
});

test("a run that fails fails for all who share it, and not for those after them", async () => {
  const { ask, runs } = held();
  const both = Promise.allSettled([ask(), ask()]);
  runs[0]!.reject(new Error("away"));
  expect(await both).toMatchObject([{ reason: { message: "away" } }, { reason: { message: "away" } }]);
  const next = ask();
  runs[1]!.resolve(2);
  expect(await next).toBe(2);
});
