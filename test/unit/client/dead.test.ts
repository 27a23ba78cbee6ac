import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { claim, die, listenTo, openClient } from "./open-client.ts";

async function killAll(client: Client, types: readonly string[]): Promise<void> {
  await client.enqueueMany(types.map((type) => ({ type })));
  const { jobs } = await claim(client, 1000);
  const error = { name: "Error", message: "boom", stack: null, kind: "error" } as const;
  await client.leases.exchange(
    jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "discard", error, runMs: 1 } as const })),
    null,
  );
}

describe("dead letters", () => {
  test("are listed apart from all else, by page and filter", async () => {
    const { client } = await openClient();
    await killAll(client, ["a", "b", "a"]);
    await client.enqueue("alive");
    expect((await client.dead.list()).jobs.map((job) => job.type)).toEqual(["a", "b", "a"]);
    expect((await client.dead.list({ type: "b" })).jobs).toHaveLength(1);
    const page = await client.dead.list({ limit: 2 });
    expect((await client.dead.list({ limit: 2, cursor: page.cursor })).jobs).toHaveLength(1);
    expect(page.jobs[0]!.error).toMatchObject({ message: "boom" });
  });

  test("are grouped as far as a list looks, and then every count means at least", async () => {
    const { client } = await openClient();
    const found = (q: string) => client.dead.groups({ q });
    for (let round = 0; round < 10; round++)
      await killAll(
        client,
        Array.from({ length: 1000 }, () => "many"),
      );
    expect(await found("boom")).toMatchObject({ isCapped: false, hasMore: false, groups: [{ count: 10_000, types: ["many"] }] });
    await killAll(client, ["one", "two"]);
    expect(await found("boom")).toMatchObject({ isCapped: true, groups: [{ count: 10_000 }] });
    expect(await found("two")).toMatchObject({ isCapped: true, groups: [{ count: 1, types: ["two"] }] });
    const group = (await client.dead.groups()).groups[0]?.group;
    expect(await client.dead.groups({ group })).toMatchObject({ isCapped: true, hasMore: false, groups: [{ group, count: 10_000 }] });
    expect(await client.dead.groups({ group: "0123456789ab" })).toMatchObject({ groups: [] });
  });

  test("are retried by filter, and counted", async () => {
    const { client, store } = await openClient();
    await killAll(client, ["a", "b", "a"]);
    const heard = listenTo(store);
    expect(await client.dead.retry({ type: "a" })).toBe(2);
    expect(heard.map((event) => event.event)).toEqual(["job:retried", "job:retried"]);
    expect(await client.dead.retry()).toBe(1);
    expect(await client.dead.retry()).toBe(0);
    expect((await client.queues())[0]!.counts).toMatchObject({ pending: 3, dead: 0 });
  });

  test("that were purged before something failed are in the audit", async () => {
    const { client, store } = await openClient();
    for (let round = 0; round < 2; round++)
      await killAll(
        client,
        Array.from({ length: 700 }, () => "a"),
      );
    const remove = store.remove.bind(store);
    let calls = 0;
    Object.assign(store, {
      remove: (...args: Parameters<typeof remove>) => (++calls > 1 ? Promise.reject(new Error("away")) : remove(...args)),
    });
    await expect(client.dead.purge({}, { by: "ann" })).rejects.toThrow("away");
    expect((await client.audit()).entries).toMatchObject([{ action: "dead:purged", by: "ann", details: "jobs=1000" }]);
  });

  test("are purged, over as many pages as there are", async () => {
    const { client } = await openClient();
    for (let round = 0; round < 3; round++)
      await killAll(
        client,
        Array.from({ length: 900 }, () => "a"),
      );
    await client.enqueue("alive");
    expect(await client.dead.purge()).toBe(2700);
    expect((await client.list()).jobs.map((job) => job.type)).toEqual(["alive"]);
  });

  test("that somebody else retried meanwhile are left alone and not counted", async () => {
    const { client, store } = await openClient();
    await killAll(client, ["a", "b"]);
    const list = store.list.bind(store);
    store.list = async (query) => {
      const page = await list(query);
      if (query.limit === 1000) await client.retry(page.jobs[0]!.id);
      return page;
    };
    expect(await client.dead.retry()).toBe(1);
  });

  test("that die again during the walk do not make it endless", async () => {
    const { client, store } = await openClient();
    await client.enqueue("t");
    await die(client);
    const change = store.change.bind(store);
    let rounds = 0;
    store.change = async (ids, move) => {
      const answers = await change(ids, move);
      if (++rounds < 5) await die(client);
      return answers;
    };
    expect(await client.dead.retry()).toBe(1);
    expect(rounds).toBe(1);
  });

  test.each([{ status: "pending" }, { limit: 5 }, { tag: 5 }, { nonsense: 1 }])(
    "refuse the filter %j before anything is done",
    async (filter) => {
      const { client } = await openClient();
      await killAll(client, ["a"]);
      for (const act of ["retry", "purge"] as const) {
        await expect(client.dead[act](filter as never)).rejects.toMatchObject({ code: "invalid_input", field: Object.keys(filter)[0] });
      }
      expect((await client.dead.list()).jobs).toHaveLength(1);
    },
  );
});
