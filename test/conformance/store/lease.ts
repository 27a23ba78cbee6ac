import { describe, expect } from "vitest";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, settlementOf } from "../world.ts";

export function leaseSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("extend", () => {
    keeps("a lease that holds ends leaseMs from now, and nothing else of the job changes", async (world) => {
      const lease = await world.running();
      const before = await world.find(lease.id);
      world.clock.advance(20_000);
      expect(await world.extend(lease, 7_000)).toBe("ok");
      expect(await world.find(lease.id)).toEqual(before);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: 7_000 });
    });

    keeps("an extension may also shorten a lease", async (world) => {
      const lease = await world.running();
      await world.extend(lease, 10);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: 10 });
    });

    keeps("S09: a job of ten leases with a live beat is never seen as lost", async (world) => {
      const lease = await world.running();
      for (let beat = 0; beat < 30; beat++) {
        world.clock.advance(LEASE_MS / 3);
        expect((await world.expired(10)).jobs).toEqual([]);
        expect(await world.extend(lease)).toBe("ok");
      }
      expect(await world.complete(lease)).toBe("ok");
      expect((await world.find(lease.id)).attempt).toBe(1);
    });

    keeps("a lease holds until it is reclaimed: a late extension is in time", async (world) => {
      const lease = await world.running();
      world.clock.advance(10 * LEASE_MS);
      expect(await world.extend(lease)).toBe("ok");
      expect((await world.expired(10)).jobs).toEqual([]);
      expect(await world.lose(lease)).toBe("stale");
    });

    keeps("a stale, a forged and an unknown lease extend nothing", async (world) => {
      const lease = await world.running();
      await world.release(lease);
      const next = await world.take();
      expect(next.fence).toBeGreaterThan(lease.fence);
      expect(await world.extend(lease, 3_600_000)).toBe("stale");
      expect(await world.extend({ id: lease.id, fence: next.fence + 1 }, 3_600_000)).toBe("stale");
      expect(await world.extend({ id: world.newId(), fence: 1 })).toBe("stale");
      expect((await world.expired(10)).nextInMs).toBe(LEASE_MS);
    });

    keeps("a fence that no job ever had is stale, however large, and does not harm the other items of a call", async (world) => {
      const [lease, ended, cancelled] = [await world.running(), await world.running(), await world.running()];
      await world.complete(ended);
      await world.cancel(cancelled.id);
      const fences = [-1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + lease.fence, 2 ** 37 + lease.fence, Number.MAX_SAFE_INTEGER];
      for (const fence of fences) {
        for (const { id } of [lease, ended, cancelled]) {
          const forged = { id, fence };
          const other = await world.running();
          expect(await world.store.extend([forged, other].map((one) => ({ id: one.id, fence: one.fence, leaseMs: 1_000 })))).toEqual([
            "stale",
            "ok",
          ]);
          const notes = [forged, other].map((one) => ({ id: one.id, fence: one.fence, progress: null, lines: ["a"] }));
          expect(await world.store.note(notes)).toEqual(["stale", "ok"]);
          const report = settlementOf({ ...other, ...forged }, { kind: "completed", result: null, runMs: 1 });
          const failure = settlementOf({ ...other, ...forged }, { kind: "failed", error: BOOM, delayMs: 1, runMs: 1 });
          const done = settlementOf(other, { kind: "completed", result: null, runMs: 1 });
          expect((await world.store.exchange([report, done], [])).settled).toEqual(["stale", "ok"]);
          expect((await world.store.exchange([failure, done], [])).settled).toEqual(["stale", "ok"]);
        }
      }
      expect(await world.complete(lease)).toBe("ok");
    });

    keeps("the lease of a job that ended is stale", async (world) => {
      const lease = await world.running();
      await world.complete(lease);
      expect(await world.extend(lease)).toBe("stale");
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
    });

    keeps("answers come lease by lease, in order, for as many as a call takes", async (world) => {
      await world.addMany(MAX_BATCH);
      const leases = await world.claim();
      await world.complete(leases[3]!);
      await world.cancel(leases[5]!.id);
      const answers = await world.store.extend(leases.map(({ id, fence }) => ({ id, fence, leaseMs: 1_000 })));
      expect(answers).toHaveLength(MAX_BATCH);
      expect([answers[3], answers[5]]).toEqual(["stale", "cancelled"]);
      expect(answers.filter((answer) => answer === "ok")).toHaveLength(MAX_BATCH - 2);
      expect(await world.store.extend([])).toEqual([]);
    });
  });

  describe("note", () => {
    keeps("progress and lines are written under the lease, lines numbered from 1 with their time and attempt", async (world) => {
      const lease = await world.running();
      const now = world.clock.now();
      const progress = { percent: 37.5, note: "half \u{1F600}" };
      expect(await world.store.note([{ id: lease.id, fence: lease.fence, progress, lines: ["one", "two"] }])).toEqual(["ok"]);
      world.clock.advance(5);
      expect(await world.note(lease, ["three"])).toBe("ok");
      expect((await world.find(lease.id)).progress).toEqual(progress);
      expect(await world.store.logs(lease.id, 0, 100)).toEqual([
        { number: 1, at: now, attempt: 1, text: "one" },
        { number: 2, at: now, attempt: 1, text: "two" },
        { number: 3, at: now + 5, attempt: 1, text: "three" },
      ]);
    });

    keeps("a note without progress leaves the progress as it was", async (world) => {
      const lease = await world.running();
      await world.note(lease, [], 50);
      await world.note(lease, ["a line"]);
      expect((await world.find(lease.id)).progress).toEqual({ percent: 50, note: null });
    });

    keeps("lines of a later attempt follow those of the first and say so", async (world) => {
      const lease = await world.running();
      await world.note(lease, ["first"]);
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.note(await world.take(), ["second"]);
      expect(await world.store.logs(lease.id, 0, 10)).toMatchObject([
        { number: 1, attempt: 1, text: "first" },
        { number: 2, attempt: 2, text: "second" },
      ]);
    });

    keeps("B16: lines beyond a thousand are dropped, and the note is still heard", async (world) => {
      const lease = await world.running();
      const lines = Array.from({ length: 600 }, (_, index) => `line ${index}`);
      expect(await world.note(lease, lines)).toBe("ok");
      expect(await world.note(lease, lines, 10)).toBe("ok");
      expect(await world.note(lease, ["one more"], 20)).toBe("ok");
      const stored = await world.store.logs(lease.id, 0, 2_000);
      expect(stored).toHaveLength(1_000);
      expect(stored.at(-1)).toMatchObject({ number: 1_000, text: "line 399" });
      expect((await world.find(lease.id)).progress).toEqual({ percent: 20, note: null });
    });

    keeps("S05: a stale, a forged and an unknown lease write nothing", async (world) => {
      const lease = await world.running();
      await world.release(lease);
      const next = await world.take();
      expect(await world.note(lease, ["stale"], 99)).toBe("stale");
      expect(await world.note({ id: lease.id, fence: next.fence + 1 }, ["forged"], 99)).toBe("stale");
      expect(await world.note({ id: world.newId(), fence: 1 }, ["unknown"], 99)).toBe("stale");
      expect(await world.store.logs(lease.id, 0, 10)).toEqual([]);
      expect((await world.find(lease.id)).progress).toBeNull();
    });

    keeps("a cancelled lease writes nothing and learns why", async (world) => {
      const lease = await world.running();
      await world.cancel(lease.id);
      expect(await world.note(lease, ["late"], 99)).toBe("cancelled");
      expect(await world.store.logs(lease.id, 0, 10)).toEqual([]);
      expect((await world.find(lease.id)).progress).toBeNull();
    });

    keeps("answers come note by note, in order", async (world) => {
      await world.addMany(3);
      const leases = await world.claim();
      await world.complete(leases[1]!);
      const notes = leases.map(({ id, fence }) => ({ id, fence, progress: null, lines: ["x"] }));
      expect(await world.store.note(notes)).toEqual(["ok", "stale", "ok"]);
    });
  });

  describe("a lease that runs out", () => {
    keeps("S02: is found at the moment it ends, the longest first, and looking changes nothing", async (world) => {
      const first = await world.running({}, { leaseMs: 2_000 });
      const second = await world.running({}, { leaseMs: 1_000 });
      const before = await world.find(second.id);
      world.clock.advance(999);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: 1 });
      world.clock.advance(1);
      const { jobs, nextInMs } = await world.expired(10);
      expect(jobs.map(({ id }) => id)).toEqual([second.id]);
      expect(nextInMs).toBe(1_000);
      const { payload: _payload, result: _result, ...summary } = before;
      expect(jobs[0]).toEqual({ ...summary, deadLetters: true });
      world.clock.advance(5_000);
      expect((await world.expired(10)).jobs.map(({ id }) => id)).toEqual([second.id, first.id]);
      expect((await world.expired(1)).jobs.map(({ id }) => id)).toEqual([second.id]);
      expect(await world.find(second.id)).toEqual(before);
    });

    keeps("tells whether its queue has dead letters", async (world) => {
      await world.running({ queue: "a" });
      await world.running({ queue: "b" });
      await world.store.configure("a", { deadLetters: false });
      world.clock.advance(LEASE_MS);
      const { jobs } = await world.expired(10);
      expect(Object.fromEntries(jobs.map(({ queue, deadLetters }) => [queue, deadLetters]))).toEqual({ a: false, b: true });
    });

    keeps(
      "is reclaimed as a failed attempt of kind lost: the fence moves, the history says so, it runs again and no retry is spent",
      async (world) => {
        const lease = await world.running({ retryDelay: 2_000 });
        world.clock.advance(LEASE_MS + 5);
        const [seen] = (await world.expired(10)).jobs;
        const now = world.clock.now();
        expect(await world.lose(seen!)).toBe("ok");
        expect(await world.find(lease.id)).toMatchObject({
          status: "retrying",
          fence: 2,
          attempt: 1,
          retryCount: 0,
          lostCount: 1,
          runAt: now + 2_000,
          error: { kind: "lost" },
        });
        expect(await world.store.attempts(lease.id)).toMatchObject([
          { number: 1, outcome: "failed", startedAt: lease.startedAt, endedAt: now, durationMs: LEASE_MS + 5, error: { kind: "lost" } },
        ]);
        expect(await world.total("lost")).toBe(1);
        expect(await world.total("retried")).toBe(1);
      },
    );

    keeps("keeps its retries, which failures alone spend, and failures leave its losses alone", async (world) => {
      const lease = await world.running({ maxRetries: 1, maxLost: 1, retryDelay: 0 });
      expect(lease).toMatchObject({ maxLost: 1, lostCount: 0 });
      world.clock.advance(LEASE_MS);
      await world.lose(lease);
      await world.store.promote(1);
      const second = await world.take();
      expect(second).toMatchObject({ attempt: 2, retryCount: 0, lostCount: 1, maxLost: 1 });
      await world.fail(second, 0);
      await world.store.promote(1);
      const third = await world.take();
      expect(third).toMatchObject({ attempt: 3, retryCount: 1, lostCount: 1 });
      expect(await world.complete(third)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({ status: "completed", retryCount: 1, lostCount: 1 });
    });

    for (const [deadLetters, end] of [
      [true, "dead"],
      [false, "failed"],
    ] as const) {
      keeps(`is ${end} when it was lost once more than maxLost, with all retries unspent, and its error says so`, async (world) => {
        await world.store.configure("default", { deadLetters });
        const { id } = await world.add({ maxRetries: 5, maxLost: 2, retryDelay: 0 });
        for (const losses of [1, 2, 3]) {
          const lease = await world.take();
          expect(lease).toMatchObject({ lostCount: losses - 1, retryCount: 0 });
          world.clock.advance(LEASE_MS);
          expect(await world.lose(lease)).toBe("ok");
          expect(await world.find(id)).toMatchObject({ lostCount: losses, status: losses <= 2 ? "retrying" : end });
          world.clock.advance(60_000);
          await world.store.promote(1);
        }
        const said = expect.stringContaining("its worker died or was cut off 3 times while it ran") as string;
        expect(await world.find(id)).toMatchObject({ retryCount: 0, error: { kind: "lost", message: said } });
        const attempts = await world.store.attempts(id);
        expect(attempts.map(({ outcome, error }) => [outcome, error?.kind])).toEqual(attempts.map(() => ["failed", "lost"]));
        expect(attempts).toHaveLength(3);
        expect([await world.total("lost"), await world.total("retried"), await world.total(end)]).toEqual([3, 2, 1]);
      });
    }

    keeps(
      "that is dead of it starts a new life by hand: losses and retries count from 0, and it may be lost as often again",
      async (world) => {
        const { id } = await world.add({ maxLost: 1, retryDelay: 0 });
        for (const life of [1, 2]) {
          for (const losses of [1, 2]) {
            const lease = await world.take();
            expect(lease).toMatchObject({ attempt: (life - 1) * 2 + losses, lostCount: losses - 1 });
            world.clock.advance(LEASE_MS);
            await world.lose(lease);
            await world.store.promote(1);
          }
          expect(await world.find(id)).toMatchObject({ status: "dead", lostCount: 2 });
          expect(await world.retry(id)).toMatchObject({ kind: "ok", job: { lostCount: 0, retryCount: 0, maxLost: 1 } });
        }
        expect(await world.take()).toMatchObject({ lostCount: 0, attempt: 5 });
      },
    );

    keeps("takes the change as it is told it, not by the name of its outcome", async (world) => {
      const lease = await world.running({ maxLost: 5 });
      const settlement = settlementOf(lease, { kind: "failed", error: BOOM, delayMs: 0, runMs: 1 });
      const transition = { ...settlement.transition, losses: "add" as const, retries: "keep" as const };
      await world.store.exchange([{ ...settlement, transition }], []);
      expect(await world.find(lease.id)).toMatchObject({ lostCount: 1, retryCount: 0 });
      await world.store.promote(1);
      const again = settlementOf(await world.take(), { kind: "snooze", delayMs: 1_000 });
      await world.store.exchange([{ ...again, transition: { ...again.transition, losses: "reset", retries: "add" } }], []);
      expect(await world.find(lease.id)).toMatchObject({ lostCount: 0, retryCount: 1, snoozes: 1 });
    });

    keeps("S15: with maxRetries 0 the job is dead at once, with its payload", async (world) => {
      const lease = await world.running({ maxRetries: 0, payload: { keep: "me" } });
      expect(lease).toMatchObject({ maxLost: 0 });
      world.clock.advance(LEASE_MS);
      expect(await world.lose(lease)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({
        status: "dead",
        payload: '{"keep":"me"}',
        error: { kind: "lost", message: expect.stringContaining("died or was cut off once") as string },
      });
      expect(await world.counts()).toEqual({ dead: 1 });
      expect([await world.total("dead"), await world.total("lost")]).toEqual([1, 1]);
    });

    keeps("S13: is found whatever its type and queue are, and a lost job is retried, not dead", async (world) => {
      const lease = await world.running({ type: "nobody-knows", queue: "nobody-asks" });
      world.clock.advance(LEASE_MS);
      const { jobs } = await world.expired(10);
      expect(jobs.map(({ id }) => id)).toEqual([lease.id]);
      await world.lose(jobs[0]!);
      expect(await world.status(lease.id)).toBe("retrying");
    });

    keeps("S04: a completion that landed after the reaper looked stands", async (world) => {
      const lease = await world.running();
      world.clock.advance(LEASE_MS);
      const [seen] = (await world.expired(10)).jobs;
      expect(await world.complete(lease, '"done"')).toBe("ok");
      expect(await world.lose(seen!)).toBe("stale");
      expect(await world.find(lease.id)).toMatchObject({ status: "completed", result: '"done"' });
      expect(await world.total("lost")).toBe(0);
    });

    keeps("S04: a renewal that landed after the reaper looked stands", async (world) => {
      const lease = await world.running();
      world.clock.advance(LEASE_MS);
      const [seen] = (await world.expired(10)).jobs;
      expect(await world.extend(lease)).toBe("ok");
      expect(await world.lose(seen!)).toBe("stale");
      expect(await world.complete(lease)).toBe("ok");
    });

    keeps("is reclaimed by one of two reapers, and the other knows that it was not the one", async (world) => {
      const lease = await world.running();
      const other = await world.elsewhere();
      world.clock.advance(LEASE_MS);
      const answers = await Promise.all([world.lose(lease), other.lose(lease), world.lose(lease)]);
      expect(answers.sort()).toEqual(["ok", "stale", "stale"]);
      expect(await world.find(lease.id)).toMatchObject({ fence: 2, lostCount: 1 });
      expect(await world.total("lost")).toBe(1);
    });

    keeps("S05: the zombie's late words are refused, while another runs the job and after it finished", async (world) => {
      const zombie = await world.running({ retryDelay: 0 });
      world.clock.advance(3 * LEASE_MS);
      await world.lose(zombie);
      await world.store.promote(1);
      const lease = await world.take({ workerId: "worker-2" });
      const late = async (): Promise<string[]> => [
        await world.complete(zombie, '"late"'),
        await world.fail(zombie, 0),
        await world.discard(zombie),
        await world.snooze(zombie, 1_000),
        await world.release(zombie),
        await world.extend(zombie),
        await world.note(zombie, ["late"], 1),
      ];
      const running = await world.find(zombie.id);
      expect(new Set(await late())).toEqual(new Set(["stale"]));
      expect(await world.find(zombie.id)).toEqual(running);
      await world.complete(lease, '"in time"');
      const completed = await world.find(zombie.id);
      expect(new Set(await late())).toEqual(new Set(["stale"]));
      expect(await world.find(zombie.id)).toEqual(completed);
      expect(completed).toMatchObject({ status: "completed", result: '"in time"' });
      expect(await world.store.logs(zombie.id, 0, 10)).toEqual([]);
    });

    keeps("S10: a worker of the same name gets no old lease; its orphan comes back by time alone", async (world) => {
      const orphan = await world.running({}, { workerId: "same" });
      expect(await world.claim({ workerId: "same" })).toEqual([]);
      world.clock.advance(LEASE_MS);
      expect((await world.expired(10)).jobs.map(({ id }) => id)).toEqual([orphan.id]);
    });

    keeps("S11: orphaned again and again, it is recovered each time", async (world) => {
      const { id } = await world.add({ maxRetries: 1, maxLost: 3, retryDelay: 0 });
      for (let life = 1; life <= 3; life++) {
        await world.take({ workerId: `victim-${life}` });
        world.clock.advance(LEASE_MS);
        const { jobs } = await world.expired(10);
        expect(jobs).toMatchObject([{ id, attempt: life, lostCount: life - 1, maxLost: 3 }]);
        expect(await world.lose(jobs[0]!)).toBe("ok");
        world.clock.advance(5 * 60_000);
        expect((await world.store.promote(1)).moved).toBe(1);
      }
      expect(await world.complete(await world.take())).toBe("ok");
      expect((await world.store.attempts(id)).map(({ outcome }) => outcome)).toEqual(["failed", "failed", "failed", "completed"]);
    });

    keeps("S14: one orphan among thousands of live leases is the first that a look finds", async (world) => {
      await world.addMany(3_000);
      for (let batch = 0; batch < 3; batch++) await world.claim({ leaseMs: 3_600_000 });
      const orphan = await world.running({}, { leaseMs: 1_000 });
      world.clock.advance(1_000);
      expect((await world.expired(1)).jobs.map(({ id }) => id)).toEqual([orphan.id]);
    });

    keeps("a renewal and a reclaim at once: one of them was first, and both know it", async (world) => {
      const other = await world.elsewhere();
      for (let round = 0; round < 10; round++) {
        const lease = await world.running({ maxRetries: 0 }, { leaseMs: 1_000 });
        world.clock.advance(1_000);
        const extending = round % 2 === 0 ? null : other.extend(lease);
        const losing = world.lose(lease);
        const answers = [await losing, await (extending ?? other.extend(lease))];
        expect([...answers].sort()).toEqual(["ok", "stale"]);
        expect(await world.status(lease.id)).toBe(answers[0] === "ok" ? "dead" : "running");
      }
    });

    keeps("an early reaper changes nothing", async (world) => {
      const lease = await world.running();
      world.clock.advance(LEASE_MS - 1);
      expect(await world.lose(lease)).toBe("stale");
      expect(await world.status(lease.id)).toBe("running");
      world.clock.advance(1);
      expect(await world.lose(lease)).toBe("ok");
    });
  });
}
