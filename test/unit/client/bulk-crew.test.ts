import { expect, test } from "vitest";
import { BulkCrew } from "../../../src/client/bulk-crew.ts";
import type { WorkerHandle } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";

/** A crew whose operation ends as told, call by call. */
function crewOf(ends: (() => Promise<unknown>)[]): {
  readonly crew: BulkCrew;
  readonly stopped: Promise<void>;
  readonly pauses: () => number;
} {
  const stopped = Promise.withResolvers<void>();
  let pauses = 0;
  const stop = async (): Promise<void> => stopped.resolve();
  const crew = new BulkCrew({
    handler: () => null,
    work: () => ({ stop }) as unknown as WorkerHandle,
    whenEnded: () => ends.shift()!(),
    pause: async () => void pauses++,
  });
  return { crew, stopped: stopped.promise, pauses: () => pauses };
}

const away = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "nobody answers"));

test("a store that is away does not end the work on an operation: it is asked again until the end is known", async () => {
  const left = [away, away, () => Promise.resolve()];
  const { crew, stopped, pauses } = crewOf(left);
  crew.workUntilEnd("a");
  await stopped;
  expect([left.length, pauses()]).toEqual([0, 2]);
});

test.each(["closed", "not_found"] as const)("an operation of which nothing more can be known (%s) is worked no longer", async (code) => {
  const { crew, stopped, pauses } = crewOf([() => Promise.reject(new MillraceError(code, "over"))]);
  crew.workUntilEnd("a");
  await stopped;
  expect(pauses()).toBe(0);
});
