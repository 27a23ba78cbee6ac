/** A handler at a durable wait never ends by itself. If its attempt was aborted, nobody waits for it, and its slot is free again. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Context } from "../../../src/client/client.ts";
import { createTestClient, type TestClient } from "../../../src/testing/test-client.ts";
import { openClient } from "../client/open-client.ts";

let client: TestClient;

beforeEach(async () => {
  client = await createTestClient();
});

afterEach(() => client.close());

/** A step that ignores the abort, beside a sleep. What becomes of the step ends nothing. */
function stepBesideSleep(step: Promise<unknown>, settled: unknown[] = []): (payload: unknown, ctx: Context) => Promise<unknown> {
  const note = (how: unknown): unknown => settled.push(how);
  return (_payload, ctx) => Promise.all([ctx.sleep("night", "8h"), ctx.step("slow", () => step).then(note, note)]);
}

test("a step that ends after the timeout, beside a sleep, ends the attempt as timed out", async () => {
  const step = Promise.withResolvers<string>();
  const { id } = await client.enqueue("slow", null, { timeout: "10s", maxRetries: 0 });
  const worker = client.work({ slow: stepBesideSleep(step.promise), quick: () => "ran" }, { concurrency: 1 });
  await client.clock.advance("10s");
  step.resolve("done");
  await client.clock.settle();
  expect(await client.get(id)).toMatchObject({ status: "dead", error: { kind: "timeout" } });
  await client.clock.advance("10s");
  expect([worker.running, worker.abandoned]).toEqual([0, 0]);
  const next = await client.enqueue("quick");
  await client.clock.advance("5s");
  expect(await client.get(next.id)).toMatchObject({ status: "completed" });
});

test("a cancelled one is over when nothing of it runs any more", async () => {
  const step = Promise.withResolvers<string>();
  const { id } = await client.enqueue("slow");
  const worker = client.work({ slow: stepBesideSleep(step.promise) }, { concurrency: 1 });
  await client.clock.advance("1s");
  await client.cancel(id);
  await client.clock.settle();
  step.resolve("done");
  await client.clock.advance("10s");
  expect(await client.get(id)).toMatchObject({ status: "cancelled" });
  expect([worker.running, worker.abandoned]).toEqual([0, 0]);
});

test("one that was abandoned while its step ran comes back when only waits are left", async () => {
  const step = Promise.withResolvers<string>();
  const { id } = await client.enqueue("slow", null, { timeout: "10s", maxRetries: 0 });
  const settled: unknown[] = [];
  const worker = client.work({ slow: stepBesideSleep(step.promise, settled) }, { concurrency: 1 });
  await client.clock.advance("15s");
  expect([(await client.get(id))!.status, worker.abandoned]).toEqual(["dead", 1]);
  step.resolve("done");
  await client.clock.settle();
  expect(settled).toEqual([expect.objectContaining({ code: "stale_lease" })]);
  expect(worker.abandoned).toBe(0);
});

test("the handler of one that is cancelled while its steps are read is not called", async () => {
  const { client: own, store, clock } = await openClient();
  const { id } = await own.enqueue("slow");
  await own.signal(id, "go");
  const answer = Promise.withResolvers<void>();
  const read = store.readSteps.bind(store);
  // It read in time, and its answer is under way for long.
  store.readSteps = async (...args) => {
    const page = await read(...args);
    await answer.promise;
    return page;
  };
  let calls = 0;
  const worker = own.work({ slow: () => void calls++ }, { concurrency: 1 });
  await clock.advance("1s");
  await own.cancel(id);
  await clock.settle();
  answer.resolve();
  await clock.settle();
  expect([calls, worker.running, worker.abandoned]).toEqual([0, 0, 0]);
});

test("one that times out while its steps are read comes back with the answer of the store", async () => {
  const { client: own, store, clock } = await openClient();
  const { id } = await own.enqueue("slow", null, { timeout: "10s", maxRetries: 0 });
  await own.signal(id, "go");
  const answer = Promise.withResolvers<void>();
  const read = store.readSteps.bind(store);
  store.readSteps = async (...args) => answer.promise.then(() => read(...args));
  const worker = own.work({ slow: () => "ran" }, { concurrency: 1 });
  await clock.advance("15s");
  expect([(await own.get(id))!.status, worker.abandoned]).toEqual(["dead", 1]);
  answer.resolve();
  await clock.settle();
  expect(worker.abandoned).toBe(0);
});

test("one that was abandoned, and then ends with its step beside a wait, is counted once", async () => {
  const step = Promise.withResolvers<string>();
  await client.enqueue("slow", null, { timeout: "10s", maxRetries: 0 });
  const slow = (_payload: unknown, ctx: Context): Promise<unknown> =>
    Promise.all([ctx.sleep("night", "8h"), ctx.step("slow", () => step.promise)]);
  const worker = client.work({ slow }, { concurrency: 1 });
  await client.clock.advance("15s");
  expect(worker.abandoned).toBe(1);
  step.resolve("done");
  await client.clock.settle();
  expect(worker.abandoned).toBe(0);
});
