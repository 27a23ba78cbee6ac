import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { MAX_TYPES_COUNTED } from "../../../../src/core/counters.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { VirtualClock } from "../../../../src/testing/virtual-clock.ts";
import { openIoredis } from "../../../../src/store/redis/ioredis-driver.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import type { Store } from "../../../../src/store/store.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { admin, type RedisServer, startRedis } from "../../../servers/redis.ts";
import { claim, claimOf, DONE, elsewhere, jobOf, openAt, prefix, settlementOf } from "./open.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

const run = <Answer>(command: string, ...args: string[]): Promise<Answer> =>
  admin(server.ports[0]!, (redis) => redis.call(command, ...args)) as Promise<Answer>;

const scriptsCalled = async (): Promise<number> =>
  Number(/cmdstat_evalsha:calls=(\d+)/.exec(await run<string>("INFO", "commandstats"))![1]);

describe("a claim that arrives after the store has made it again", () => {
  async function overWire(): Promise<{ wire: TcpProxy; store: Store }> {
    const wire = await TcpProxy.to(server.ports[0]!);
    const store = await openAt(`redis://127.0.0.1:${wire.port}`);
    onTestFinished(async () => {
      await store.close();
      wire.close();
    });
    return { wire, store };
  }

  test("takes nothing: nobody waits for its answer", async () => {
    const { wire, store } = await overWire();
    await store.insert(Array.from({ length: 20 }, () => jobOf()));
    const delayed = wire.delayRequest(/far-away/);
    const claimed = claim(store, { workerId: "far-away", limit: 5 });
    const arrive = await delayed;
    expect(await claimed).toHaveLength(5);
    await arrive();
    expect((await store.queues())[0]!.counts).toMatchObject([
      { status: "pending", count: 15 },
      { status: "running", count: 5 },
    ]);
  });

  test("gets the jobs of the first try, and what it settled counts once, if only the answer was lost", async () => {
    const { wire, store } = await overWire();
    await store.insert(Array.from({ length: 20 }, () => jobOf()));
    const held = await claim(store, { workerId: "far-away", limit: 5 });
    const swallowed = wire.swallowAnswerTo(/far-away/);
    const ends = held.map((lease) => settlementOf(lease, DONE));
    const exchanged = store.exchange(ends, [claimOf({ workerId: "far-away", limit: 7 })]);
    await swallowed;
    const { settled, claimed } = await exchanged;
    expect(settled).toEqual(held.map(() => "ok"));
    expect(claimed[0]).toMatchObject(Array.from({ length: 7 }, () => ({ status: "running", attempt: 1, fence: 1, workerId: "far-away" })));
    expect((await store.queues())[0]!.counts).toMatchObject([
      { status: "pending", count: 8 },
      { status: "running", count: 7 },
      { status: "completed", count: 5 },
    ]);
  });

  test("bars no later look of the same turn, of which a long poll makes several", async () => {
    const { wire, store } = await overWire();
    const look = { workerId: "far-away", limit: 5, turn: 7 };
    const swallowed = wire.swallowAnswerTo(/far-away/);
    const looked = claim(store, look);
    await swallowed;
    expect(await looked).toEqual([]);
    await store.insert([jobOf(), jobOf()]);
    expect(await claim(store, look)).toHaveLength(2);
  });
});

describe("opening", () => {
  test("C04: a server that evicts keys is refused, with the command that mends it", async () => {
    await run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(openAt(server.url)).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("CONFIG SET maxmemory-policy noeviction") as string,
    });
    await run("CONFIG", "SET", "maxmemory-policy", "noeviction");
  });

  test("a server that is not there fails with store_unavailable at the deadline", async () => {
    await expect(openAt("redis://127.0.0.1:1", 200)).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("a wrong password fails without waiting for the deadline, and is not shown", async () => {
    await run("ACL", "SETUSER", "ann", "on", ">right", "~*", "&*", "+@all");
    const url = server.url.replace("//", "//ann:wrong@");
    const failure = openAt(url, 3_600_000);
    await expect(failure).rejects.toMatchObject({ code: "store_unavailable", message: expect.stringContaining("WRONGPASS") as string });
    await expect(failure).rejects.toMatchObject({ message: expect.not.stringContaining("wrong@") as string });
    await (await openAt(server.url.replace("//", "//ann:right@"))).close();
  });

  test("nothing is sent before the login is accepted: after a refused one it would run as the default user", async () => {
    const wire = await TcpProxy.to(server.ports[0]!);
    const loggingIn = wire.stallAt(/auth/i);
    const driver = await openIoredis(parseRedisUrl(`redis://ann:wrong@127.0.0.1:${wire.port}`), 5_000);
    onTestFinished(() => {
      driver.close();
      wire.close();
    });
    await loggingIn;
    for (const call of [() => driver.info(), () => driver.command("info", []), () => driver.command("client", ["id"])]) {
      await expect(call()).rejects.toThrow("Stream isn't writeable");
    }
  });

  test("a database that the server does not have is refused: ioredis would use database 0 instead", async () => {
    await expect(openAt(`${server.url}/99`, 3_600_000)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("DB index is out of range") as string,
    });
  });

  test("a user who may not ask for INFO is taken, with a warning", async () => {
    await run("ACL", "SETUSER", "bob", "on", ">pw", "~*", "&*", "+@all", "-info");
    const warnings: string[] = [];
    const url = `${server.url.replace("//", "//bob:pw@")}?prefix=${prefix()}`;
    const store = await openRedisStore(url, { clock: systemClock, deadlineMs: 5_000, onWarning: (message) => warnings.push(message) });
    await store.insert([jobOf()]);
    await store.close();
    expect(warnings).toEqual([expect.stringContaining("noeviction")]);
  });
});

describe("a server whose policy becomes evicting while we run", () => {
  test("is said with the words of the start, takes nothing new, and is used again once it is mended", async () => {
    const warnings: string[] = [];
    const clock = new VirtualClock(Date.now());
    const url = `${server.url}?prefix=${prefix()}`;
    const store = await openRedisStore(url, { clock, deadlineMs: 5_000, onWarning: (message) => warnings.push(message) });
    await store.insert([jobOf()]);
    const [lease] = await claim(store);
    await run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await clock.advance("1m");
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining("CONFIG SET maxmemory-policy noeviction")]));
    const refusal = { code: "unsupported_store", message: warnings[0] };
    await expect(store.insert([jobOf()])).rejects.toMatchObject(refusal);
    await expect(claim(store)).rejects.toMatchObject(refusal);
    expect((await store.exchange([settlementOf(lease!, DONE)], [])).settled).toEqual(["ok"]);
    await run("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await vi.waitFor(async () => {
      await clock.advance("5s");
      await store.insert([jobOf()]);
    });
    expect(warnings).toHaveLength(1);
    await store.close();
  });

  test("is noticed at a reconnect", async () => {
    const warnings: string[] = [];
    const url = `${server.url}?prefix=${prefix()}`;
    const store = await openRedisStore(url, { clock: systemClock, deadlineMs: 5_000, onWarning: (message) => warnings.push(message) });
    await run("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
    await run("CLIENT", "KILL", "TYPE", "normal");
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining("volatile-ttl")]), { timeout: 10_000 });
    await run("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await store.close();
  });
});

describe("a server that does not let us look at its policy", () => {
  test("is asked once a minute, as one that is well", async () => {
    await run("ACL", "SETUSER", "eve", "on", ">pw", "~*", "&*", "+@all", "-info");
    const denials = async (): Promise<number> =>
      Number(/cmdstat_info:.*rejected_calls=(\d+)/.exec(await run<string>("INFO", "commandstats"))?.[1] ?? 0);
    const clock = new VirtualClock(Date.now());
    const store = await openRedisStore(`${server.url.replace("//", "//eve:pw@")}?prefix=${prefix()}`, { clock, deadlineMs: 5_000 });
    // The driver asks, too, for each connection that it makes.
    const before = await denials();
    await clock.advance("1m");
    // The answer to a call on the same connection comes after that to the look.
    await store.insert([jobOf()]);
    expect(await denials()).toBe(before + 1);
    await clock.advance("59s");
    await store.insert([jobOf()]);
    expect(await denials()).toBe(before + 1);
    await clock.advance("1s");
    await store.insert([jobOf()]);
    expect(await denials()).toBe(before + 2);
    await store.close();
  });
});

describe("a server", () => {
  test("S24: that forgets its scripts again and again fails no call", async () => {
    const store = await openAt(server.url);
    const over = new AbortController();
    const forgetting = admin(server.ports[0]!, async (redis) => {
      while (!over.signal.aborted) await redis.script("FLUSH");
    });
    for (let round = 0; round < 200; round++) {
      await store.insert([jobOf()]);
      const leases = await claim(store);
      expect(leases).toHaveLength(1);
      await store.exchange(
        leases.map((lease) => settlementOf(lease, DONE)),
        [],
      );
    }
    over.abort();
    await forgetting;
    expect((await store.queues())[0]!.counts).toEqual([{ status: "completed", level: "default", count: 200 }]);
    await store.close();
  });

  test("C05: without memory refuses jobs and leaves nothing of them; what runs can be ended, renewed, removed", async () => {
    const store = await openAt(server.url);
    await store.insert([jobOf(), jobOf(), jobOf(), jobOf({ delayMs: 1 })]);
    const [one, two, three] = await claim(store);
    await run("CONFIG", "SET", "maxmemory", "1mb");
    try {
      const refused = [jobOf({ idempotencyKey: "k", payload: JSON.stringify("x".repeat(1_000)) }), jobOf({ queue: "unheard-of" })];
      for (const job of refused) await expect(store.insert([job])).rejects.toMatchObject({ code: "store_full" });
      expect(await store.extend([{ id: one!.id, fence: one!.fence, leaseMs: 60_000 }])).toEqual(["ok"]);
      expect(await store.note([{ id: one!.id, fence: one!.fence, progress: { percent: 1, note: null }, lines: ["still here"] }])).toEqual([
        "ok",
      ]);
      const { settled } = await store.exchange([settlementOf(one!, DONE), settlementOf(two!, { kind: "release" })], []);
      expect(settled).toEqual(["ok", "ok"]);
      expect(await claim(store)).toMatchObject([{ id: two!.id }]);
      expect(await store.remove([one!.id], ["completed"])).toMatchObject([{ kind: "ok" }]);
      await store.configure("default", { paused: true });
      expect((await store.find([...refused.map(({ id }) => id), three!.id])).map((job) => job?.id ?? null)).toEqual([
        null,
        null,
        three!.id,
      ]);
    } finally {
      await run("CONFIG", "SET", "maxmemory", "0");
    }
    expect((await store.queues()).map(({ name }) => name)).toEqual(["default"]);
    expect(await store.insert([jobOf({ idempotencyKey: "k", payload: '"other"' })])).toMatchObject([{ kind: "created" }]);
    await store.close();
  });

  test("holds a job that was never lost as 0.1 held it, so that what 0.1 stored is read as it is", async () => {
    const name = prefix();
    const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    const error = { name: "Error", message: "no", stack: null, kind: "error" } as const;
    const jobs = [jobOf(), jobOf({ maxRetries: 0, maxLost: 0 })];
    await store.insert(jobs);
    const leases = await claim(store);
    await store.exchange([settlementOf(leases[0]!, { kind: "failed", error, runMs: 1 })], []);
    const [bodies] = await run<string[]>("KEYS", `${name}:*:j:*`);
    for (const body of await run<string[]>("HVALS", bodies!)) expect(body).not.toContain("maxLost");
    const [records] = await run<string[]>("KEYS", `${name}:*:s:*`);
    // Retries were two bytes, of which the first was always 0: it counts losses now.
    const read = "local all = {} for i, r in ipairs(redis.call('HVALS', KEYS[1])) do all[i] = struct.unpack('>I2', r, 22) end return all";
    const retries = await run<number[]>("EVAL", read, "1", records!);
    expect(retries.sort((one, other) => one - other)).toEqual([0, 1]);
    expect(await store.find(jobs.map(({ id }) => id))).toMatchObject([
      { retryCount: 1, maxLost: 3, lostCount: 0 },
      { retryCount: 0, maxLost: 0, lostCount: 0 },
    ]);
    await store.close();
  });

  test("counts the first types of a queue on their own, even if an older version made more and did not number them", async () => {
    const name = prefix();
    const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    const types = Array.from({ length: MAX_TYPES_COUNTED + 3 }, (_, index) => `type-${index}`);
    await store.insert(types.map((type) => jobOf({ type })));
    // As an older version leaves it.
    await run("HDEL", `${name}:{${partitionOf("default")}}:qs:default`, "types", "lastTyped");
    await store.insert([...types, "late", "later"].map((type) => jobOf({ type })));
    const { rows } = await store.counters({ step: "all", byType: true });
    expect(new Set(rows.map(({ type }) => type))).toEqual(new Set([...types.slice(0, MAX_TYPES_COUNTED), null]));
    expect(rows.find(({ type }) => type === null)!.counts).toEqual({ enqueued: 3 + 3 + 2 });
    await store.close();
  });

  test("S03: that lost its list of leases gets it back by a sweep in few calls, and the jobs are reclaimed", async () => {
    const name = prefix();
    const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    // Several buckets, and more jobs than one call looks at.
    await store.insert(Array.from({ length: 1_200 }, (_, index) => (index < 1_000 ? jobOf() : elsewhere(jobOf(), index))));
    const leases = (await Promise.all([1, 2, 3].map(() => claim(store, { leaseMs: 1, limit: 500 })))).flat();
    expect(leases).toHaveLength(1_200);
    const [key] = await run<string[]>("KEYS", `${name}:*:r`);
    await run("DEL", key!);
    expect((await store.expired(10)).jobs).toEqual([]);
    const before = await scriptsCalled();
    await store.sweep({ minutesMs: 3_600_000, hoursMs: 3_600_000 }, 100);
    expect((await scriptsCalled()) - before).toBeLessThan(30);
    expect((await store.expired(2_000)).jobs.map(({ id }) => id).sort()).toEqual(leases.map(({ id }) => id).sort());
    await store.close();
  });

  test("keeps all names under the prefix, without a slash", async () => {
    const name = prefix();
    const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    await server.empty();
    await store.insert([jobOf({ idempotencyKey: "k" }), jobOf({ delayMs: 1_000, queue: "a.b:c", facets: { "a/b": "c/d" } })]);
    await store.register(
      {
        id: "w",
        host: "h",
        pid: 1,
        state: "idle",
        slots: 1,
        queues: [],
        types: "*",
        startedAt: 0,
        running: [],
        runningCount: 0,
        processed: 0,
        perMinute: 0,
        abandoned: 0,
      },
      1_000,
    );
    const keys = await run<string[]>("KEYS", "*");
    expect(keys.length).toBeGreaterThan(10);
    expect(keys.filter((key) => !key.startsWith(`${name}:`) || key.includes("/"))).toEqual([]);
    await store.close();
  });

  test("C01: is as empty as before when all jobs were pruned", async () => {
    await server.empty();
    const store = await openAt(server.url);
    const round = async (): Promise<void> => {
      await store.insert(Array.from({ length: 500 }, (_, index) => jobOf({ facets: { customer: `${index}`, region: "eu" } })));
      for (let leases = await claim(store); leases.length > 0; leases = await claim(store)) {
        await store.exchange(
          leases.map((lease) => settlementOf(lease, DONE)),
          [],
        );
      }
      while ((await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 1_000)).removed > 0);
    };
    await round();
    const before = await run<string[]>("KEYS", "*");
    await round();
    await round();
    // A minute or an hour may have begun meanwhile.
    const lasting = (keys: string[]): string[] => keys.filter((key) => !/:[mh]:\d+:/.test(key)).sort();
    expect(lasting(await run<string[]>("KEYS", "*"))).toEqual(lasting(before));
    expect(lasting(before).filter((key) => /:(j:.*|s:.*|w:.*|r|e:.*|i:.*|g|p:.*)$/.test(key))).toEqual([]);
    await store.close();
  });
});
