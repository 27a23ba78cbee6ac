import { describe, expect } from "vitest";
import { QUEUE_DEFAULTS, QUEUE_SETTINGS, type QueueSetting, settingIn, settingsFrom, type SettingValue } from "../../../src/core/queue.ts";
import type { LeasedRecord } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";

export function queueSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a queue", () => {
    keeps("is known from its first job on, with the defaults", async (world) => {
      expect(await world.store.queues()).toEqual([]);
      await world.add({ queue: "mail" });
      expect(await world.store.queues()).toEqual([
        { name: "mail", settings: QUEUE_DEFAULTS, paused: false, counts: [{ status: "pending", level: "default", count: 1 }] },
      ]);
    });

    keeps("is known from its first setting on, before any job", async (world) => {
      await world.store.configure("mail", { capacity: 5 });
      expect(await world.queue("mail")).toMatchObject({ settings: { ...QUEUE_DEFAULTS, capacity: 5 }, paused: false });
      expect(await world.counts("mail")).toEqual({});
    });

    keeps("stays known when its last job is gone", async (world) => {
      const job = await world.ended("completed", { queue: "mail" });
      await world.remove(job.id);
      expect((await world.queue("mail")).name).toBe("mail");
      expect(await world.counts("mail")).toEqual({});
    });

    keeps("is not made known by a job that was refused for want of room", async (world) => {
      await world.store.configure("small", { capacity: 0 });
      await world.insert(world.job({ queue: "small" }));
      expect((await world.store.queues()).map(({ name }) => name)).toEqual(["small"]);
      expect(await world.counts("small")).toEqual({});
      expect(await world.total("enqueued", "small")).toBe(0);
    });

    keeps("changes only the parts of a retention that are named, also when two do it at once", async (world) => {
      await Promise.all([
        world.store.configure("a", { retention: { ageMs: 1_000 } }),
        world.store.configure("a", { retention: { count: 2 } }),
      ]);
      const [queue] = await world.store.queues();
      expect(queue!.settings.retention).toEqual({ ageMs: 1_000, count: 2, keepAtLeastMs: 600_000 });
    });

    keeps("changes only the settings that are named", async (world) => {
      const retention = { ageMs: 1_000, count: 2, keepAtLeastMs: 3 };
      await world.store.configure("a", { capacity: 7, headStartMs: 60_000, deadLetters: false, retention });
      await world.store.configure("a", { paused: true });
      const settings = { capacity: 7, headStartMs: 60_000, deadLetters: false, retention };
      expect(await world.queue("a")).toMatchObject({ settings, paused: true });
      await world.store.configure("a", { capacity: null });
      expect(await world.queue("a")).toMatchObject({ settings: { ...settings, capacity: null }, paused: true });
      await world.store.configure("a", { capacity: undefined, deadLetters: undefined, paused: undefined });
      expect(await world.queue("a")).toMatchObject({ settings: { ...settings, capacity: null }, paused: true });
      await world.store.configure("a", { paused: false, deadLetters: true });
      expect(await world.queue("a")).toMatchObject({ settings: { ...settings, capacity: null, deadLetters: true }, paused: false });
    });

    keeps("keeps a value of every setting that is not the default, and takes the default back", async (world) => {
      const other = ({ usual, kind }: QueueSetting): SettingValue =>
        kind === "flag" ? !usual : kind === "text" ? "other" : Number(usual ?? 0) + 7;
      const settings = settingsFrom(other);
      expect(Object.keys(settings)).toEqual(Object.keys(QUEUE_DEFAULTS));
      await world.store.configure("a", settings);
      expect((await world.queue("a")).settings).toEqual(settings);
      for (const setting of QUEUE_SETTINGS) {
        const { group, key, usual } = setting;
        await world.store.configure("a", group === undefined ? { [key]: usual } : { [group]: { [key]: usual } });
        const now = (await world.queue("a")).settings;
        expect({ key, value: settingIn(now, setting) }).toEqual({ key, value: usual });
      }
      expect((await world.queue("a")).settings).toEqual(QUEUE_DEFAULTS);
    });

    keeps("has settings of its own", async (world) => {
      await world.store.configure("a", { capacity: 1 });
      await world.store.configure("b", { deadLetters: false });
      expect((await world.queue("a")).settings).toEqual({ ...QUEUE_DEFAULTS, capacity: 1 });
      expect((await world.queue("b")).settings).toEqual({ ...QUEUE_DEFAULTS, deadLetters: false });
    });

    keeps("settings made elsewhere hold at once", async (world) => {
      const other = await world.elsewhere();
      await world.add();
      await other.add();
      await other.store.configure("default", { capacity: 2, deadLetters: false });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
      expect((await world.take()).deadLetters).toBe(false);
    });
  });

  describe("capacity", () => {
    keeps("pending, scheduled and retrying jobs fill it; running and ended ones do not", async (world) => {
      await world.store.configure("default", { capacity: 3 });
      await world.fail(await world.running({ maxRetries: 3 }), 10_000);
      await world.running();
      await world.ended("completed");
      await world.ended("dead");
      await world.ended("cancelled");
      await world.add({ delay: 1_000 });
      await world.add();
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 3 });
      expect(await world.insert(world.job({ delay: 10 }))).toEqual({ kind: "full", capacity: 3 });
      await world.take();
      await world.add();
    });

    keeps("is counted within one list, and leaves nothing of what it refused", async (world) => {
      await world.store.configure("default", { capacity: 2 });
      const jobs = world.jobs(4, (index) => ({ idempotencyKey: `k${index}` }));
      const answers = await world.store.insert(jobs);
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "created", "full", "full"]);
      expect((await world.store.find(jobs.map(({ id }) => id))).map((job) => job !== null)).toEqual([true, true, false, false]);
      expect(await world.counts()).toEqual({ pending: 2 });
      expect(await world.total("enqueued")).toBe(2);
    });

    keeps("C20: a hundred parallel inserts into ten free places, over two connections: ten come in", async (world) => {
      await world.store.configure("default", { capacity: 10 });
      const other = await world.elsewhere();
      const answers = await Promise.all(
        world.jobs(100, (index) => ({ delay: (index % 2) * 1_000 })).map((job, index) => (index % 2 === 0 ? world : other).insert(job)),
      );
      expect(answers.filter(({ kind }) => kind === "created")).toHaveLength(10);
      expect(answers.filter(({ kind }) => kind === "full")).toHaveLength(90);
      const { pending = 0, scheduled = 0 } = await world.counts();
      expect(pending + scheduled).toBe(10);
    });

    keeps("releases, retries and snoozes always fit", async (world) => {
      const [a, b, c] = [await world.running(), await world.running(), await world.running()];
      await world.store.configure("default", { capacity: 1 });
      await world.add();
      expect([await world.release(a), await world.fail(b, 10), await world.snooze(c, 1_000)]).toEqual(["ok", "ok", "ok"]);
      expect(await world.counts()).toEqual({ pending: 2, retrying: 1, scheduled: 1 });
    });

    keeps("below what waits already only stops newcomers", async (world) => {
      await world.addMany(5);
      await world.store.configure("default", { capacity: 2 });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
      expect(await world.claim({ limit: 4 })).toHaveLength(4);
      await world.add();
    });

    keeps("can be lifted", async (world) => {
      await world.store.configure("default", { capacity: 0 });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 0 });
      await world.store.configure("default", { capacity: null });
      await world.addMany(20);
    });
  });

  describe("tallies", () => {
    keeps("tell status and level apart: critical from 20, high from 10, default from 0, low below", async (world) => {
      const priorities = [-100, -1, 0, 9, 10, 19, 20, 100];
      await world.addMany(priorities.length, (index) => ({ priority: priorities[index]! }));
      await world.take(); // the most urgent
      const rows = (await world.queue()).counts.filter(({ count }) => count !== 0);
      const asText = rows.map(({ status, level, count }) => `${status} ${level} ${count}`).sort();
      expect(asText).toEqual(["pending critical 1", "pending default 2", "pending high 2", "pending low 2", "running critical 1"]);
    });

    keeps("I15: at rest they equal a count of the jobs, after every kind of step, from two connections at once", async (world) => {
      const other = await world.elsewhere();
      await world.addMany(40, (index) => ({ priority: (index % 4) * 10 - 10, maxRetries: index % 3, delay: index % 5 === 0 ? 100 : 0 }));
      const [mine, theirs] = await Promise.all([world.claim({ limit: 12 }), other.claim({ limit: 12 })]);
      const ends = [
        (lease: LeasedRecord) => world.complete(lease),
        (lease: LeasedRecord) => world.fail(lease),
        (lease: LeasedRecord) => other.discard(lease),
        (lease: LeasedRecord) => other.release(lease),
      ];
      await Promise.all([
        ...mine.map((lease, index) => ends[index % ends.length]!(lease)),
        ...theirs.map((lease, index) => (index % 2 === 0 ? world.cancel(lease.id) : other.snooze(lease, 1_000))),
      ]);
      world.clock.advance(60_000);
      await Promise.all([world.store.promote(5), other.store.promote(5)]);
      await world.claim({ limit: 3 });
      const rows: Record<string, number> = {};
      for (const { status } of (await world.store.list({ limit: 100 })).jobs) rows[status] = (rows[status] ?? 0) + 1;
      expect(await world.counts()).toEqual(rows);
      expect(Object.values(rows).reduce((sum, count) => sum + count)).toBe(40);
    });
  });
}
