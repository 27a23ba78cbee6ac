import { expect, test } from "vitest";
import { BulkWorker } from "../../../src/client/bulk-worker.ts";
import type { WorkerHandle } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";

/** A worker whose operation ends as told, call by call. */
function workerOf(ends: (() => Promise<unknown>)[]): {
  readonly bulkWorker: BulkWorker;
  readonly stopped: Promise<void>;
  readonly pauses: () => number;
} {
  const stopped = Promise.withResolvers<void>();
  let pauses = 0;
  const stop = async (): Promise<void> => stopped.resolve();
  const bulkWorker = new BulkWorker({
    handler: () => null,
    work: () => ({ stop }) as unknown as WorkerHandle,
    whenEnded: () => ends.shift()!(),
    pause: async () => void pauses++,
  });
  return { bulkWorker, stopped: stopped.promise, pauses: () => pauses };
}

const away = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "nobody answers"));

test("a store that is away does not end the work on an operation: it is asked again until the end is known", async () => {
  const left = [away, away, () => Promise.resolve()];
  const { bulkWorker, stopped, pauses } = workerOf(left);
  bulkWorker.workUntilEnd("a");
  await stopped;
  expect([left.length, pauses()]).toEqual([0, 2]);
});

test.each(["closed", "not_found"] as const)("an operation of which nothing more can be known (%s) is worked no longer", async (code) => {
  const { bulkWorker, stopped, pauses } = workerOf([() => Promise.reject(new MillraceError(code, "over"))]);
  bulkWorker.workUntilEnd("a");
  await stopped;
  expect(pauses()).toBe(0);
});
