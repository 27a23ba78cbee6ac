import { describe, expect } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { HoldKey } from "../../src/core/control-errors.ts";
import type { ClaimRequest, Client, EnqueueOptions, LeasedJob, LimitOptions, OneKeyLimitOptions } from "../../src/client/client.ts";
import type { Promises } from "./client.ts";

const QUEUE = "mail";
let claims = 0;

function claimOf(limit: number, queue = QUEUE): ClaimRequest {
  return { workerId: `claimer-${++claims}`, queues: [queue], types: "*", limit, leaseMs: 60_000, turn: 1, again: false };
}

async function take(client: Client, limit = 10): Promise<LeasedJob[]> {
  return (await client.leases.exchange([], claimOf(limit))).jobs;
}

async function complete(client: Client, { job, fence, facts }: LeasedJob): Promise<void> {
  const outcome = { kind: "completed", result: null, runMs: 1 } as const;
  const { results } = await client.leases.exchange([{ id: job.id, fence, facts, outcome }], null);
  expect(results).toEqual(["ok"]);
}

/** Repeats until the check passes: on PostgreSQL a place that was given back may count as taken for a second. */
async function eventually<Answer>(read: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await read();
    if (isDone(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Limits: how they are set, shown and refused, and what of them crosses the wire. What a claim does with them, the store suite proves. */
export function limitSuite(promises: Promises): void {
  const addOne = (client: Client, options: EnqueueOptions = {}) => client.enqueue("send", null, { queue: QUEUE, ...options });

  describe("limits of a queue", () => {
    const limits: LimitOptions = { running: 50, rate: "100/s", perKey: { running: 2, rate: "5/s", waiting: 10_000 } };
    const shown = { running: 50, rate: "100/s", burst: 1, perKey: { running: 2, rate: "5/s", burst: 1, waiting: 10_000 } };

    promises("are set by configure, shown with the queue, replaced as a whole, and removed", async (client) => {
      await client.configure(QUEUE, { limits });
      expect((await client.queue(QUEUE))?.limits).toEqual(shown);
      expect((await client.queues()).map((queue) => queue.limits)).toEqual([shown]);
      await client.configure(QUEUE, { capacity: 5 });
      expect((await client.queue(QUEUE))?.limits).toEqual(shown);
      await client.configure(QUEUE, { limits: shown });
      await client.configure(QUEUE, { limits: { rate: "20/10s", burst: 5 } });
      const none = { running: null, rate: null, waiting: null };
      expect((await client.queue(QUEUE))?.limits).toEqual({ running: null, rate: "20/10s", burst: 5, perKey: none });
      await client.configure(QUEUE, { limits: null });
      expect((await client.queue(QUEUE))?.limits).toBeNull();
    });

    promises("are refused with the name of the field", async (client) => {
      const refused = async (bad: unknown): Promise<unknown> =>
        client.configure(QUEUE, { limits: bad as LimitOptions }).then(
          () => "accepted",
          ({ code, field }: { code: string; field: string }) => `${code} ${field}`,
        );
      expect(await refused({ running: 0 })).toBe("invalid_input limits.running");
      expect(await refused({ running: 1.5 })).toBe("invalid_input limits.running");
      expect(await refused({ running: Number.NaN })).toBe("invalid_input limits.running");
      expect(await refused({ rate: "fast" })).toBe("invalid_input limits.rate");
      expect(await refused({ rate: "0/s" })).toBe("invalid_input limits.rate");
      expect(await refused({ rate: "-1/s" })).toBe("invalid_input limits.rate");
      expect(await refused({ rate: "5/s", burst: 0 })).toBe("invalid_input limits.burst");
      expect(await refused({ burst: 2 })).toBe("invalid_input limits.burst");
      expect(await refused({ perKey: { waiting: -1 } })).toBe("invalid_input limits.perKey.waiting");
      expect(await refused({ perKey: { rate: 5 } })).toBe("invalid_input limits.perKey.rate");
      expect(await refused({ perKey: { weight: 2 } })).toBe("invalid_input limits.perKey.weight");
      expect(await refused({ runing: 1 })).toBe("invalid_input limits.runing");
      expect(await refused(5)).toBe("invalid_input limits");
      await expect(client.configure("mail~webhooks", { limits })).rejects.toMatchObject({ code: "invalid_input", field: "queue" });
      expect(await client.queue(QUEUE)).toBeNull();
    });
  });

  describe("limits of single keys", () => {
    /** Whatever a URL, a query or a table could trip over. */
    const ODD = [
      "customer-7",
      "acme/eu",
      "50% off",
      "a b?c#d",
      "é✓",
      "keys",
      "without-key",
      "null",
      "x".repeat(255),
      "a,b",
      '"q"',
      "\\",
      "...",
    ];

    promises("are set, read, listed in pages and removed, for any key", async (client) => {
      for (const key of ODD) await client.limits.set(QUEUE, key, { running: 10, rate: "50/s", weight: 3 });
      await client.limits.set(QUEUE, null, { weight: 7 });
      for (const key of ODD) expect(await client.limits.get(QUEUE, key)).toEqual({ running: 10, rate: "50/s", burst: 1, weight: 3 });
      expect(await client.limits.get(QUEUE, null)).toEqual({ weight: 7 });
      const listed: (string | null)[] = [];
      let cursor: string | null | undefined = undefined;
      do {
        const page: Awaited<ReturnType<typeof client.limits.list>> = await client.limits.list(QUEUE, { limit: 4, cursor });
        listed.push(...page.keys.map(({ key }) => key));
        ({ cursor } = page);
      } while (cursor !== null);
      const sorted = ODD.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(listed).toEqual([null, ...sorted]);
      const whole = await client.limits.list(QUEUE);
      expect(whole).toMatchObject({ cursor: null });
      expect(whole.keys[0]).toEqual({ key: null, limits: { weight: 7 } });
      for (const key of [null, ...ODD]) {
        expect(await client.limits.remove(QUEUE, key)).toBe(true);
        expect(await client.limits.remove(QUEUE, key)).toBe(false);
        expect(await client.limits.get(QUEUE, key)).toBeNull();
      }
      expect(await client.limits.list(QUEUE)).toEqual({ keys: [], cursor: null });
    });

    promises("replace the ones before; null means no limit, and nothing means none of its own", async (client) => {
      await client.limits.set(QUEUE, "acme", { running: 1, waiting: 5 });
      await client.limits.set(QUEUE, "acme", { running: null, rate: null });
      expect(await client.limits.get(QUEUE, "acme")).toEqual({ running: null, rate: null });
      await client.limits.set(QUEUE, "acme", {});
      expect(await client.limits.get(QUEUE, "acme")).toBeNull();
    });

    promises("are refused with the name of the field, and for a queue that does not exist if it must not be made", async (client) => {
      const refused = async (key: unknown, bad: unknown, queue = QUEUE, options = {}): Promise<unknown> =>
        client.limits.set(queue, key as string, bad as OneKeyLimitOptions, options).then(
          () => "accepted",
          ({ code, field }: { code: string; field: string }) => `${code} ${field}`,
        );
      expect(await refused("acme", { weight: 0 })).toBe("invalid_input weight");
      expect(await refused("acme", { weight: 101 })).toBe("invalid_input weight");
      expect(await refused("acme", { running: -1 })).toBe("invalid_input running");
      expect(await refused("acme", { rate: "5 per second" })).toBe("invalid_input rate");
      expect(await refused("acme", { burst: 1 })).toBe("invalid_input burst");
      expect(await refused("acme", { perKey: {} })).toBe("invalid_input perKey");
      expect(await refused(null, { running: 1 })).toBe("invalid_input running");
      expect(await refused("x".repeat(256), { running: 1 })).toBe("invalid_input key");
      expect(await refused("é".repeat(128), { running: 1 })).toBe("invalid_input key");
      expect(await refused("", { running: 1 })).toBe("invalid_input key");
      expect(await refused(7, { running: 1 })).toBe("invalid_input key");
      expect(await refused("acme", { running: 1 }, "mail~webhooks")).toBe("invalid_input queue");
      expect(await refused("acme", { running: 1 }, "nowhere", { create: false })).toBe("not_found queue");
      await expect(client.limits.list(QUEUE, { cursor: "?" })).rejects.toMatchObject({ code: "invalid_cursor" });
      await expect(client.limits.list(QUEUE, { limit: 0 })).rejects.toMatchObject({ code: "invalid_input", field: "limit" });
      await expect(client.limits.use(QUEUE, { keys: [""] })).rejects.toMatchObject({ code: "invalid_input", field: "keys[0]" });
      expect(await client.queues()).toEqual([]);
      expect(await client.limits.list("nowhere")).toEqual({ keys: [], cursor: null });
      expect(await client.limits.get("nowhere", "acme")).toBeNull();
      expect(await client.limits.use("nowhere")).toBeNull();
    });

    promises("leave entries in the audit, one for each change", async (client) => {
      await client.limits.set(QUEUE, "acme", { running: 2 }, { reason: "they pay more" });
      await client.limits.set(QUEUE, "acme", { running: 2 });
      await client.limits.remove(QUEUE, "acme", { reason: "they left" });
      await client.limits.remove(QUEUE, "acme");
      const { entries } = await client.audit({ queue: QUEUE });
      expect(entries.map(({ action, details, reason }) => [action, details, reason])).toEqual([
        ["limits:removed", "key=acme", "they left"],
        ["limits:set", "key=acme running=2", "they pay more"],
      ]);
    });
  });

  describe("the use of limits", () => {
    promises("shows what runs, waits and is held, the busiest keys first, or the keys that were asked for", async (client, { direct }) => {
      await client.configure(QUEUE, { limits: { running: 5, rate: "1000/s", burst: 1000, perKey: { running: 2 } } });
      await client.limits.set(QUEUE, "acme", { running: 3, weight: 2 });
      for (const limitKey of ["acme", "acme", "globex", "globex", "globex"]) await addOne(client, { limitKey });
      await addOne(client, { limitKey: "acme", delay: "1h" });
      const jobs = await take(direct);
      const ofAcme = jobs.filter(({ job }) => job.limitKey === "acme").map(({ job }) => job.id);
      const use = await client.limits.use(QUEUE);
      expect(use).toMatchObject({ queue: QUEUE, limits: { running: 5, perKey: { running: 2 } }, running: 4, nextStartAt: null });
      const acme = use!.keys.find(({ key }) => key === "acme")!;
      expect(acme).toEqual({
        key: "acme",
        running: 2,
        waiting: 1,
        limits: { running: 3, rate: null, waiting: null, weight: 2 },
        own: { running: 3, weight: 2 },
        heldUntil: null,
        nextStartAt: null,
        holders: expect.arrayContaining(ofAcme) as string[],
      });
      const asked = await client.limits.use(QUEUE, { keys: ["nobody", "globex"] });
      expect(asked?.keys).toMatchObject([
        { key: "nobody", running: 0, waiting: 0, limits: { running: 2, weight: 1 }, own: null, holders: [] },
        { key: "globex", running: 2, waiting: 1, limits: { running: 2, weight: 1 }, own: null },
      ]);
      expect(use!.keys.map(({ key }) => key)).toEqual(["acme", "globex"]);
    });
  });

  describe("a job with a limit key", () => {
    promises("keeps its key and cost, from enqueue, definitions, many and schedules, and is found by its key", async (client) => {
      const send = defineJob({ type: "send", queue: QUEUE, limitKey: "usual", cost: 3 });
      const own = await addOne(client, { limitKey: "acme", cost: 7 });
      expect(own).toMatchObject({ limitKey: "acme", cost: 7 });
      const defined = await client.enqueue(send, null);
      expect(await client.get(defined.id)).toMatchObject({ limitKey: "usual", cost: 3 });
      const plain = await client.enqueue("send", null, { queue: QUEUE });
      expect(await client.get(plain.id)).toMatchObject({ limitKey: null, cost: 1 });
      const [many] = await client.enqueueMany([{ type: "send", queue: "other", limitKey: "acme" }]);
      await client.schedules.upsert({ name: "nightly", every: "1d", type: "send", queue: QUEUE, limitKey: "acme", cost: 2 });
      expect(await client.schedules.get("nightly")).toMatchObject({ limitKey: "acme", cost: 2 });
      const run = await client.schedules.run("nightly");
      expect(run).toMatchObject({ limitKey: "acme", cost: 2 });
      expect(many?.ok).toBe(true);
      const ids = [own.id, run.id, many?.ok ? many.job.id : ""].sort();
      expect((await client.list({ limitKey: "acme" })).jobs.map(({ id }) => id).sort()).toEqual(ids);
      expect(await client.count({ limitKey: "acme" })).toEqual({ count: 3, isCapped: false });
      expect(await client.count({ limitKey: "acme", queue: QUEUE })).toEqual({ count: 2, isCapped: false });
      expect((await client.dead.list({ limitKey: "acme" })).jobs).toEqual([]);
      const operation = await client.bulk.start({ action: "cancel", filter: { limitKey: "acme" } });
      expect(operation.filter).toMatchObject({ limitKey: "acme" });
      await client.wait(operation.id);
      expect(await client.count({ status: "cancelled" })).toEqual({ count: 3, isCapped: false });
      expect((await client.get(defined.id))?.status).toBe("pending");
    });

    promises("is refused if the key or the cost is none", async (client) => {
      const refused = async (options: object): Promise<unknown> =>
        client.enqueue("send", null, options).then(
          () => "accepted",
          ({ code, field }: { code: string; field: string }) => `${code} ${field}`,
        );
      expect(await refused({ limitKey: "" })).toBe("invalid_input limitKey");
      expect(await refused({ limitKey: "x".repeat(256) })).toBe("invalid_input limitKey");
      expect(await refused({ limitKey: 7 })).toBe("invalid_input limitKey");
      expect(await refused({ cost: 0 })).toBe("invalid_input cost");
      expect(await refused({ cost: 1.5 })).toBe("invalid_input cost");
      expect(await refused({ cost: 1_000_001 })).toBe("invalid_input cost");
      await expect(client.list({ limitKey: "" })).rejects.toMatchObject({ code: "invalid_input", field: "limitKey" });
    });

    promises("is refused while its key has as many waiting jobs as it may; other keys and jobs without a key are not", async (client) => {
      await client.configure(QUEUE, { limits: { perKey: { waiting: 1 } } });
      await addOne(client, { limitKey: "acme" });
      await expect(addOne(client, { limitKey: "acme" })).rejects.toMatchObject({
        code: "queue_full",
        field: "limitKey",
        message: expect.stringContaining("acme") as string,
      });
      await addOne(client, { limitKey: "globex" });
      await addOne(client);
      await addOne(client);
    });

    promises("explains why it waits: for the running limit of its key, of its queue, and for a rate", async (client, { direct }) => {
      await client.configure(QUEUE, { limits: { running: 2, perKey: { running: 1 } } });
      await addOne(client, { limitKey: "acme" });
      const second = await addOne(client, { limitKey: "acme" });
      const [first] = await take(direct, 1);
      const byKey = (await client.explain(second.id)).reasons.find(({ code }) => code === "limit_running");
      expect(byKey).toMatchObject({ queue: QUEUE, limitKey: "acme", limit: 1, running: 1, holders: [first!.job.id] });
      await client.configure(QUEUE, { limits: { running: 1 } });
      const byQueue = (await client.explain(second.id)).reasons.find(({ code }) => code === "limit_running");
      expect(byQueue).toMatchObject({ limitKey: null, limit: 1, running: 1, holders: [first!.job.id] });
      await client.configure(QUEUE, { limits: { rate: "1/h" } });
      await complete(direct, first!);
      await eventually(
        () => take(direct, 1),
        ({ length }) => length === 1,
      );
      const third = await addOne(client);
      const byRate = (await client.explain(third.id)).reasons.find(({ code }) => code === "limit_rate");
      expect(byRate).toMatchObject({ queue: QUEUE, limitKey: null, rate: "1/h" });
      expect((byRate as { until: number }).until).toBeGreaterThan(Date.now() + 3_000_000);
      expect((await client.limits.use(QUEUE))?.nextStartAt).toBeGreaterThan(Date.now() + 3_000_000);
    });
  });

  describe("a worker with limits", () => {
    promises("runs as many at once as the limit of the queue and of each key allows, and ends all", async (client) => {
      await client.configure(QUEUE, { limits: { running: 3, perKey: { running: 1 } } });
      const jobs = [];
      for (let index = 0; index < 12; index++) jobs.push(await addOne(client, { limitKey: `key-${index % 4}` }));
      const running = new Map<string, number>();
      let most = 0;
      let mostOfKey = 0;
      const worker = client.work(
        {
          send: async (_payload, { job }) => {
            const key = job.limitKey!;
            running.set(key, (running.get(key) ?? 0) + 1);
            most = Math.max(
              most,
              [...running.values()].reduce((sum, count) => sum + count, 0),
            );
            mostOfKey = Math.max(mostOfKey, running.get(key)!);
            await new Promise((resolve) => setTimeout(resolve, 5));
            running.set(key, running.get(key)! - 1);
          },
        },
        { queues: [QUEUE], concurrency: 10 },
      );
      for (const { id } of jobs) expect(await client.wait(id)).toMatchObject({ status: "completed" });
      await worker.stop();
      expect(most).toBeLessThanOrEqual(3);
      expect(mostOfKey).toBe(1);
    });

    promises("starts what waits for a rate when the rate lets it", async (client) => {
      await client.configure(QUEUE, { limits: { rate: "1/100ms" } });
      const jobs = [await addOne(client), await addOne(client), await addOne(client)];
      const worker = client.work({ send: () => {} }, { queues: [QUEUE] });
      for (const { id } of jobs) expect(await client.wait(id)).toMatchObject({ status: "completed" });
      await worker.stop();
    });

    promises("holds a key with HoldKey: the job keeps its place and counts a snooze, other keys go on", async (client) => {
      const held = await addOne(client, { limitKey: "acme" });
      const next = await addOne(client, { limitKey: "acme" });
      const other = await addOne(client, { limitKey: "globex" });
      const snoozed: string[] = [];
      const ran: string[] = [];
      const worker = client.work(
        {
          send: (_payload, { job }) => {
            if (job.id === held.id && !ran.includes(job.id)) {
              ran.push(job.id);
              throw new HoldKey("1h");
            }
            ran.push(job.id);
          },
        },
        { queues: [QUEUE], concurrency: 1, ahead: 0 },
      );
      worker.on("snoozed", ({ id }) => snoozed.push(id));
      await client.wait(other.id);
      await eventually(
        async () => snoozed,
        ({ length }) => length > 0,
      );
      expect(snoozed).toEqual([held.id]);
      expect(await client.get(held.id)).toMatchObject({ status: "pending", attempt: 0, retryCount: 0 });
      expect(await client.get(next.id)).toMatchObject({ status: "pending" });
      // The entry of the worker may still be on its way: nobody waits for it.
      const { reasons } = await eventually(
        () => client.explain(next.id),
        (explained) => explained.reasons[0]?.code !== "no_worker",
      );
      expect(reasons[0]).toMatchObject({ code: "key_held", queue: QUEUE, limitKey: "acme" });
      const [acme] = (await client.limits.use(QUEUE, { keys: ["acme"] }))!.keys;
      expect(acme?.heldUntil).toBeGreaterThan(Date.now() + 3_000_000);
      expect(acme?.nextStartAt).toBe(acme?.heldUntil);
      await worker.stop();
    });

    promises("snoozes a job without a key that throws HoldKey", async (client) => {
      const job = await addOne(client);
      const worker = client.work(
        {
          send: () => {
            throw new HoldKey("1h");
          },
        },
        { queues: [QUEUE] },
      );
      await eventually(
        async () => (await client.get(job.id))?.status,
        (status) => status === "scheduled",
      );
      await worker.stop();
    });

    promises("tells what a run spent, whether it succeeds or fails: later starts wait for it", async (client) => {
      for (const fails of [false, true]) {
        const queue = `${QUEUE}-${fails}`;
        await client.configure(queue, { limits: { rate: "1000/h", burst: 1000 } });
        const job = await client.enqueue("send", null, { queue, maxRetries: 0 });
        const refused: unknown[] = [];
        const worker = client.work(
          {
            send: (_payload, ctx) => {
              for (const bad of [-1, Number.NaN, Infinity, 1_000_000_001, "5"]) {
                try {
                  ctx.spend(bad as number);
                } catch (error) {
                  refused.push((error as { code: string }).code);
                }
              }
              ctx.spend(1500);
              ctx.spend(1500.5);
              if (fails) throw new Error("no");
            },
          },
          { queues: [queue] },
        );
        expect(await client.wait(job.id)).toMatchObject({ status: fails ? "dead" : "completed" });
        await worker.stop();
        expect(refused).toEqual(Array.from({ length: 5 }, () => "invalid_input"));
        // 3001.5 of 1000 units were used: about two hours of debt, less one unit.
        expect((await client.limits.use(queue))?.nextStartAt).toBeGreaterThan(Date.now() + 7_000_000);
      }
    });

    promises("that claims ahead of its slots gives back to the rate what it did not start", async (client) => {
      const all = 300;
      await client.configure(QUEUE, { limits: { rate: `${all}/d`, burst: all } });
      await client.enqueueMany(Array.from({ length: all }, () => ({ type: "send", queue: QUEUE })));
      const handler = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
      const worker = client.work({ send: handler }, { queues: [QUEUE], concurrency: 2, ahead: "1s" });
      await eventually(
        () => client.count({ status: "running" }),
        ({ count }) => count > 2,
      );
      await worker.stop();
      const { count: left } = await client.count({ status: "pending" });
      expect(left).toBeGreaterThan(0);
      // As many units as jobs are left, if and only if every job that was not started gave its unit back.
      expect(await take(client, all)).toHaveLength(left);
    });

    promises("is given what a job that never started took of a rate", async (client) => {
      await client.configure(QUEUE, { limits: { rate: "1/h" } });
      await addOne(client, { cost: 1 });
      const { jobs } = await client.leases.exchange([], claimOf(1));
      const [leased] = jobs;
      const again = await client.leases.exchange([], claimOf(1));
      expect(again.jobs).toEqual([]);
      const release = { id: leased!.job.id, fence: leased!.fence, facts: leased!.facts, outcome: { kind: "release" } } as const;
      await client.leases.exchange([{ ...release, unstarted: true }], null);
      const taken = await eventually(
        () => client.leases.exchange([], claimOf(1)),
        (answer) => answer.jobs.length === 1,
      );
      const [second] = taken.jobs;
      await client.leases.exchange([{ ...release, fence: second!.fence, facts: second!.facts }], null);
      const last = await client.leases.exchange([], claimOf(1));
      expect(last.jobs).toEqual([]);
      expect(last.againInMs).toBeGreaterThan(3_000_000);
    });
  });
}
