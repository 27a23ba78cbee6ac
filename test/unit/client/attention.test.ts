import { expect, test } from "vitest";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";
import { entryTtlMs } from "../../../src/worker/renewal/beat-times.ts";
import { openClient } from "./open-client.ts";

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
