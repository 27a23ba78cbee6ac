import { expect, test } from "vitest";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";
import { entryTtlMs } from "../../../src/worker/renewal/beat-times.ts";
import { die, openClient } from "./open-client.ts";

const ENTRY: WorkerEntry = {
  id: "w", host: "h", pid: 1, state: "busy", slots: 2, queues: ["default"], types: ["mail"], startedAt: 0,
  running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0,
}; // prettier-ignore

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
