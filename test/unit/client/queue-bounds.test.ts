import { describe, expect, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import type { Trouble } from "../../../src/core/trouble.ts";

describe("a default capacity", () => {
  test("holds for every queue that has none, from its first job on", async () => {
    await using client = await connect("memory:", { queueCapacity: 2 });
    const mail = await Promise.allSettled(Array.from({ length: 5 }, () => client.enqueue("t", 1, { queue: "mail" })));
    expect(mail.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected", "rejected"]);
    const many = await client.enqueueMany(Array.from({ length: 3 }, () => ({ type: "t" })));
    expect(many.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect(await client.queues()).toMatchObject([
      { name: "default", capacity: 2 },
      { name: "mail", capacity: 2 },
    ]);
  });

  test("holds for the jobs of a schedule, too", async () => {
    await using client = await connect("memory:", { queueCapacity: 2 });
    await client.schedules.upsert({ name: "tick", every: "1h", type: "t", queue: "ticks" });
    expect(await client.queues()).toMatchObject([{ name: "ticks", capacity: 2 }]);
  });

  test("leaves a queue what it has, and says so once", async () => {
    const told: Trouble[] = [];
    await using client = await connect("memory:", { queueCapacity: 2, onTrouble: (trouble) => void told.push(trouble) });
    await client.configure("mail", { capacity: 3 });
    await client.enqueue("t", 1, { queue: "mail" });
    await client.enqueue("t", 1, { queue: "mail" });
    expect(await client.queues()).toMatchObject([{ name: "mail", capacity: 3 }]);
    expect(told).toMatchObject([{ kind: "setting", message: expect.stringContaining("queue mail keeps its own capacity of 3") as string }]);
  });
});
