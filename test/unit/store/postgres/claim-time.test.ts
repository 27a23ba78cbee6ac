import { expect, test } from "vitest";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

test("a claim that began before a job was stored, and waited, does not start it before its time", async () => {
  const url = freshUrl(server());
  const began = Date.now();
  // The time of a call is that of its beginning. A claim first settles what comes with it, and may have to wait for locked rows.
  const early = await openStoreOn(url, { testTime: () => began });
  const late = await openStoreOn(url, { testTime: () => began + 7 });
  await late.insert([jobOf({}), jobOf({ queue: "other" }, "one"), jobOf({ queue: "other" }, "two")]);
  const { claimed } = await early.exchange([], [claimOf({ turn: 1 }), claimOf({ turn: 2, queues: ["other"] })]);
  expect(claimed.map((jobs) => jobs.length)).toEqual([1, 2]);
  for (const { startedAt, runAt, leaseUntil, updatedAt } of claimed.flat()) {
    expect({ startedAt, updatedAt, leaseUntil }).toEqual({ startedAt: runAt, updatedAt: runAt, leaseUntil: runAt + 30_000 });
  }
});
