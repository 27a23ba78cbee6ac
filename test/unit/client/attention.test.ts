import { expect, test } from "vitest";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";
import { entryTtlMs } from "../../../src/worker/renewal/beat-times.ts";
import { die, openClient } from "./open-client.ts";

const ENTRY: WorkerEntry = {
  id: "w", host: "h", pid: 1, state: "busy", slots: 2, queues: ["default"], types: ["mail"], startedAt: 0,
  running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0,
}; // oxfmt-ignore

test("a worker that stops to beat is found silent before its entry expires", async () => {
  const { client, clock } = await openClient();
  await client.leases.register(ENTRY, entryTtlMs(30_000));
  await clock.advance(10_000);
  expect(await client.attention()).toEqual([]);
  await clock.advance(1);
  expect(await client.attention()).toMatchObject([{ code: "worker_silent", count: 1 }]);
});

test("a webhook whose deliveries failed for good is found, although its job is internal", async () => {
  const { client } = await openClient();
  await client.enqueue("t", null, { webhookUrl: "https://example.com/hook" });
  await die(client);
  expect(await client.attention()).toMatchObject([{ code: "dead_jobs", count: 1 }]);
  await die(client, "default~webhooks");
  expect(await client.attention()).toMatchObject([
    { code: "dead_jobs", count: 1 },
    { code: "dead_deliveries", message: "1 webhook was not delivered", count: 1 },
  ]);
});

test("a flow that failed is found, although its job is internal, until it is deleted", async () => {
  const { client, clock } = await openClient({ upkeep: true });
  const { id } = await client.flow([{ name: "fetch", type: "t", payload: null }]);
  await die(client);
  await clock.advance("5s");
  const [dead, failed] = await client.attention();
  expect(dead).toMatchObject({ code: "dead_jobs", count: 1 });
  expect(failed).toMatchObject({ code: "failed_flows", queue: null, count: 1 });
  await client.remove(id);
  expect(await client.attention()).toMatchObject([{ code: "dead_jobs" }]);
});

test("a queue whose next job waits for a limit is not behind; one that a worker could go on with is", async () => {
  const { client, clock, store } = await openClient();
  const beat = (): Promise<void> => store.register({ ...ENTRY, queues: ["mail"] }, 60_000);
  const codes = async (): Promise<string[]> => (await client.attention()).map(({ code }) => code);
  await client.configure("mail", { limits: { running: 1, perKey: { running: 1 } } });
  for (const limitKey of ["acme", "acme", "globex"]) await client.enqueue("mail", null, { queue: "mail", limitKey });
  const claim = { workerId: "w", queues: ["mail"], types: "*", limit: 1, leaseMs: 3_600_000, turn: 1, again: false } as const;
  await client.leases.exchange([], claim);
  await clock.advance("6m");
  await beat();
  expect(await codes()).toEqual([]); // the limit of the queue is reached
  await client.configure("mail", { limits: { running: 5, perKey: { running: 1 } } });
  expect(await codes()).toEqual([]); // that of the key of the next job is
  await client.configure("mail", { limits: { running: 5 } });
  expect(await codes()).toEqual(["queue_behind"]);
  await client.configure("mail", { limits: { rate: "1/d" } });
  await store.exchange([], [{ ...claim, limit: 1, turn: 2, local: true }]);
  expect(await codes()).toEqual([]); // the rate of the queue is used up
});
