import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { partitionOf } from "../../../../src/core/partition.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../../../src/core/schedule-record.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { Driver } from "../../../../src/store/redis/driver.ts";
import { openIoredis } from "../../../../src/store/redis/ioredis-driver.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { ARRIVE } from "../../../../src/store/redis/statements/schedules.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import type { Store } from "../../../../src/store/store.ts";
import { type RedisServer, startRedis } from "../../../servers/redis.ts";
import { jobOf, openAt, prefix } from "./open.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

function specOf(queue: string): ScheduleSpec {
  const { id: _id, delayMs: _d, runAt: _r, idempotencyKey: _k, keyTtlMs: _t, fingerprint: _f, ...job } = jobOf({ queue });
  return { name: "nightly", timing: { kind: "every", everyMs: 1_000 }, job, catchUp: "one", overlap: "allow", paused: false };
}

async function stored(store: Store): Promise<ScheduleRecord> {
  const [schedule, ...others] = (await store.schedules("all")).schedules;
  expect(others).toEqual([]);
  expect((await store.schedules(["nightly"])).schedules).toEqual([schedule]);
  return schedule!;
}

function tick(store: Store, { name, version, nextTick }: ScheduleRecord, queue: string): Promise<string[]> {
  return store.tick([{ name, version, tick: nextTick, nextTick: nextTick! + 1_000, job: jobOf({ queue }) }]);
}

describe("a schedule whose jobs are to go to another partition", () => {
  test("moves there with its past, ticks there and no longer here", async () => {
    expect(partitionOf("here")).not.toBe(partitionOf("there"));
    const store = await openAt(server.url);
    await store.putSchedule(specOf("here"), 1_000, null);
    const first = await stored(store);
    expect(await tick(store, first, "here")).toEqual(["ticked"]);
    const ticked = await stored(store);
    expect(await store.putSchedule(specOf("there"), 5_000, first.version)).toBe(false);
    expect(await store.putSchedule(specOf("there"), 5_000, ticked.version)).toBe(true);
    const moved = await stored(store);
    expect(moved).toMatchObject({ nextTick: 5_000, lastTick: 1_000, lastJobId: ticked.lastJobId, createdAt: first.createdAt });
    expect([first.version, ticked.version]).not.toContain(moved.version);
    expect(await tick(store, ticked, "here")).toEqual(["stale"]);
    expect(await tick(store, moved, "here")).toEqual(["stale"]);
    expect(await tick(store, moved, "there")).toEqual(["ticked"]);
    expect((await store.dueSchedules(10)).schedules.map(({ name }) => name)).toEqual(["nightly"]);
    await store.close();
  });

  test("moves there and back, is removed, and may begin anew anywhere", async () => {
    const store = await openAt(server.url);
    const versions: number[] = [];
    for (const queue of ["here", "there", "here", "there"]) {
      expect(await store.putSchedule(specOf(queue), 1_000, versions.at(-1) ?? null)).toBe(true);
      versions.push((await stored(store)).version);
    }
    expect(new Set(versions).size).toBe(4);
    expect(await store.removeSchedule("nightly")).toBe(true);
    expect((await store.schedules("all")).schedules).toEqual([]);
    expect(await store.dueSchedules(10)).toMatchObject({ schedules: [], nextInMs: null });
    expect(await store.putSchedule(specOf("here"), 1_000, null)).toBe(true);
    expect(await stored(store)).toMatchObject({ lastTick: null });
    expect(await store.putSchedule(specOf("there"), 1_000, null)).toBe(false);
    await store.close();
  });

  test("is moved by whoever meets it, when the one who began died half way", async () => {
    const url = `${server.url}?prefix=${prefix()}`;
    const dying = await openRedisStore(url, { clock: systemClock, deadlineMs: 5_000, driver: await dyingAt(ARRIVE.sha) });
    await dying.putSchedule(specOf("here"), 9_000, null);
    const before = await stored(dying);
    await expect(dying.putSchedule(specOf("there"), 1_000, before.version)).rejects.toThrow("died");
    const other = await openRedisStore(url, { clock: systemClock, deadlineMs: 5_000 });
    const due = await other.dueSchedules(10);
    expect(due.schedules).toMatchObject([{ name: "nightly", nextTick: 1_000, job: { queue: "there" } }]);
    expect(await tick(other, await stored(other), "there")).toEqual(["ticked"]);
    await Promise.all([dying.close(), other.close()]);
  });
});

/** A driver that fails for good at a script. */
async function dyingAt(sha: string): Promise<Driver> {
  const driver = await openIoredis(parseRedisUrl(server.url), 5_000);
  const command = driver.command.bind(driver);
  driver.command = (name, args) =>
    args[0] === sha ? Promise.reject(Object.assign(new Error("ERR died"), { name: "ReplyError" })) : command(name, args);
  return driver;
}
