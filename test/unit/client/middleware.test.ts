import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EnqueueItem, EnqueueMiddleware, Middleware } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect } from "../../../src/connect.ts";
import { JsonText } from "../../../src/core/json-text.ts";
import { openClient, spyOn } from "./open-client.ts";

/** Writes down what it sees, and hands it on as it is. */
function watch(): { readonly seen: (readonly EnqueueItem[])[]; readonly enqueue: EnqueueMiddleware } {
  const seen: (readonly EnqueueItem[])[] = [];
  return { seen, enqueue: (jobs, next) => (seen.push(jobs), next(jobs)) };
}

describe("enqueue through middleware", () => {
  test("is one call of the store for a batch, and single calls are gathered as before", async () => {
    const { client, store } = await openClient();
    client.use({ enqueue: watch().enqueue });
    const inserts = spyOn(store, "insert");
    await client.enqueueMany(Array.from({ length: 500 }, (_, n) => ({ type: "t", payload: n })));
    expect(inserts.map(([jobs]) => jobs.length)).toEqual([500]);
    await Promise.all(Array.from({ length: 50 }, () => client.enqueue("t")));
    expect(inserts.map(([jobs]) => jobs.length)).toEqual([500, 50]);
  });

  test("shows the options of the call, of the definition and of the client, and changes none of them", async () => {
    const { client } = await openClient({ defaults: { tags: ["default"], delay: "1h", maxRetries: 7 }, strictTypes: true });
    const { seen, enqueue } = watch();
    client.use({ enqueue });
    const report = defineJob({ type: "report", queue: "reports", maxRetries: 1, timeout: "5m" });
    const runAt = new Date(Date.UTC(2031, 0, 1));
    const job = await client.enqueue(report, { n: 1 }, { runAt, timeout: "1m" });
    expect(seen).toEqual([
      [{ type: "report", payload: { n: 1 }, queue: "reports", tags: ["default"], maxRetries: 1, timeout: "1m", runAt }],
    ]);
    expect(job).toMatchObject({ queue: "reports", tags: ["default"], maxRetries: 1, timeout: 60_000, scheduledAt: runAt.getTime() });
  });

  test("gives an item that names a type no options of the definition beside it", async () => {
    const { client } = await openClient();
    client.use({ enqueue: watch().enqueue });
    const report = defineJob({ type: "report", maxRetries: 7 });
    const results = await client.enqueueMany([report.job(1), { type: "report", payload: 2 }]);
    expect(results.map((result) => result.ok && result.job.maxRetries)).toEqual([7, 3]);
  });

  test("sees no job that cannot be read, and each is refused on its own", async () => {
    const { client } = await openClient();
    const { seen, enqueue } = watch();
    client.use({ enqueue });
    const wrong = [null, 5, { type: 5 }, { type: "t", tx: {} }, { type: "t", priority: 1000 }, { type: "not a type!" }];
    const results = await client.enqueueMany([...wrong, { type: "t" }] as never);
    expect(results.map((result) => (result.ok ? "ok" : result.error.code))).toEqual([...wrong.map(() => "invalid_input"), "ok"]);
    await expect(client.enqueue(5 as never)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(client.enqueue("t", null, 5 as never)).rejects.toMatchObject({ code: "invalid_input" });
    expect(seen.flat().map(({ type }) => type)).toEqual(["t", "not a type!", "t"]);
    await client.enqueue("t", null, null as never);
    expect(seen).toHaveLength(2);
  });

  test("keeps the text of a payload that it leaves as it is", async () => {
    const { client, store } = await openClient();
    const { seen, enqueue } = watch();
    client.use({ enqueue });
    const inserts = spyOn(store, "insert");
    await client.enqueue("t", new JsonText('{"n":9007199254740993}', { n: 9007199254740992 }));
    expect(seen[0]![0]!.payload).toEqual({ n: 9007199254740992 });
    expect(inserts[0]![0][0]!.payload).toBe('{"n":9007199254740993}');
  });

  test("stays in the caller's transaction", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-middleware-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await using client = await connect(`sqlite:${join(folder, "jobs.db")}`);
    const { seen, enqueue } = watch();
    client.use({ enqueue });
    const tx = new DatabaseSync(join(folder, "jobs.db"));
    tx.exec("begin immediate");
    await client.enqueue("t", 1, { tx });
    await client.enqueueMany([{ type: "t" }, { type: "t" }], { tx });
    await expect(client.enqueueMany([{ type: "t" }, null as never], { tx })).rejects.toMatchObject({ code: "invalid_input" });
    tx.exec("rollback");
    tx.close();
    expect(seen.map((jobs) => jobs.map((job) => "tx" in job))).toEqual([[false], [false, false]]);
    expect(await client.list()).toMatchObject({ jobs: [] });
  });

  test("refuses results that are not one for each job", async () => {
    const { client } = await openClient();
    client.use({ enqueue: async () => undefined as never });
    await expect(client.enqueue("t")).rejects.toThrow(/must be the list that next returns, with 1 results?; got undefined/);
  });
});

test("use refuses what is no middleware", async () => {
  const { client } = await openClient();
  for (const wrong of [null, {}, () => {}, { enqueue: 5 }, { handler: () => {} }]) {
    expect(() => client.use(wrong as Middleware)).toThrow(/middleware/);
  }
});

test("handlers of internal jobs are not wrapped", async () => {
  const { client, clock } = await openClient();
  const seen: string[] = [];
  client.use({ handle: (payload, { job }, next) => (seen.push(job.type), next(payload)) });
  const operation = await client.bulk.start({ action: "delete", all: true });
  await clock.advance("5s");
  expect(await client.bulk.get(operation.id)).toMatchObject({ status: "completed" });
  expect(seen).toEqual([]);
});
