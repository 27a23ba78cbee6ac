/** The store is down at the start, goes away for a while, or is out of reach. Nobody has to start anything anew. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, type ConnectOptions } from "millrace";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { readLedger } from "./ledger.ts";
import { ENGINES, type FaultyServer } from "./servers.ts";
import { until } from "./until.ts";
import { expectAllDoneOnce } from "./verdict.ts";

const JOBS = 400;
const AWAY = { code: "store_unavailable" };
const NOBODY = "0190d2f0-7b1a-7abc-8def-0123456789ab";
const program = (name: string): string => fileURLToPath(new URL(`../e2e/programs/${name}`, import.meta.url));

describe.each(ENGINES)("$name", ({ start }) => {
  let server: FaultyServer;
  beforeAll(async () => void (server = await start()));
  afterAll(() => server.stop());

  async function open(url: string, options: ConnectOptions = {}): Promise<Client> {
    const client = await connect(url, { onTrouble: () => {}, ...options });
    // One that ended while the store was away gives the same answer again.
    onTestFinished(() => client.close({ grace: 0 }).catch((error: unknown) => expect(error).toMatchObject(AWAY)));
    return client;
  }

  function stall(): void {
    server.wire.stall();
    onTestFinished(() => server.wire.heal());
  }

  test("that is down at the start is waited for, up to the deadline", async () => {
    const { url } = server.store();
    await server.kill();
    await expect(connect(url, { deadline: "300ms" })).rejects.toMatchObject({
      ...AWAY,
      message: expect.stringContaining("(tried for 300 ms)") as string,
    });
    const connecting = open(url, { deadline: "30s" });
    await server.restart();
    const client = await connecting;
    expect(await client.enqueue("task")).toMatchObject({ status: "pending" });
  });

  test("that goes away fails calls at their deadline, and those that can wait for its return are answered", async () => {
    const { url } = server.store();
    const [patient, hasty] = [await open(url, { deadline: "30s" }), await open(url, { deadline: "2s" })];
    await patient.enqueue("task", 1);
    await server.kill();
    const waiting = patient.enqueue("task", 2);
    await expect(hasty.enqueue("task", 3)).rejects.toMatchObject(AWAY);
    await expect(hasty.stats()).rejects.toMatchObject(AWAY);
    await server.restart();
    expect(await waiting).toMatchObject({ status: "pending" });
    // The same client, some tries later: it has to find its way back by itself.
    await until(() =>
      hasty.enqueue("task", 4).then(
        () => true,
        () => false,
      ),
    );
    const payloads = (await patient.list()).jobs.map(async ({ id }) => (await patient.get(id))!.payload);
    expect(await Promise.all(payloads)).toEqual(expect.arrayContaining([1, 2, 4]) as unknown);
  });

  test("that goes away under processes that work finds them at work when it is back", { timeout: 120_000 }, async () => {
    const { url } = server.store();
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const client = await open(url, { deadline: "30s" });
    await client.configure("default", { retention: { count: 2 * JOBS } });
    const workers = [1, 2].map(() => startProgram(program("worker.ts"), [url, ledger, JSON.stringify({ runMs: 20, deadline: "1s" })]));
    await Promise.all(workers.map((worker) => worker.printed("ready")));
    const producer = startProgram(program("producer.ts"), [
      url,
      ledger,
      String(JOBS),
      JSON.stringify({ maxLost: 100, retryDelay: "20ms" }),
    ]);
    await until(() => readLedger(ledger).filter(({ op }) => op === "end").length > JOBS / 10);
    await server.kill();
    // Longer than any call waits: the workers have said so.
    await until(() => workers.every(({ output }) => output.stderr.includes("cannot reach the store and keeps trying")));
    await server.restart();
    await until(async () => (await client.stats()).counts.completed >= readLedger(ledger).filter(({ op }) => op === "accepted").length);
    await producer.ended;
    await until(async () => {
      const { scheduled, pending, running, retrying } = (await client.stats()).counts;
      return scheduled + pending + running + retrying === 0;
    });
    for (const { child } of workers) child.kill("SIGTERM");
    // An unhandled rejection would have ended one of them with another code.
    for (const { ended } of workers) expect(await ended).toEqual({ code: 0, signal: null });
    await expectAllDoneOnce(client, readLedger(ledger));
  });

  test("out of reach of a worker: its leases are lost, its handlers are told, and it works again when it can", async () => {
    const { url, wiredUrl } = server.store();
    const near = await open(url, { deadline: "30s" });
    const far = await open(wiredUrl, { deadline: "1s" });
    const told: unknown[] = [];
    const worker = far.work(
      {
        task: async (payload, { signal }) => {
          if (payload !== "long") return "far";
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          told.push(signal.reason);
          return "too late";
        },
      },
      { lease: "1s" },
    );
    const { id } = await near.enqueue("task", "long", { retryDelay: "10ms" });
    await until(() => worker.running === 1);
    stall();
    const other = near.work({ task: async () => "near" }, { lease: "1s" });
    expect(await near.wait(id)).toMatchObject({ status: "completed", result: "near", attempt: 2 });
    await until(() => told.length === 1 && !worker.healthy);
    expect(told).toMatchObject([{ why: "lost" }]);
    await other.stop();
    server.wire.heal();
    const next = await near.enqueue("task");
    expect(await near.wait(next.id)).toMatchObject({ status: "completed", result: "far" });
    expect(worker.healthy).toBe(true);
    expect(await near.get(id)).toMatchObject({ status: "completed", result: "near", attempt: 2 });
    expect(await near.attempts(id)).toMatchObject([{ error: { kind: "lost" } }, { outcome: "completed" }]);
  });

  test("out of reach of a worker that finishes meanwhile: its report comes when the job is another's, and changes nothing", async () => {
    const { url, wiredUrl } = server.store();
    const near = await open(url, { deadline: "30s" });
    const far = await open(wiredUrl, { deadline: "1s" });
    const [farMayEnd, nearMayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = far.work({ task: () => farMayEnd.promise.then(() => "far") }, { lease: "1s" });
    const { id } = await near.enqueue("task", null, { retryDelay: "10ms" });
    await until(() => late.running === 1);
    stall();
    farMayEnd.resolve();
    const other = near.work({ task: () => nearMayEnd.promise.then(() => "near") }, { lease: "1s" });
    await until(() => other.running === 1 && !late.healthy);
    server.wire.heal();
    // Its report is the first thing that it says.
    await until(() => late.healthy);
    expect(await near.get(id)).toMatchObject({ status: "running", attempt: 2, result: null });
    nearMayEnd.resolve();
    expect(await near.wait(id)).toMatchObject({ status: "completed", result: "near", attempt: 2 });
    expect(await near.stats()).toMatchObject({ totalProcessed: 1, totalRetried: 1 });
  });

  test("out of reach of a process that closes its client does not keep it from ending", async () => {
    const closing = startProgram(program("closes-its-client.ts"), [server.store().wiredUrl]);
    await closing.printed("completed");
    stall();
    closing.child.kill("SIGUSR2");
    expect(await closing.ended).toEqual({ code: 0, signal: null });
  });

  test("out of reach of a client that closes without a grace: what it has not answered fails, long before its deadline", async () => {
    const { wiredUrl } = server.store();
    const client = await open(wiredUrl, { deadline: "10m" });
    const worker = client.work({ task: () => new Promise(() => {}) });
    await client.enqueue("task");
    await until(() => worker.running === 1);
    stall();
    const ends = Promise.allSettled([client.enqueue("task"), client.stats(), client.get(NOBODY)]);
    await expect(client.close({ grace: 0 })).rejects.toMatchObject({
      ...AWAY,
      message: expect.stringContaining("of 1 job could not") as string,
    });
    expect((await ends).map((end) => (end as PromiseRejectedResult).reason as unknown)).toMatchObject([AWAY, AWAY, AWAY]);
  });
});
