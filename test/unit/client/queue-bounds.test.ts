import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import type { Trouble } from "../../../src/core/trouble.ts";
import { temporaryFile } from "../store/sqlite/temporary-file.ts";

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

  test.each([
    { what: "an unknown type", type: "typo", payload: 1, options: {}, code: "unknown_type" },
    { what: "a webhook to this machine", type: "t", payload: 1, options: { webhookUrl: "http://127.0.0.1/" }, code: "invalid_input" },
    { what: "a payload that is no request", type: "http:request", payload: 1, options: {}, code: "invalid_input" },
    { what: "a payload that cannot be stored", type: "t", payload: 1n, options: {}, code: "invalid_input" },
  ])("is given to no queue for a job that is refused: $what", async ({ type, payload, options, code }) => {
    await using client = await connect("memory:", { queueCapacity: 2, strictTypes: true });
    await using _worker = client.work({ t: () => {}, "http:request": () => {} });
    const job = { ...options, queue: "typo" };
    await expect(client.enqueue(type, payload, job)).rejects.toMatchObject({ code });
    expect(await client.enqueueMany([{ ...job, type, payload }])).toMatchObject([{ ok: false, error: { code } }]);
    expect(await client.queues()).toEqual([]);
  });

  test("does not stand in the way of a transaction, which leaves it to the next job outside of one", async () => {
    const path = temporaryFile();
    await using client = await connect(`sqlite:${path}`, { queueCapacity: 2 });
    const tx = new DatabaseSync(path);
    tx.exec("begin immediate");
    await client.enqueue("t", 1, { queue: "mail", tx });
    await client.enqueueMany([{ type: "t", queue: "mail" }], { tx });
    tx.exec("commit");
    tx.close();
    expect(await client.queues()).toMatchObject([{ name: "mail", capacity: null }]);
    await expect(client.enqueue("t", 1, { queue: "mail" })).rejects.toMatchObject({ code: "queue_full" });
    expect(await client.queues()).toMatchObject([{ name: "mail", capacity: 2 }]);
  });
});
