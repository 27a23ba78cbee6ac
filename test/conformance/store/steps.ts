import { describe, expect } from "vitest";
import { RESTART } from "../../../src/core/lifecycle.ts";
import { MAX_STEPS, MAX_STEPS_BYTES } from "../../../src/core/steps.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS } from "../world.ts";
import { keep, MIB, read, result, signal, sleep, stepOf, stepsOf, suspend, taken, textOf, wait } from "./durable-work.ts";

/** Names in the order of their UTF-8. In that of UTF-16 the last two change places. */
const NAMES = [
  " ",
  '"',
  "%_*?[a]",
  "'; drop table jobs; --",
  "10",
  "9",
  "A",
  "a",
  "a b",
  "a/b",
  "a:b",
  "a\\b",
  "line\nbreak\ttab",
  "steps",
  "{a}",
  "Ä",
  "é",
  "日本",
  "\u{FFFD}",
  "\u{1F600}",
];

/** Texts that are JSON, and that a round trip through a parser or a column of numbers would change. */
const TEXTS: Readonly<Record<string, string | null>> = {
  nothing: null,
  "a JSON null": "null",
  "an empty text": '""',
  "an empty object": "{}",
  "an empty list": "[]",
  "a large integer": '{"n":12345678901234567890}',
  "an exact decimal": "0.10",
  "a NUL": '"\\u0000"',
  "half a pair": '"\\ud800"',
  "spaces and order": '{ "b" : 1, "a" : 2, "b" : 3 }',
  "other writing": '"ä 日本 \u{1F600} \\u00e4"',
};

export function stepsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("steps are kept", () => {
    keeps("with all that is said of them, the attempt and the store's time", async (world) => {
      const lease = await world.running();
      expect(await read(world, lease.id)).toEqual({ now: world.clock.now(), life: 1, steps: [], cursor: null });
      world.clock.advance(20);
      const now = world.clock.now();
      expect(await keep(world, lease, result("a", '{"n":1}', '{"runMs":3}'), wait("b", 500), sleep("c", 700), wait("d"))).toBe("ok");
      const common = { value: null, startedAt: now, endedAt: null, attempt: 1, by: null, detail: null };
      expect(await read(world, lease.id)).toEqual({
        now,
        life: 1,
        steps: [
          { ...common, name: "a", kind: "step", state: "done", value: '{"n":1}', until: null, endedAt: now, detail: '{"runMs":3}' },
          { ...common, name: "b", kind: "wait", state: "open", until: now + 500 },
          { ...common, name: "c", kind: "sleep", state: "open", until: now + 700 },
          { ...common, name: "d", kind: "wait", state: "open", until: null },
        ],
        cursor: null,
      });
      expect(await world.find(lease.id)).toMatchObject({ status: "running", hasSteps: true, updatedAt: now, fence: 1, attempt: 1 });
    });

    keeps("in place of what has their name: startedAt and attempt stay", async (world) => {
      const lease = await world.running();
      const first = world.clock.now();
      await keep(world, lease, result("a", "1", '{"runMs":1}'), result("b", "1"), wait("w", 5_000));
      await signal(world, lease.id, "w");
      await world.release(lease);
      const failing = await world.take();
      await world.fail(failing, 0);
      await world.store.promote(10);
      world.clock.advance(700);
      const again = await world.take();
      expect(again.attempt).toBe(2);
      const now = world.clock.now();
      expect(await keep(world, again, result("b", "2"), result("c", "3"), wait("w", 9_000))).toBe("ok");
      expect(await stepsOf(world, lease.id)).toMatchObject([
        { name: "a", value: "1", startedAt: first, endedAt: first, attempt: 1, detail: '{"runMs":1}' },
        { name: "b", value: "2", startedAt: first, endedAt: now, attempt: 1, detail: null },
        { name: "c", value: "3", startedAt: now, endedAt: now, attempt: 2 },
        // It had ended. Now it is open again, and has a new time.
        { name: "w", state: "open", value: null, startedAt: first, endedAt: null, attempt: 1, by: null, until: now + 9_000 },
      ]);
    });

    keeps("an open one that is kept again keeps its time, until it ends", async (world) => {
      const lease = await world.running();
      const until = world.clock.now() + 1_000;
      await keep(world, lease, wait("w", 1_000));
      world.clock.advance(300);
      await keep(world, lease, { ...wait("w", 1_000), detail: '{"schema":{}}' });
      expect(await stepOf(world, lease.id, "w")).toMatchObject({ until, startedAt: until - 1_000, detail: '{"schema":{}}' });
      expect(await keep(world, lease, { ...result("w", "5"), kind: "wait" })).toBe("ok");
      expect(await stepOf(world, lease.id, "w")).toMatchObject({ state: "done", value: "5", endedAt: world.clock.now() });
    });

    keeps("a repeat stores the same again", async (world) => {
      const lease = await world.running();
      const steps = [result("a"), wait("w", 400)];
      expect([await keep(world, lease, ...steps), await keep(world, lease, ...steps)]).toEqual(["ok", "ok"]);
      expect(await stepsOf(world, lease.id)).toMatchObject([
        { name: "a", value: "1", attempt: 1 },
        { name: "w", until: world.clock.now() + 400 },
      ]);
    });

    keeps("retries and losses count from 0 again; snoozes do not", async (world) => {
      const { id } = await world.add({ maxRetries: 5, maxLost: 5, retryDelay: 0 });
      await world.snooze(await world.take(), 1_000);
      world.clock.advance(1_000);
      await world.store.promote(10);
      await world.fail(await world.take(), 0);
      await world.store.promote(10);
      const lost = await world.take();
      world.clock.advance(LEASE_MS);
      await world.lose(lost);
      world.clock.advance(600_000);
      await world.store.promote(10);
      const lease = await world.take();
      expect(lease).toMatchObject({ id, retryCount: 1, lostCount: 1, snoozes: 1 });
      expect(await keep(world, lease, result("a"))).toBe("ok");
      expect(await world.find(id)).toMatchObject({ retryCount: 0, lostCount: 0, snoozes: 1, status: "running", error: { kind: "lost" } });
      expect((await world.store.attempts(id)).map(({ number }) => number)).toEqual([1, 2, 3]);
    });

    keeps("only under a lease that holds: others are told so, and nothing is stored", async (world) => {
      const [done, cancelled, given] = [await world.running(), await world.running(), await world.running()];
      await world.complete(done);
      await world.cancel(cancelled.id);
      await world.release(given);
      const again = await world.take();
      const of = (id: string, fence: number, name: string) => ({ id, fence, steps: [result(name)] });
      expect(
        await world.store.keepSteps([
          of(done.id, done.fence, "a"),
          of(cancelled.id, cancelled.fence, "a"),
          of(given.id, given.fence, "late"),
          of(again.id, again.fence, "now"),
          of(again.id, again.fence + 1, "early"),
          of(world.newId(), 1, "a"),
        ]),
      ).toEqual(["stale", "cancelled", "stale", "ok", "stale", "stale"]);
      expect((await stepsOf(world, given.id)).map(({ name }) => name)).toEqual(["now"]);
      for (const { id } of [done, cancelled]) {
        expect(await stepsOf(world, id)).toEqual([]);
        expect((await world.find(id)).hasSteps).toBe(false);
      }
    });

    keeps("of many jobs in one call, and of one job twice", async (world) => {
      await world.addMany(50, (index) => ({ queue: `q${index % 5}` }));
      const leases = await world.claim({ queues: ["q0", "q1", "q2", "q3", "q4"] });
      const one = leases.map(({ id, fence }) => ({ id, fence, steps: [result("a", `"${id}"`), result("b", "2")] }));
      const two = leases.slice(0, 3).map(({ id, fence }) => ({ id, fence, steps: [result("b", "3"), result("c")] }));
      expect(await world.store.keepSteps([...one, ...two])).toEqual([...one, ...two].map(() => "ok"));
      for (const [index, { id }] of leases.entries()) {
        const steps = (await stepsOf(world, id)).map(({ name, value }) => [name, value]);
        const last = index < 3 ? [["b", "3"], ["c", "1"]] : [["b", "2"]]; // prettier-ignore
        expect(steps).toEqual([["a", `"${id}"`], ...last]);
      }
    });

    keeps("each name for itself, whatever it is", async (world) => {
      const lease = await world.running();
      const names = NAMES.toReversed();
      expect(await keep(world, lease, ...names.map((name) => result(name, JSON.stringify(name))))).toBe("ok");
      const steps = await stepsOf(world, lease.id);
      expect(steps.map(({ name }) => name)).toEqual(NAMES);
      expect(steps.map(({ value }) => JSON.parse(value!) as string)).toEqual(NAMES);
      for (const [index, name] of NAMES.entries()) {
        expect((await read(world, lease.id, null, name)).steps.map((step) => step.name)).toEqual(NAMES.slice(index + 1));
      }
      const long = "ü".repeat(128);
      expect(await keep(world, lease, result(long))).toBe("ok");
      expect(await stepOf(world, lease.id, long)).toMatchObject({ value: "1" });
    });

    keeps("each value as the very text", async (world) => {
      const lease = await world.running();
      await keep(world, lease, ...Object.entries(TEXTS).map(([name, text]) => result(name, text, text)));
      for (const step of await stepsOf(world, lease.id)) {
        expect([step.value, step.detail], `the value of ${step.name}`).toEqual([TEXTS[step.name], TEXTS[step.name]]);
      }
      for (const [name, value] of Object.entries(TEXTS)) await signal(world, lease.id, `signal of ${name}`, { value });
      for (const [name, value] of Object.entries(TEXTS)) {
        expect(await stepOf(world, lease.id, `signal of ${name}`), `the signal with ${name}`).toMatchObject({ state: "done", value });
      }
    });

    keeps("for each job its own, under equal names", async (world) => {
      const leases = [await world.running(), await world.running({ queue: "other" })];
      for (const lease of leases) await keep(world, lease, result("a", `"${lease.id}"`));
      for (const { id } of leases) expect(await stepsOf(world, id)).toMatchObject([{ name: "a", value: `"${id}"` }]);
    });
  });

  describe("the bounds of steps", () => {
    keeps(`${MAX_STEPS} fit, one more does not, and of what does not fit nothing is stored`, async (world) => {
      const lease = await world.running();
      const all = Array.from({ length: MAX_STEPS }, (_, index) => result(`step ${index}`, null));
      expect(await keep(world, lease, ...all.slice(0, 600))).toBe("ok");
      expect(await keep(world, lease, ...all.slice(600), result("one more", null))).toBe("full");
      expect(await stepsOf(world, lease.id)).toHaveLength(600);
      expect(await keep(world, lease, ...all.slice(500))).toBe("ok");
      world.clock.advance(5);
      const before = await world.find(lease.id);
      expect(await keep(world, lease, result("step 0", "1"), result("one more", null))).toBe("full");
      expect(await signal(world, lease.id, "one more")).toEqual({ kind: "full" });
      expect(await world.find(lease.id)).toEqual(before);
      expect(await stepOf(world, lease.id, "step 0")).toMatchObject({ value: null });
      expect(await keep(world, lease, result("step 0", "1"))).toBe("ok");
      expect(await signal(world, lease.id, "failed", { kind: "call", state: "failed", value: "{}" })).toEqual(taken(false));
      expect(await stepsOf(world, lease.id)).toHaveLength(MAX_STEPS + 1);
    });

    keeps("a step that is open ends, although signals that nobody waits for made them too many", async (world) => {
      const lease = await world.running();
      for (let index = 0; index < 10; index++) await signal(world, lease.id, `early ${index}`, { value: null });
      const waits = Array.from({ length: MAX_STEPS }, (_, index) => wait(`w${index}`));
      expect(await suspend(world, lease, ...waits)).toBe("ok");
      expect(await signal(world, lease.id, "one more")).toEqual({ kind: "full" });
      expect(await signal(world, lease.id, "w7")).toEqual(taken(true));
      const again = await world.take();
      expect(await keep(world, again, wait("w7"))).toBe("ok");
      expect(await keep(world, again, wait("w7"), wait("one more"))).toBe("full");
    });

    keeps(`${MAX_STEPS_BYTES} bytes of values fit, one more does not`, async (world) => {
      const lease = await world.running();
      const count = MAX_STEPS_BYTES / MIB;
      for (let index = 1; index < count; index++) expect(await keep(world, lease, result(`part ${index}`, textOf(MIB)))).toBe("ok");
      expect(await keep(world, lease, result("a", "1"), result("last", textOf(MIB)))).toBe("full");
      expect((await stepsOf(world, lease.id)).map(({ name }) => name)).not.toContain("a");
      expect(await keep(world, lease, result("last", textOf(MIB)))).toBe("ok");
      expect(await keep(world, lease, result("a", "1"))).toBe("full");
      expect(await signal(world, lease.id, "a", { value: "1" })).toEqual({ kind: "full" });
      expect(await keep(world, lease, result("a", null))).toBe("ok");
      expect(await keep(world, lease, result("last", textOf(MIB)))).toBe("ok");
      expect(await keep(world, lease, result("last", textOf(MIB - 1)), result("a", "1"))).toBe("ok");
      expect(await keep(world, lease, result("a", "22"))).toBe("full");
      expect(await stepOf(world, lease.id, "a")).toMatchObject({ value: "1" });
      expect(await signal(world, lease.id, "b", { kind: "call", state: "failed", value: '{"name":"Error"}' })).toEqual(taken(false));
    });

    keeps("bytes are counted, not characters; names and details do not count", async (world) => {
      const lease = await world.running();
      const wide = (bytes: number): string => `"${"日".repeat((bytes - 2) / 3)}${"x".repeat((bytes - 2) % 3)}"`;
      const value = wide(MIB).replace("xx", "é");
      expect(Buffer.byteLength(value)).toBe(MIB);
      const parts = Array.from({ length: MAX_STEPS_BYTES / MIB - 1 }, (_, index) => result(`日本 ${index}`, value, '{"runMs":1}'));
      for (const part of parts) expect(await keep(world, lease, part)).toBe("ok");
      expect(await keep(world, lease, result("last", value), result("z", "1"))).toBe("full");
      expect(await keep(world, lease, result("last", `${value.slice(0, -1)} "`))).toBe("full");
      expect(await keep(world, lease, result("last", value))).toBe("ok");
      expect(await signal(world, lease.id, "z", { value: "1" })).toEqual({ kind: "full" });
    });

    keeps("what steps that were forgotten had does not count", async (world) => {
      const lease = await world.running();
      for (let index = 0; index < MAX_STEPS_BYTES / MIB; index++) await keep(world, lease, result(`part ${index}`, textOf(MIB)));
      await world.discard(lease);
      await world.store.change([lease.id], RESTART);
      const again = await world.take();
      expect(await keep(world, again, result("a", textOf(MIB)))).toBe("ok");
      expect(await keep(world, again, ...Array.from({ length: MAX_STEPS - 1 }, (_, index) => result(`step ${index}`)))).toBe("ok");
      expect(await keep(world, again, result("one more"))).toBe("full");
    });
  });
}
