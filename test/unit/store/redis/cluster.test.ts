import { describe, expect, test } from "vitest";
import { partitionOf } from "../../../../src/core/partition.ts";
import { admin, startRedisCluster } from "../../../servers/redis.ts";
import { claim, jobOf, openAt } from "./open.ts";

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
