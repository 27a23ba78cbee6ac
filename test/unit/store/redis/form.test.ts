import { describe, expect, test } from "vitest";
import { RETRY } from "../../../../src/core/lifecycle.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { inspectStore } from "../../../../src/store/open-store.ts";
import type { Driver } from "../../../../src/store/redis/driver.ts";
import { openIoredis } from "../../../../src/store/redis/ioredis-driver.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { FINISH, MOVE } from "../../../../src/store/redis/statements/form.ts";
import type { Script } from "../../../../src/store/redis/statements/script.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import type { Store } from "../../../../src/store/store.ts";
import { contentsOf } from "./contents.ts";
import { claim, DONE, jobOf, prefix, settlementOf } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const open = (name: string, options: { driver?: Driver; onWarning?: (message: string) => void } = {}): Promise<Store> =>
  openRedisStore(`${server().url}?prefix=${name}`, { clock: systemClock, deadlineMs: 10_000, ...options });

const ERROR = { name: "Error", message: "no", stack: null, kind: "error" } as const;

/** Jobs in every state, in two queues, with keys, facets, histories and changes by hand; and a key that outlived its job. */
async function fill(store: Store): Promise<void> {
  await store.insert([jobOf({ idempotencyKey: "gone" })]);
  await store.exchange(
    (await claim(store)).map((lease) => settlementOf(lease, DONE)),
    [],
  );
  await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
  await store.insert(Array.from({ length: 5 }, (_, index) => jobOf({ idempotencyKey: `key-${index}`, facets: { customer: `c${index}` } })));
  const [completed, dead, retrying, changed] = await claim(store);
  const failed = { kind: "failed", error: ERROR, runMs: 1 } as const;
  const noRetries = { maxRetries: 0, retryCount: 0 };
  await store.exchange(
    [
      settlementOf(completed!, DONE),
      settlementOf({ ...dead!, ...noRetries }, failed),
      settlementOf(retrying!, failed),
      settlementOf({ ...changed!, ...noRetries }, failed),
    ],
    [],
  );
  await store.change([changed!.id], RETRY, { action: "retried", by: "ann", reason: null });
  await store.configure("other", { capacity: 10_000 });
  await store.insert([
    jobOf({ delayMs: 60_000 }),
    jobOf({ blocked: true }),
    jobOf({ queue: "other" }),
    ...Array.from({ length: 600 }, (_, index) => jobOf({ payload: `"${"x".repeat(100)}${index}"` })),
  ]);
}

/** What version 0.1 would have stored: no buckets, another name for the settings of a queue, and no word of forms. */
async function toForm1(name: string, partitions = "*"): Promise<void> {
  const base = `${name}:{${partitions}}`;
  if (partitions === "*") await redis().del(`${name}:forms`);
  else await redis().hdel(`${name}:forms`, partitions);
  for (const key of await redis().keys(`${base}:*`)) {
    if (/\}:([jsuk]$|q:)/.test(key)) await redis().del(key);
  }
  for (const key of await redis().keys(`${base}:*`)) {
    if (key.includes("}:qs:")) await redis().rename(key, key.replace("}:qs:", "}:q:"));
    const [, begin, bucket] = /^(.*?\}:)(j|s|uj|k):/.exec(key) ?? [];
    if (bucket === undefined) continue;
    const entries = (await redis().callBuffer("HGETALL", key)) as Buffer[];
    await redis().call("HSET", `${begin}${bucket === "uj" ? "u" : bucket}`, ...entries);
    await redis().del(key);
  }
}

const contents = (name: string): Promise<Record<string, unknown>> => contentsOf(redis(), name);

async function filled(): Promise<string> {
  const name = prefix();
  const store = await open(name);
  await fill(store);
  await store.close();
  return name;
}

/** The names that version 0.1 reads or writes first. */
function oldNames(name: string): string[] {
  return ["default", "other"].flatMap((queue) => ["j", "s", "u", "k", `q:${queue}`].map((key) => `${name}:{${partitionOf(queue)}}:${key}`));
}

const NOTHING_YET = { slots: 1, queues: [], types: "*", startedAt: 0, running: [], runningCount: 0 } as const;
const WORKER = { id: "w", host: "h", pid: 1, state: "idle", ...NOTHING_YET, processed: 0, perMinute: 0, abandoned: 0 } as const;

describe("what version 0.1 stored", () => {
  test("is moved to buckets when the store is opened: nothing is lost, and nothing is left behind", async () => {
    const name = await filled();
    const before = await contents(name);
    await toForm1(name);
    expect(await contents(name)).not.toEqual(before);
    expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 1, wanted: 2 });
    const warnings: string[] = [];
    const store = await open(name, { onWarning: (message) => warnings.push(message) });
    expect(warnings).toEqual([expect.stringContaining("older version")]);
    expect(await contents(name)).toEqual(before);
    expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 2, wanted: 2 });
    expect(await store.insert([jobOf({ idempotencyKey: "gone" }), jobOf({ idempotencyKey: "key-0" })])).toMatchObject([
      { kind: "pruned" },
      { kind: "known" },
    ]);
    expect(await claim(store, { queues: ["default", "other"], limit: 1_000 })).toHaveLength(602);
    await store.close();
  });

  test("is moved by whoever comes next, if a process dies while it moves it", async () => {
    const name = await filled();
    const before = await contents(name);
    await toForm1(name);
    for (const calls of [0, 1, 2, 5]) {
      await expect(open(name, { driver: await driverBefore(MOVE, calls, dies) })).rejects.toThrow("dies here");
      expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 1, wanted: 2 });
    }
    await expect(open(name, { driver: await driverBefore(FINISH, 0, dies) })).rejects.toThrow("dies here");
    const stores = await Promise.all([open(name), open(name)]);
    expect(await contents(name)).toEqual(before);
    for (const store of stores) await store.close();
  });

  test("is out of reach of version 0.1 before the first job is moved: its calls fail before they change anything", async () => {
    const name = await filled();
    await toForm1(name);
    let looks = 0;
    const look = async (): Promise<void> => {
      looks++;
      for (const key of oldNames(name)) await expect(redis().hmget(key, "any")).rejects.toThrow("WRONGTYPE");
    };
    await (await open(name, { driver: await driverBefore(MOVE, "all", look) })).close();
    await look();
    expect(looks).toBeGreaterThan(10);
  });

  test("is moved in steps of limited size", async () => {
    const name = prefix();
    const store = await open(name);
    const payload = `"${"x".repeat(400_000)}"`;
    for (let index = 0; index < 20; index++) await store.insert([jobOf({ payload })]);
    await store.close();
    await toForm1(name);
    let steps = 0;
    const driver = await driverBefore(MOVE, "all", async () => void steps++);
    await (await open(name, { driver })).close();
    // Three jobs a step, and a step for each hash at least.
    expect(steps).toBeGreaterThanOrEqual(20 / 3);
  });

  test("is not moved while a worker of version 0.1 may still use it, even if it has no job left", async () => {
    const name = prefix();
    const store = await open(name);
    await store.configure("default", { capacity: 10 });
    await store.register(WORKER, 60_000);
    await toForm1(name);
    expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 1, wanted: 2 });
    await expect(open(name)).rejects.toMatchObject({ code: "unsupported_store", message: expect.stringContaining("1 worker") as string });
    await store.unregister("w");
    const next = await open(name);
    expect(await next.queues()).toMatchObject([{ name: "default", settings: { capacity: 10 } }]);
    await next.close();
    await store.close();
  });

  test("keeps the settings of a queue whose name is missing among the names of queues", async () => {
    const name = await filled();
    await toForm1(name);
    await redis().srem(`${name}:queues`, "other");
    // Another queue of its partition, so that somebody looks there.
    await redis().sadd(`${name}:queues`, neighbourOf("other"));
    const store = await open(name);
    expect(await store.queues()).toContainEqual(
      expect.objectContaining({ name: "other", settings: expect.objectContaining({ capacity: 10_000 }) }),
    );
    await store.close();
  });

  describe("and stores after a process of this version has opened the store", () => {
    /** A forgotten producer of version 0.1 has enqueued to a queue that nobody used before. A worker of this version runs. */
    async function stray(): Promise<{ name: string; store: Store }> {
      const name = prefix();
      const store = await open(name);
      await store.register(WORKER, 60_000);
      const producer = await open(name);
      await producer.insert([jobOf({ queue: "tenant", idempotencyKey: "one" })]);
      await producer.insert([jobOf({ queue: "tenant", delayMs: 1 })]);
      await producer.close();
      await toForm1(name, String(partitionOf("tenant")));
      return { name, store };
    }

    test("stops no process of this version, and is moved when one opens the store", async () => {
      const { name, store } = await stray();
      const next = await open(name);
      expect(await claim(next, { queues: ["tenant"] })).toHaveLength(1);
      for (const opened of [next, store]) await opened.close();
    });

    test("is moved when a process of this version inserts to that queue", async () => {
      const { store } = await stray();
      expect(await store.insert([jobOf({ queue: "tenant", idempotencyKey: "one" })])).toMatchObject([{ kind: "known" }]);
      expect(await claim(store, { queues: ["tenant"] })).toHaveLength(1);
      await store.close();
    });

    test("is moved by the upkeep of a process that runs, and until then nobody takes or loses anything there", async () => {
      const { store } = await stray();
      expect(await claim(store, { queues: ["tenant"] })).toEqual([]);
      expect(await store.promote(10)).toMatchObject({ moved: 1 });
      expect(await claim(store, { queues: ["tenant"] })).toHaveLength(2);
      await store.close();
    });

    test("is not touched by others while it is half moved, and who needs it helps to move it", async () => {
      const { name, store } = await stray();
      const meanwhile = async (): Promise<void> => {
        expect(await claim(store, { queues: ["tenant"] })).toEqual([]);
        expect(await store.insert([jobOf({ queue: "tenant", idempotencyKey: "one" })])).toMatchObject([{ kind: "known" }]);
        expect(await claim(store, { queues: ["tenant"] })).toHaveLength(1);
      };
      await (await open(name, { driver: await driverBefore(MOVE, 2, meanwhile) })).close();
      expect(await store.promote(10)).toMatchObject({ moved: 1 });
      await store.close();
    });

    test("gets its text also for a queue of this version, so that version 0.1 does not come to know it and empty its line", async () => {
      const name = prefix();
      const store = await open(name);
      await store.insert([jobOf({ queue: "new" })]);
      await expect(redis().hset(`${name}:{${partitionOf("new")}}:q:new`, "known", 1)).rejects.toThrow("WRONGTYPE");
      await store.close();
    });

    test("keeps the settings that version 0.1 gave to a queue of a moved partition", async () => {
      const name = await filled();
      const queue = neighbourOf("default");
      await redis().hset(`${name}:{${partitionOf(queue)}}:q:${queue}`, { known: 1, paused: 1 });
      const store = await open(name);
      await store.insert([jobOf({ queue })]);
      expect(await claim(store, { queues: [queue] })).toEqual([]);
      expect(await store.queues()).toContainEqual(expect.objectContaining({ name: queue, paused: true }));
      expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 2, wanted: 2 });
      await store.close();
    });
  });
});

test("a store whose partitions have the present form is opened without a script", async () => {
  const name = await filled();
  const sent: string[] = [];
  const driver = await watchedDriver(async (command) => void sent.push(command));
  const store = await open(name, { driver });
  expect(sent.filter((command) => command.startsWith("eval"))).toEqual([]);
  await store.close();
});

test("a store of a newer version is refused", async () => {
  const name = await filled();
  await redis().hset(`${name}:forms`, "store", "3");
  await expect(open(name)).rejects.toMatchObject({ code: "unsupported_store" });
  await redis().del(`${name}:forms`);
  for (const key of await redis().keys(`${name}:*:j`)) await redis().set(key, "3");
  await expect(open(name)).rejects.toMatchObject({ code: "unsupported_store" });
  expect((await inspectStore(`${server().url}?prefix=${name}`)).schema).toEqual({ found: 3, wanted: 2 });
});

/** Another queue of the same partition. */
function neighbourOf(queue: string): string {
  for (let number = 0; ; number++) if (partitionOf(`n${number}`) === partitionOf(queue)) return `n${number}`;
}

async function dies(): Promise<never> {
  throw Object.assign(new Error("ERR dies here"), { name: "ReplyError" });
}

/** A driver that does something before a script is called after so many calls of it, or before each. */
function driverBefore(script: Script, calls: number | "all", act: () => Promise<void>): Promise<Driver> {
  let made = 0;
  return watchedDriver(async (command, [digest]) => {
    if (command === "evalsha" && digest === script.sha && (calls === "all" || made++ === calls)) await act();
  });
}

/** A driver that does something before each command. */
async function watchedDriver(watch: (command: string, args: readonly string[]) => Promise<void>): Promise<Driver> {
  const driver = await openIoredis(parseRedisUrl(server().url), 5_000);
  return new Proxy(driver, {
    get(target, property) {
      if (property !== "command") {
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (name: string, args: readonly string[]) => {
        await watch(name, args);
        return target.command(name, args);
      };
    },
  });
}
