/** Real processes on one store, killed and stopped as they are in the world. One suite for every engine that several processes can share. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { type LedgerLine, readLedger } from "../faults/ledger.ts";
import { until } from "../faults/until.ts";
import { untilHurried } from "../faults/hurry.ts";
import { expectAllDoneOnce } from "../faults/verdict.ts";
import { startCli } from "./run-cli.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const JOBS = Number(process.env["MILLRACE_TEST_JOBS"] ?? 5000);
const KILLS = Number(process.env["MILLRACE_TEST_KILLS"] ?? 40);
const KILL_EVERY_MS = 300;
const program = (name: string): string => fileURLToPath(new URL(`./programs/${name}`, import.meta.url));

interface Setting {
  readonly url: string;
  readonly ledger: string;
  readonly client: Client;
  readonly worker: (options?: object) => Program;
  readonly producer: (count: number, options?: object) => Program;
  /** Resolves when so many attempts have begun, or those that are meant. */
  readonly started: (count: number) => Promise<void>;
  readonly ended: (isMeant: (line: LedgerLine) => boolean) => Promise<void>;
  readonly completed: (id: string) => Promise<void>;
}

/** The suite. `emptyStore` gives the URL of a store that nobody has used. */
export function processSuite(engine: string, emptyStore: () => string): void {
  async function setUp(): Promise<Setting> {
    const ledger = join(temporaryFolder(), "ledger.jsonl");
    const url = emptyStore();
    const client = await connect(url);
    onTestFinished(() => client.close());
    const lines = (op: LedgerLine["op"]): LedgerLine[] => readLedger(ledger).filter((line) => line.op === op);
    return {
      url,
      ledger,
      client,
      worker: (options = {}) => startProgram(program("worker.ts"), [url, ledger, JSON.stringify(options)]),
      producer: (count, options = {}) => startProgram(program("producer.ts"), [url, ledger, String(count), JSON.stringify(options)]),
      started: (count) => until(() => lines("start").length === count),
      ended: (isMeant) => until(() => lines("end").some(isMeant)),
      completed: (id) => until(async () => (await client.get(id))!.status === "completed"),
    };
  }

  /**
   * Kills, again and again, one of the workers that have come to work, but not the last of them: on a slow machine, where a new one takes
   * long to come, they would die faster than they work.
   */
  function keepKilling(workers: Program[], start: () => Program): { readonly count: () => number; readonly stop: () => void } {
    let kills = 0;
    const timer = setInterval(() => {
      const [victim, other] = workers.filter(({ output }) => output.stdout.includes("ready"));
      if (victim === undefined || other === undefined || kills === KILLS) return;
      victim.child.kill("SIGKILL");
      workers.splice(workers.indexOf(victim), 1, start());
      kills++;
    }, KILL_EVERY_MS);
    onTestFinished(() => clearInterval(timer));
    return { count: () => kills, stop: () => clearInterval(timer) };
  }

  describe(`processes on ${engine}`, () => {
    test("one that has closed its client ends by itself", async () => {
      const { url } = await setUp();
      const closing = startProgram(program("closes-its-client.ts"), [url]);
      await closing.printed("completed");
      closing.child.kill("SIGUSR2");
      expect(await closing.ended).toEqual({ code: 0, signal: null });
    });

    test(
      "workers that are killed lose no job, finish none that passed to another, and account for each attempt",
      { timeout: 300_000 },
      async () => {
        const { client, ledger, worker, producer } = await setUp();
        await client.configure("default", { retention: { count: JOBS * 2 } });
        const startWorker = (): Program => worker({ runMs: 10 });
        const workers = [startWorker(), startWorker(), startWorker()];
        const sender = producer(JOBS, { maxLost: 100, retryDelay: "20ms" });
        const nemesis = keepKilling(workers, startWorker);
        expect((await sender.ended).code).toBe(0);
        await until(async () => (await client.stats()).counts.completed >= JOBS * 0.9);
        nemesis.stop();
        await untilHurried(client, async () => (await client.stats()).counts.completed === JOBS);
        // One that is only starting knows nothing of signals yet.
        await Promise.all(workers.map((worker) => worker.printed("ready")));
        for (const { child } of workers) child.kill("SIGTERM");
        for (const { ended } of workers) expect((await ended).code).toBe(0);

        expect(nemesis.count()).toBeGreaterThan(3);
        const verdict = await expectAllDoneOnce(client, readLedger(ledger));
        expect(verdict.jobs).toBe(JOBS);
        expect(verdict.lostAttempts).toBeGreaterThan(0);
      },
    );

    test("a worker that was stopped for longer than its lease finishes nothing", async () => {
      const { client, worker, started, ended, completed } = await setUp();
      const first = worker({ runMs: 300, stubborn: true, concurrency: 1 });
      await first.printed("ready");
      const job = await client.enqueue("task", null, { retryDelay: "10ms" });
      await started(1);
      first.child.kill("SIGSTOP");
      const second = worker({ concurrency: 1 });
      await completed(job.id);
      first.child.kill("SIGCONT");
      await ended((line) => "attempt" in line && line.attempt === 1);
      first.child.kill("SIGTERM");
      expect((await first.ended).code).toBe(0);
      expect(await client.get(job.id)).toMatchObject({ status: "completed", attempt: 2, result: { attempt: 2 } });
      expect(await client.attempts(job.id)).toMatchObject([
        { number: 1, outcome: "failed", error: { kind: "lost" } },
        { number: 2, outcome: "completed" },
      ]);
      second.child.kill("SIGKILL");
    });

    test("a handler that blocks the event loop for three leases keeps its job", async () => {
      const { client, worker, ledger, started, completed } = await setUp();
      const busy = worker({ runMs: 3500, concurrency: 1 });
      await busy.printed("ready");
      const job = await client.enqueue("block");
      await started(1);
      worker({ concurrency: 1 });
      await completed(job.id);
      expect(readLedger(ledger).filter(({ op }) => op === "start")).toHaveLength(1);
      expect(await client.get(job.id)).toMatchObject({ attempt: 1, result: { attempt: 1 } });
    });

    test("a cancel reaches a handler in another process", async () => {
      const { client, worker, started } = await setUp();
      const other = worker({ runMs: 600_000, concurrency: 1, lease: "30s" });
      await other.printed("ready");
      const job = await client.enqueue("task");
      await started(1);
      await client.cancel(job.id);
      expect(await client.get(job.id)).toMatchObject({ status: "cancelled", error: { kind: "cancelled" } });
      // The handler rejects with its signal and frees its only slot: the next job starts.
      await client.enqueue("task");
      await started(2);
      expect(await client.get(job.id)).toMatchObject({ status: "cancelled" });
    });

    test("SIGTERM lets short handlers finish and gives long ones back at no cost", async () => {
      const { client, worker, started } = await setUp();
      const short = worker({ runMs: 500, concurrency: 5, grace: "6s" });
      const jobs = await Promise.all(Array.from({ length: 5 }, () => client.enqueue("task")));
      await started(5);
      short.child.kill("SIGTERM");
      expect(await short.ended).toEqual({ code: 0, signal: null });
      for (const { id } of jobs) expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 1 });

      const long = worker({ runMs: 600_000, stubborn: true, concurrency: 5, grace: "1s" });
      const kept = await Promise.all(Array.from({ length: 5 }, () => client.enqueue("task")));
      await started(10);
      long.child.kill("SIGTERM");
      expect(await long.ended).toEqual({ code: 0, signal: null });
      for (const { id } of kept) expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0, retryCount: 0 });
      expect(await client.workers()).toEqual([]);
    });

    test("a bulk operation whose process is killed is finished by one that serves", { timeout: 120_000 }, async () => {
      const { client, url } = await setUp();
      await client.enqueueMany(Array.from({ length: 20_000 }, () => ({ type: "many" })));
      const dying = startProgram(program("dies-in-a-bulk-operation.ts"), [url]);
      expect(await dying.ended).toEqual({ code: null, signal: "SIGKILL" });
      const id = dying.output.stdout.trim();
      const left = (await client.bulk.get(id))!;
      expect(left).toMatchObject({ status: "running", failed: 0 });
      expect(left.processed).toBeLessThan(20_000);
      const server = startCli(["server", "--port", "0"], { cwd: temporaryFolder(), env: { MILLRACE_URL: url } });
      await until(async () => (await client.bulk.get(id))!.status !== "running");
      const done = (await client.bulk.get(id))!;
      expect(done).toMatchObject({ status: "completed", failed: 0 });
      expect((await client.stats()).counts).toMatchObject({ cancelled: 20_000, pending: 0 });
      // The batch that it died in may have been done and not counted.
      expect(done.succeeded).toBeGreaterThanOrEqual(19_500);
      expect(await client.get(id)).toMatchObject({ attempt: 2 });
      server.child.kill("SIGTERM");
      expect((await server.ended).code).toBe(0);
    });

    test("a second SIGTERM ends the process at once, and the job runs again elsewhere", async () => {
      const { client, worker, started, completed } = await setUp();
      const first = worker({ runMs: 600_000, stubborn: true, concurrency: 1 });
      const job = await client.enqueue("task", null, { retryDelay: "10ms" });
      await started(1);
      first.child.kill("SIGTERM");
      await until(async () => (await client.workers())[0]?.state === "stopping");
      first.child.kill("SIGTERM");
      expect(await first.ended).toEqual({ code: 1, signal: null });
      worker({ concurrency: 1 });
      await completed(job.id);
    });
  });
}
