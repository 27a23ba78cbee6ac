import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import type { Client, Context, WorkOptions } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect } from "../../../src/connect.ts";
import type { Job } from "../../../src/core/job.ts";
import { openStore } from "../../../src/store/open-store.ts";

describe("a handler that completes its job in a transaction of its own", () => {
  let folder: string;
  let client: Client;
  let db: DatabaseSync;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "millrace-complete-"));
    const file = path.join(folder, "app.db");
    client = await connect(`sqlite:${file}`);
    db = new DatabaseSync(file, { timeout: 1000 });
    db.exec("create table done (id text)");
  });

  afterEach(async () => {
    await client.close();
    db.close();
    rmSync(folder, { recursive: true });
  });

  async function run(handler: (ctx: Context) => Promise<unknown>, options: WorkOptions = {}): Promise<Job> {
    const { id } = await client.enqueue("t", null, { maxRetries: 0 });
    const worker = client.work({ t: (_payload, ctx) => handler(ctx) }, options);
    const job = await client.wait(id);
    await worker.stop();
    return job;
  }

  async function completeIn(ctx: Context, end: "commit" | "rollback"): Promise<void> {
    db.exec("begin immediate");
    db.prepare("insert into done values (?)").run(ctx.job.id);
    await ctx.complete({ by: "transaction" }, { tx: db });
    db.exec(end);
  }

  const rows = (): unknown => db.prepare("select count(*) as n from done").get()?.["n"];

  test("has completed it with the commit, and what it returns is not stored", async () => {
    const job = await run(async (ctx) => {
      await completeIn(ctx, "commit");
      return "something else";
    });
    expect(job).toMatchObject({ status: "completed", result: { by: "transaction" }, attempt: 1 });
    expect(rows()).toBe(1);
    expect(await client.stats()).toMatchObject({ totalProcessed: 1, totalFailed: 0 });
  });

  test("stores the output of the result's schema, and hears of a result that does not fit", async () => {
    const counted = defineJob({ type: "counted", output: z.object({ count: z.number() }), maxRetries: 0 });
    const refusals: unknown[] = [];
    const worker = client.work([
      counted.handle(async (_, ctx) => {
        db.exec("begin immediate");
        await ctx.complete({ count: "five" as never }, { tx: db }).catch((error: unknown) => refusals.push(error));
        const fitting = { count: 5, hidden: true };
        await ctx.complete(fitting, { tx: db });
        db.exec("commit");
        return { count: "not stored, so not checked" as never };
      }),
    ]);
    const { id } = await client.enqueue(counted);
    expect(await client.wait(counted, id)).toMatchObject({ status: "completed", result: { count: 5 } });
    expect(refusals).toMatchObject([{ name: "InvalidResult", message: expect.stringContaining("result.count: ") as string }]);
    await worker.stop();
  });

  test("has completed it also if it throws after the commit", async () => {
    const job = await run(async (ctx) => {
      await completeIn(ctx, "commit");
      throw new Error("too late to fail");
    });
    expect(job).toMatchObject({ status: "completed", result: { by: "transaction" }, error: null });
  });

  test("has failed if it rolls back and throws", async () => {
    const job = await run(async (ctx) => {
      await completeIn(ctx, "rollback");
      throw new Error("conflict");
    });
    expect(job).toMatchObject({ status: "dead", error: { message: "conflict" } });
    expect(rows()).toBe(0);
  });

  test("may roll back and do it again", async () => {
    const job = await run(async (ctx) => {
      await completeIn(ctx, "rollback");
      await completeIn(ctx, "commit");
    });
    expect(job).toMatchObject({ status: "completed", result: { by: "transaction" } });
    expect(rows()).toBe(1);
  });

  test("has completed it by returning, as any handler, if it rolled back and returns all the same", async () => {
    const job = await run((ctx) => completeIn(ctx, "rollback"));
    expect(job).toMatchObject({ status: "completed", result: { by: "transaction" } });
  });

  test("is refused, and aborted, when the lease is gone, so that it can roll back", async () => {
    let refusal: unknown;
    let isAborted = false;
    const job = await run(async (ctx) => {
      await client.cancel(ctx.job.id);
      await completeIn(ctx, "commit").catch((error: unknown) => (refusal = error));
      db.exec("rollback");
      isAborted = ctx.signal.aborted;
    });
    expect(job.status).toBe("cancelled");
    expect(refusal).toMatchObject({ code: "stale_lease" });
    expect(isAborted).toBe(true);
    expect(rows()).toBe(0);
  });

  test("is told what is wrong with its transaction or its result, and may go on", async () => {
    const refusals: unknown[] = [];
    const job = await run(async (ctx) => {
      await ctx.complete(1n, { tx: db }).catch((error: unknown) => refusals.push(error));
      await ctx.complete(1, { tx: {} }).catch((error: unknown) => refusals.push(error));
      return "by hand";
    });
    expect(job).toMatchObject({ status: "completed", result: "by hand" });
    expect(refusals).toEqual([
      expect.objectContaining({ code: "invalid_input", field: "result" }),
      expect.objectContaining({ code: "invalid_transaction" }),
    ]);
  });

  test("keeps its lease after a rollback, however long it goes on", async () => {
    const store = await openStore(`sqlite:${path.join(folder, "app.db")}`);
    const expired: number[] = [];
    let isAborted = true;
    const job = await run(
      async (ctx) => {
        for (let round = 0; round < 2; round++) {
          await completeIn(ctx, "rollback");
          await sleep(1500);
          expired.push((await store.expired(10)).jobs.length);
        }
        isAborted = ctx.signal.aborted;
      },
      { lease: "1s" },
    );
    await store.close();
    expect([job.status, job.attempt, isAborted, expired]).toEqual(["completed", 1, false, [0, 0]]);
  });

  test("is told of a cancel after a rollback", async () => {
    let reason: unknown;
    await run(
      async (ctx) => {
        await completeIn(ctx, "rollback");
        await client.cancel(ctx.job.id);
        await vi.waitFor(() => expect(ctx.signal.aborted).toBe(true), { timeout: 5000 });
        reason = ctx.signal.reason;
      },
      { lease: "1s" },
    );
    expect(reason).toMatchObject({ why: "cancelled" });
  });

  test("is not aborted because its own completion ended the lease", async () => {
    let isAborted = true;
    const { id } = await client.enqueue("t", null, { maxRetries: 0 });
    const worker = client.work(
      {
        t: async (_payload, ctx) => {
          await completeIn(ctx, "commit");
          ctx.log("the lease has ended, and this is refused");
          await sleep(2000);
          isAborted = ctx.signal.aborted;
        },
      },
      { lease: "1s" },
    );
    await vi.waitFor(() => expect(isAborted).toBe(false), { timeout: 10_000 });
    await worker.stop();
    expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("without a transaction is told which field is missing", async () => {
    const refusals: unknown[] = [];
    const complete = (ctx: Context): ((result: unknown, options?: unknown) => Promise<void>) => ctx.complete as never;
    await run(async (ctx) => {
      for (const options of [undefined, null, {}, 5, { tx: null }]) {
        await complete(ctx)(1, options).catch((error: unknown) => refusals.push(error));
      }
    });
    expect(refusals).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ code: "invalid_input", field: "tx" }) as unknown));
  });
});
