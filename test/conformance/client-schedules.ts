import { describe, expect } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import type { Promises } from "./client.ts";

/** Schedules. */
export function scheduleSuite(promises: Promises): void {
  describe("schedules", () => {
    promises("are made, changed, listed and removed by name", async (client) => {
      const made = await client.schedules.upsert({
        name: "nightly",
        cron: "30 2 * * *",
        timeZone: "Europe/Berlin",
        type: "report",
        payload: { day: 1 },
        priority: "high",
        queue: "reports",
        maxRetries: 1,
        maxLost: 8,
        tags: ["n"],
        meta: { a: 1 },
        catchUp: "skip",
        overlap: "skip",
      });
      expect(made).toMatchObject({
        name: "nightly",
        cron: "30 2 * * *",
        every: null,
        timeZone: "Europe/Berlin",
        type: "report",
        payload: { day: 1 },
        priority: 10,
        queue: "reports",
        maxRetries: 1,
        maxLost: 8,
        retryDelay: 1000,
        timeout: 30_000,
        tags: ["n"],
        meta: { a: 1 },
        webhookUrl: null,
        catchUp: "skip",
        overlap: "skip",
        paused: false,
        lastRunAt: null,
        lastJobId: null,
      });
      expect(made.nextRunAt).toBeGreaterThan(Date.now());
      expect(await client.schedules.get("nightly")).toEqual(made);
      const changed = await client.schedules.upsert({ name: "nightly", every: "1h", type: "report" });
      expect(changed).toMatchObject({ cron: null, every: 3_600_000, payload: null, catchUp: "one" });
      expect(await client.schedules.list()).toEqual([changed]);
      expect(await client.schedules.remove("nightly")).toBe(true);
      expect(await client.schedules.remove("nightly")).toBe(false);
      expect(await client.schedules.get("nightly")).toBeNull();
    });

    promises("take a definition, with its options and schema", async (client) => {
      const report = defineJob({
        type: "report",
        input: z.object({ day: z.coerce.date() }),
        queue: "reports",
        timeout: "5m",
        maxRetries: 7,
        tags: ["nightly"],
        delay: "1h",
        idempotencyKey: "once",
      });
      const nightly = { name: "nightly", cron: "30 2 * * *", job: report } as const;
      const made = await client.schedules.create({ ...nightly, payload: { day: new Date(0) }, maxRetries: 2, queue: undefined });
      expect(made).toMatchObject({
        type: "report",
        queue: "reports",
        timeout: 300_000,
        maxRetries: 2,
        tags: ["nightly"],
        payload: { day: "1970-01-01T00:00:00.000Z" },
      });
      // At its ticks, one job for each: a delay or a key of the definition does not count.
      expect(await client.schedules.run("nightly")).toMatchObject({ status: "pending", queue: "reports", idempotencyKey: null });
      await expect(client.schedules.upsert({ ...nightly, payload: { day: "no day" } })).rejects.toMatchObject({
        code: "invalid_input",
        field: "payload.day",
      });
      expect(await client.schedules.get("nightly")).toMatchObject({ maxRetries: 2 });
      for (const wrong of [{ job: report, type: "report" }, { job: "report" }, { job: null }]) {
        await expect(client.schedules.upsert({ name: "s", every: "1d", ...wrong } as never)).rejects.toMatchObject({
          code: "invalid_input",
          field: "job",
        });
      }
    });

    promises("are made only if no other has the name", async (client) => {
      const nightly = { name: "nightly", cron: "30 2 * * *", type: "report", payload: { day: 1 } };
      const made = await client.schedules.create(nightly);
      expect(made).toMatchObject({ ...nightly, paused: false });
      for (const second of [nightly, { name: "nightly", every: "1h", type: "other" } as const]) {
        await expect(client.schedules.create(second)).rejects.toMatchObject({ code: "schedule_exists", field: "name" });
      }
      expect(await client.schedules.get("nightly")).toEqual(made);
      const tries = await Promise.allSettled(
        [1, 2, 3, 4].map((day) => client.schedules.create({ name: "race", every: "1h", type: "report", payload: { day } })),
      );
      expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
      await expect(client.schedules.create({ name: "bad name", every: "1h", type: "report" })).rejects.toMatchObject({ field: "name" });
    });

    promises("are paused, resumed, run by hand and previewed", async (client) => {
      await client.schedules.upsert({ name: "s", every: "1h", type: "report", payload: 7 });
      expect(await client.schedules.pause("s")).toMatchObject({ paused: true, nextRunAt: null });
      expect((await client.schedules.resume("s")).nextRunAt).not.toBeNull();
      const job = await client.schedules.run("s");
      expect(job).toMatchObject({ type: "report", payload: 7, status: "pending", created: true, pruned: false });
      expect(await client.get(job.id)).toMatchObject({ payload: 7 });
      const runs = await client.schedules.preview("s", 3);
      expect(runs.map((run) => run % 3_600_000)).toEqual([0, 0, 0]);
      expect(await client.schedules.preview({ cron: "0 0 1 1 *", timeZone: "UTC" }, 2)).toHaveLength(2);
      expect(await client.schedules.preview({ every: "1d" })).toHaveLength(10);
    });

    promises("tick by themselves", async (client) => {
      await client.schedules.upsert({ name: "s", every: "1s", type: "tick" });
      const worker = client.work({ tick: async () => "ticked" });
      while ((await client.stats()).totalProcessed === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      const schedule = await client.schedules.get("s");
      expect(schedule?.lastJobId).not.toBeNull();
      await worker.stop();
    });

    promises("that are not there, or cannot be, are refused by name", async (client) => {
      for (const call of [
        client.schedules.pause("s"),
        client.schedules.resume("s"),
        client.schedules.run("s"),
        client.schedules.preview("s"),
      ]) {
        await expect(call).rejects.toMatchObject({ code: "not_found", field: "name" });
      }
      for (const [schedule, field] of [
        [{ name: "s", type: "t" }, "cron"],
        [{ name: "s", type: "t", cron: "60 * * * *" }, "cron"],
        [{ name: "s", type: "t", cron: "* * * * *", timeZone: "Mars/Olympus" }, "timeZone"],
        [{ name: "s", type: "t", every: 1 }, "every"],
        [{ name: "no such name", type: "t", every: "1h" }, "name"],
        [{ name: "s", type: "no such type", every: "1h" }, "type"],
        [{ name: "s", type: "t", every: "1h", catchUp: "all" }, "catchUp"],
        [{ name: "s", type: "t", every: "1h", delay: 5 }, "delay"],
        [{ name: "s", type: "t", every: "1h", payload: () => {} }, "payload"],
        [null, "schedule"],
      ] as [never, string][]) {
        await expect(client.schedules.upsert(schedule)).rejects.toMatchObject({ code: "invalid_input", field });
      }
      expect(await client.schedules.list()).toEqual([]);
    });
  });
}
