import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { admin, type RedisServer, startRedis, startRedisCluster } from "../../../servers/redis.ts";
import { claim, claimOf, DONE, jobOf, openAt, prefix, settlementOf } from "./open.ts";
import { Proxy } from "./proxy.ts";

/** Resolves when a work hint for the queue is heard. */
function workIn(store: Store, queue: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.watch((hint) => {
      if (hint.topic !== "work" || hint.queue !== queue) return;
      stop();
      resolve();
    });
  });
}

describe("an answer that is lost on its way", () => {
  let server: RedisServer;
  let proxy: Proxy;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await Proxy.to(server.ports[0]!);
  });
  afterAll(async () => {
    proxy.close();
    await server.stop();
  });

  test("S39: of an insert: the job is there once, and its caller knows", async () => {
    const store = await openAt(proxy.url);
    await store.insert([jobOf()]);
    const job = jobOf({ idempotencyKey: "k" });
    const lost = proxy.swallowAnswerTo(/evalsha/i);
    expect(await store.insert([job])).toMatchObject([{ kind: "created", status: "pending" }]);
    await lost;
    expect((await store.queues())[0]!.counts).toEqual([{ status: "pending", level: "default", count: 2 }]);
    await store.close();
  });

  test("of a claim: the jobs that it was granted are given again, and no others", async () => {
    const store = await openAt(proxy.url);
    const jobs = Array.from({ length: 4 }, () => jobOf());
    await store.insert(jobs);
    await claim(store, { limit: 1 }); // the script is known from here on
    const lost = proxy.swallowAnswerTo(/evalsha/i);
    const leases = await claim(store, { limit: 2 });
    await lost;
    expect(leases.map(({ id, fence, attempt }) => [id, fence, attempt])).toEqual(jobs.slice(1, 3).map(({ id }) => [id, 1, 1]));
    const counts = (await store.queues())[0]!.counts.map(({ status, count }) => [status, count]);
    expect(Object.fromEntries(counts)).toEqual({ running: 3, pending: 1 });
    await store.close();
  });

  test("S08: of a settlement with a claim: it counts once, and the claim is answered", async () => {
    const store = await openAt(proxy.url);
    await store.insert([jobOf(), jobOf()]);
    const [first] = await claim(store, { limit: 1 });
    const lost = proxy.swallowAnswerTo(/evalsha/i);
    const { settled, claimed } = await store.exchange([settlementOf(first!, DONE)], [claimOf({ limit: 1 })]);
    await lost;
    expect(settled).toEqual(["ok"]);
    expect(claimed[0]).toHaveLength(1);
    const { rows } = await store.counters({ step: "all" });
    expect(rows[0]!.counts).toMatchObject({ completed: 1 });
    await store.close();
  });

  test("a claim that is told to be a repeat gets what its turn was granted, or claims anew if that was nothing", async () => {
    const store = await openAt(server.url);
    await store.insert([jobOf(), jobOf({ queue: "b" }), jobOf({ queue: "b" })]);
    const turn = claimOf({ queues: ["default", "b"], limit: 2 });
    const { claimed } = await store.exchange([], [turn]);
    const again = await store.exchange([], [{ ...turn, again: true }]);
    const ids = (leases: readonly { id: string }[]): string[] => leases.map(({ id }) => id).sort();
    expect(ids(again.claimed[0]!)).toEqual(ids(claimed[0]!));
    expect((await store.exchange([], [claimOf({ queues: ["b"], again: true })])).claimed[0]).toHaveLength(1);
    await store.close();
  });

  test("S20: a wire that hangs fails calls at their deadline, and the next ones work when it is healed", async () => {
    const store = await openAt(proxy.url, 300);
    await store.insert([jobOf()]);
    proxy.hang();
    await expect(store.insert([jobOf()])).rejects.toMatchObject({ code: "store_unavailable" });
    proxy.heal();
    await expect
      .poll(
        () =>
          claim(store).then(
            (leases) => leases.length > 0,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    await store.close();
  });

  test("S21: hints are heard again after the connection for them was cut", async () => {
    const name = prefix();
    const hearer = await openRedisStore(`${proxy.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    const teller = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    const first = workIn(hearer, "mail");
    await teller.insert([jobOf({ queue: "mail" })]);
    await first;
    const gap = new Promise<void>((resolve) => hearer.watch((hint) => hint.topic === "schedules" && resolve()));
    proxy.cut();
    await gap; // everybody is told to look
    const second = workIn(hearer, "mail");
    await teller.insert([jobOf({ queue: "mail" })]);
    await second;
    await Promise.all([hearer.close(), teller.close()]);
  });
});

describe("a server that is killed", () => {
  test("S22: comes back with every job that was accepted, and calls made meanwhile wait for it", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-redis-kept-"));
    let server = await startRedis({ appendOnly: "always", folder });
    const port = server.ports[0]!;
    const store = await openAt(server.url);
    const accepted: string[] = [];
    const over = new AbortController();
    const producing = (async () => {
      while (!over.signal.aborted) {
        const jobs = [jobOf(), jobOf()];
        await store.insert(jobs);
        accepted.push(...jobs.map(({ id }) => id));
      }
    })();
    for (let kill = 0; kill < 3; kill++) {
      await expect.poll(() => accepted.length, { timeout: 20_000 }).toBeGreaterThan(200 * (kill + 1));
      await server.stop();
      server = await startRedis({ appendOnly: "always", folder, port });
    }
    over.abort();
    await producing;
    const found: (string | undefined)[] = [];
    for (let from = 0; from < accepted.length; from += 1_000) {
      found.push(...(await store.find(accepted.slice(from, from + 1_000))).map((job) => job?.id));
    }
    expect(found).toEqual(accepted);
    await store.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("S23: may be down when the store is opened, if it comes up before the deadline", async () => {
    const first = await startRedis();
    const [port] = first.ports;
    await first.stop();
    const opening = openAt(first.url);
    const server = await startRedis({ port: port! });
    const store = await opening;
    expect(await store.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
    await store.close();
    await server.stop();
  });
});

describe("a Cluster", () => {
  test(
    "is refused when one of its nodes evicts keys, and calls outlast the loss of connections to its nodes",
    { timeout: 60_000 },
    async () => {
      const server = await startRedisCluster();
      const [port] = server.ports;
      await admin(port!, (redis) => redis.config("SET", "maxmemory-policy", "volatile-lru"));
      await expect(openAt(server.url)).rejects.toMatchObject({ code: "unsupported_store" });
      await admin(port!, (redis) => redis.config("SET", "maxmemory-policy", "noeviction"));
      const store = await openAt(server.url);
      const queues = Array.from({ length: 30 }, (_, index) => `q${index}`);
      for (const node of server.ports) {
        await admin(node, (redis) => redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
        const answers = await store.insert(queues.map((queue) => jobOf({ queue })));
        expect(answers.filter(({ kind }) => kind !== "created")).toEqual([]);
      }
      expect(await claim(store, { queues, limit: 1_000 })).toHaveLength(90);
      await store.close();
      await server.stop();
    },
  );

  test(
    "that moves the slot of a queue, key by key, loses and doubles nothing: calls wait until it is done",
    { timeout: 60_000 },
    async () => {
      const server = await startRedisCluster();
      const store = await openAt(server.url);
      const jobs = Array.from({ length: 20 }, (_, index) => jobOf({ queue: "moving", type: `t${index % 3}` }));
      await store.insert(jobs);
      const slot = String(await admin(server.ports[0]!, (redis) => redis.cluster("KEYSLOT", `{${partitionOf("moving")}}`)));
      const keysOn = (port: number): Promise<string[]> =>
        admin(port, (redis) => redis.call("CLUSTER", "GETKEYSINSLOT", slot, "1000")) as Promise<string[]>;
      const holders = await Promise.all(server.ports.map(async (port) => ({ port, keys: await keysOn(port) })));
      const from = holders.find(({ keys }) => keys.length > 0)!.port;
      const to = server.ports.find((port) => port !== from)!;
      const idOf = (port: number): Promise<string> => admin(port, (redis) => redis.call("CLUSTER", "MYID")) as Promise<string>;
      const [fromId, toId] = await Promise.all([idOf(from), idOf(to)]);
      await admin(to, (redis) => redis.call("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId));
      await admin(from, (redis) => redis.call("CLUSTER", "SETSLOT", slot, "MIGRATING", toId));

      const late = jobOf({ queue: "moving" });
      let isDone = false;
      const inserting = store.insert([late]).finally(() => (isDone = true));
      const claiming = claim(store, { queues: ["moving"], limit: 5 }).finally(() => (isDone = true));
      for (const key of await keysOn(from)) {
        await admin(from, (redis) => redis.call("MIGRATE", "127.0.0.1", String(to), key, "0", "5000"));
        expect(isDone).toBe(false);
      }
      for (const port of [to, from]) await admin(port, (redis) => redis.call("CLUSTER", "SETSLOT", slot, "NODE", toId));

      expect(await inserting).toMatchObject([{ kind: "created" }]);
      const leases = [...(await claiming), ...(await claim(store, { queues: ["moving"] }))];
      expect(leases.map(({ id }) => id)).toEqual([...jobs, late].map(({ id }) => id));
      expect((await store.queues())[0]!.counts).toEqual([{ status: "running", level: "default", count: 21 }]);
      await store.close();
      await server.stop();
    },
  );
});
