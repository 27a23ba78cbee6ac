import { describe, expect } from "vitest";
import type { Client, EnqueuedJob } from "../../src/client/client.ts";
import type { CoalesceOptions } from "../../src/core/coalesce.ts";
import { Discard } from "../../src/core/control-errors.ts";
import type { Promises } from "./client.ts";

/** Runs jobs, and holds those whose payload says so until they are let go. */
class Worker {
  readonly ran: unknown[] = [];
  #gate = Promise.withResolvers<void>();
  #started = Promise.withResolvers<void>();

  constructor(client: Client) {
    client.work({
      sync: async (payload, ctx) => {
        this.ran.push(payload);
        if (payload === "dies") throw new Discard("it broke");
        if (payload !== "held") return;
        this.#started.resolve();
        await Promise.race([this.#gate.promise, new Promise((resolve) => ctx.signal.addEventListener("abort", resolve))]);
      },
    });
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  letGo(): void {
    this.#gate.resolve();
    [this.#gate, this.#started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  }
}

const enqueue = (client: Client, payload: unknown, coalesce: Partial<CoalesceOptions> = {}, options = {}): Promise<EnqueuedJob> =>
  client.enqueue("sync", payload, { coalesce: { key: "customer-7", ...coalesce }, ...options });

async function eventually<Answer>(read: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await read();
    if (isDone(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function coalesceSuite(promises: Promises): void {
  describe("a coalescing key", () => {
    promises("makes one job of all that are enqueued while it waits, with the latest payload", async (client) => {
      const first = await enqueue(client, 1, {}, { tags: ["a"], priority: "low" });
      expect(first).toMatchObject({ outcome: "created", created: true, status: "pending", coalesce: { key: "customer-7" }, parent: null });
      // It is in line already: it keeps its place, and all but its payload.
      const second = await enqueue(client, 2, {}, { tags: ["b"] });
      expect(second).toMatchObject({
        id: first.id,
        outcome: "merged",
        created: false,
        payload: 2,
        tags: ["a"],
        createdAt: first.createdAt,
      });
      expect(await enqueue(client, 3, { keep: "first" })).toMatchObject({ id: first.id, outcome: "skipped", payload: 2 });
      expect(await enqueue(client, 4, { key: "customer-8" })).toMatchObject({ outcome: "created" });
      expect(await enqueue(client, 5, {}, { queue: "other" })).toMatchObject({ outcome: "created" });
      expect((await client.list()).jobs).toHaveLength(3);
      const worker = new Worker(client);
      await client.wait(first.id);
      expect(worker.ran).toContain(2);
      // No key outlives its job.
      const next = await enqueue(client, 6);
      expect(next).toMatchObject({ outcome: "created" });
      expect(next.id).not.toBe(first.id);
      await client.wait(next.id);
    });

    promises("keeps what is enqueued while its job runs for one more, which begins when that has ended", async (client) => {
      const worker = new Worker(client);
      const first = await enqueue(client, "held");
      await worker.started;
      const again = await enqueue(client, "a");
      expect(again).toMatchObject({ outcome: "created", status: "blocked" });
      expect(again.id).not.toBe(first.id);
      expect(await enqueue(client, "b")).toMatchObject({ id: again.id, outcome: "merged", payload: "b" });
      expect(await enqueue(client, "c", { whileRunning: "skip" })).toMatchObject({ id: first.id, outcome: "skipped", payload: "held" });
      worker.letGo();
      expect(await client.wait(again.id)).toMatchObject({ status: "completed" });
      expect(worker.ran).toEqual(["held", "b"]);
      await client.wait((await enqueue(client, "d")).id);
      expect(worker.ran).toEqual(["held", "b", "d"]);
    });

    promises("cancels the job that runs, if it should, and the other follows at once", async (client) => {
      const worker = new Worker(client);
      const first = await enqueue(client, "held");
      await worker.started;
      const next = await enqueue(client, "new", { whileRunning: "cancel" });
      expect(await client.wait(next.id)).toMatchObject({ status: "completed" });
      expect(await client.get(first.id)).toMatchObject({ status: "cancelled" });
      expect(worker.ran).toEqual(["held", "new"]);
    });

    promises("takes the same call again for the same job", async (client) => {
      const worker = new Worker(client);
      const first = await enqueue(client, "held");
      await worker.started;
      const { id } = first;
      for (const whileRunning of ["again", "cancel"] as const) {
        expect(await enqueue(client, "held", { whileRunning }, { id })).toMatchObject({ id, status: "running" });
      }
      worker.letGo();
      expect(await client.wait(id)).toMatchObject({ status: "completed" });
      expect(worker.ran).toEqual(["held"]);
    });

    promises("of a full queue refuses all calls, and nothing is left behind", async (client) => {
      await client.configure("full", { capacity: 1 });
      await client.enqueue("sync", 0, { queue: "full" });
      const calls = await Promise.allSettled([1, 2, 3].map((payload) => enqueue(client, payload, { key: "f" }, { queue: "full" })));
      expect(calls.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      expect((await client.list({ queue: "full" })).jobs).toHaveLength(1);
    });

    promises("lets the follow-up be quiet, too", async (client) => {
      const worker = new Worker(client);
      await enqueue(client, "held");
      await worker.started;
      const next = await enqueue(client, "later", { quiet: "1h" });
      expect(next).toMatchObject({ status: "blocked" });
      worker.letGo();
      const opened = await eventually(
        () => client.get(next.id),
        (job) => job!.status !== "blocked",
      );
      expect(opened).toMatchObject({ status: "scheduled" });
      expect(opened!.scheduledAt! - next.createdAt).toBeGreaterThan(3_500_000);
    });

    promises("keeps the place of a debounced job that is due", async (client) => {
      const quiet = { quiet: "1ms", longest: "2ms" } as const;
      const { id } = await enqueue(client, 1, quiet, { tags: ["a"] });
      client.work({ other: () => {} });
      await eventually(
        () => client.get(id),
        (job) => job!.status === "pending",
      );
      const before = (await client.get(id))!;
      expect(await enqueue(client, 2, quiet, { tags: ["b"] })).toMatchObject({
        id,
        payload: 2,
        tags: ["a"],
        scheduledAt: before.scheduledAt,
      });
    });

    promises("is free once its job is dead, and what waited for it runs", async (client) => {
      const worker = new Worker(client);
      const dead = await enqueue(client, "dies");
      await eventually(
        () => client.get(dead.id),
        (job) => job?.status === "dead",
      );
      const next = await enqueue(client, "fine");
      expect(next).toMatchObject({ outcome: "created" });
      await client.wait(next.id);
      await client.remove(dead.id);
      expect(worker.ran).toEqual(["dies", "fine"]);
    });

    promises("waits until nothing was enqueued for a while, but not for ever", async (client) => {
      const quiet = { quiet: "1h", longest: "90m" } as const;
      const first = await enqueue(client, 1, quiet);
      expect(first).toMatchObject({ status: "scheduled", outcome: "created" });
      const due = first.scheduledAt!;
      expect(due - first.createdAt).toBe(3_600_000);
      const second = await enqueue(client, 2, quiet, { tags: ["b"], priority: "high", meta: { n: 2 } });
      const latest = { payload: 2, tags: ["b"], priority: 10, meta: { n: 2 } };
      expect(second).toMatchObject({ id: first.id, outcome: "merged", status: "scheduled", ...latest });
      expect(second.scheduledAt!).toBeGreaterThanOrEqual(due);
      const third = await enqueue(client, 3, { quiet: "2h", longest: "2h" });
      expect(third.scheduledAt! - first.createdAt).toBeLessThanOrEqual(7_200_000);
      expect(await enqueue(client, 4, { ...quiet, keep: "first" })).toMatchObject({ outcome: "merged", payload: 3 });
      const worker = new Worker(client);
      const soon = await enqueue(client, "now", { key: "other", quiet: "20ms" });
      await client.wait(soon.id);
      expect(worker.ran).toEqual(["now"]);
    });

    promises("starts one job in a time: the first at once, the last of the others at its end", async (client) => {
      const worker = new Worker(client);
      const every = { every: "1h" } as const;
      const first = await enqueue(client, "a", every);
      await client.wait(first.id);
      const second = await eventually(
        () => enqueue(client, "b", every),
        ({ outcome }) => outcome === "created",
      );
      expect(second).toMatchObject({ status: "scheduled" });
      expect(second.id).not.toBe(first.id);
      expect(second.scheduledAt! - first.createdAt).toBe(3_600_000);
      expect(await enqueue(client, "c", every)).toMatchObject({
        id: second.id,
        outcome: "merged",
        payload: "c",
        scheduledAt: second.scheduledAt,
      });
      expect(worker.ran).toEqual(["a"]);
    });

    promises("of many calls at once makes one job that waits", async (client) => {
      const jobs = await Promise.all(Array.from({ length: 30 }, (_, index) => enqueue(client, index)));
      expect(new Set(jobs.map(({ id }) => id)).size).toBe(1);
      expect(jobs.filter(({ outcome }) => outcome === "merged").length).toBeGreaterThanOrEqual(28);
      const { jobs: waiting } = await client.list({ status: "pending" });
      expect(waiting).toHaveLength(1);
      const worker = new Worker(client);
      await client.wait(jobs[0]!.id);
      expect(worker.ran).toHaveLength(1);
    });

    promises("is refused where it cannot be", async (client) => {
      await client.configure("full", { capacity: 1 });
      await client.enqueue("sync", 0, { queue: "full" });
      const bad: [coalesce: unknown, options: object, field: string, code: string][] = [
        [{}, {}, "coalesce.key", "invalid_input"],
        [{ key: "x".repeat(256) }, {}, "coalesce.key", "invalid_input"],
        [{ key: "k", quiet: "1h", longest: "1m" }, {}, "coalesce.longest", "invalid_input"],
        [{ key: "k", longest: "1m" }, {}, "coalesce.longest", "invalid_input"],
        [{ key: "k", quiet: "1m", every: "1m" }, {}, "coalesce.every", "invalid_input"],
        [{ key: "k", quiet: 0 }, {}, "coalesce.quiet", "invalid_input"],
        [{ key: "k", keep: "both" }, {}, "coalesce.keep", "invalid_input"],
        [{ key: "k", whileRunning: "wait" }, {}, "coalesce.whileRunning", "invalid_input"],
        [{ key: "k", often: true }, {}, "coalesce.often", "invalid_input"],
        [{ key: "k" }, { idempotencyKey: "i" }, "idempotencyKey", "invalid_input"],
        [{ key: "k", quiet: "1m" }, { delay: "1m" }, "delay", "invalid_input"],
        [{ key: "k" }, { queue: "full" }, "queue", "queue_full"],
      ];
      for (const [coalesce, options, field, code] of bad) {
        await expect(client.enqueue("sync", 1, { coalesce: coalesce as CoalesceOptions, ...options })).rejects.toMatchObject({
          code,
          field,
        });
      }
      const beside = [{ type: "sync", payload: 1, coalesce: { key: "k" } }];
      await expect(client.enqueueMany(beside, { tx: {} })).rejects.toMatchObject({ code: expect.stringMatching(/invalid/) });
      await enqueue(client, 1);
      await expect(client.enqueue("other", 1, { coalesce: { key: "customer-7" } })).rejects.toMatchObject({ code: "key_conflict" });
      // A refused call leaves nothing behind.
      await client.configure("full", { capacity: 2 });
      expect(await enqueue(client, 1, { key: "k" }, { queue: "full" })).toMatchObject({ outcome: "created" });
    });
  });
  describe("a job that must start in time", () => {
    promises("ends cancelled without its handler, whether nobody takes it or its worker comes late", async (client) => {
      const ran: unknown[] = [];
      const gate = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      client.work(
        {
          sync: async (payload) => {
            ran.push(payload);
            started.resolve();
            await gate.promise;
          },
        },
        { concurrency: 1, ahead: 0 },
      );
      const busy = await client.enqueue("sync", "busy", { startWithin: "1h" });
      await started.promise;
      const late = await client.enqueue("sync", "late", { startWithin: "20ms" });
      const nobody = await client.enqueue("unknown", "nobody", { startWithin: "20ms" });
      const [member] = Object.values((await client.flow([{ name: "a", type: "unknown", startWithin: "20ms" }])).jobs);
      expect(late).toMatchObject({ startWithin: 20 });
      for (const id of [late.id, nobody.id, member!]) {
        expect(await client.wait(id)).toMatchObject({
          status: "cancelled",
          attempt: 0,
          error: { name: "Expired", kind: "expired", message: expect.stringContaining("20ms") },
        });
      }
      gate.resolve();
      expect(await client.wait(busy.id)).toMatchObject({ status: "completed", startWithin: 3_600_000 });
      expect(ran).toEqual(["busy"]);
      await expect(client.enqueue("sync", 1, { startWithin: 0 })).rejects.toMatchObject({ code: "invalid_input", field: "startWithin" });
    });

    promises("that is in time runs, and so does one that was given back after it had started", async (client) => {
      const { id } = await client.enqueue("sync", 1, { startWithin: "1h" });
      client.work({ sync: () => "ran" });
      expect(await client.wait(id)).toMatchObject({ status: "completed", result: "ran" });
    });
  });
}
