import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, type Job } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import { type LedgerLine, readLedger } from "./ledger.ts";
import { type Program, startProgram, temporaryFolder } from "./run-program.ts";

const JOBS = Number(process.env["MILLRACE_TEST_JOBS"] ?? 5000);
const KILLS = Number(process.env["MILLRACE_TEST_KILLS"] ?? 40);
const programs = new URL("./programs/", import.meta.url);
const program = (name: string): string => fileURLToPath(new URL(name, programs));

interface Setting {
  readonly url: string;
  readonly ledger: string;
  readonly client: Client;
  readonly worker: (options?: object) => Program;
  readonly producer: (count: number, options?: object) => Program;
  /** Resolves when a look at the store and the ledger satisfies the question. Polling: the facts are other processes'. */
  readonly until: (question: () => Promise<boolean> | boolean) => Promise<void>;
}

async function setUp(): Promise<Setting> {
  const folder = temporaryFolder();
  const url = `sqlite:${join(folder, "jobs.db")}`;
  const ledger = join(folder, "ledger.jsonl");
  const client = await connect(url);
  onTestFinished(() => client.close());
  return {
    url,
    ledger,
    client,
    worker: (options = {}) => startProgram(program("worker.ts"), [url, ledger, JSON.stringify(options)]),
    producer: (count, options = {}) => startProgram(program("producer.ts"), [url, ledger, String(count), JSON.stringify(options)]),
    until: async (question) => {
      while (!(await question())) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

async function allJobs(client: Client): Promise<Job[]> {
  const jobs: Job[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Client["list"]>> = await client.list({ limit: 1000, cursor });
    for (const job of page.jobs) jobs.push((await client.get(job.id))!);
    ({ cursor } = page);
  } while (cursor !== null);
  return jobs;
}

test("a process whose last worker has stopped ends by itself, also without close", async () => {
  const { url } = await setUp();
  const program = startProgram(fileURLToPath(new URL("stops-its-worker.ts", programs)), [url]);
  expect(await program.ended).toEqual({ code: 0, signal: null });
  expect(program.output.stdout).toContain("completed");
});

describe("processes on one SQLite file", () => {
  test(
    "workers that are killed lose no job, finish none that passed to another, and account for each attempt",
    { timeout: 300_000 },
    async () => {
      const { client, ledger, worker, producer, until } = await setUp();
      await client.configure("default", { retention: { count: JOBS * 2 } });
      const workers = [worker(), worker(), worker()];
      const sender = producer(JOBS, { maxRetries: 100, retryDelay: "20ms" });

      // Only one that has come to work is worth killing: on a slow machine the others would die before they have done anything, for ever.
      let kills = 0;
      const nemesis = setInterval(() => {
        const victim = workers.findIndex(({ output }) => output.stdout.includes("ready"));
        if (victim === -1 || kills === KILLS) return;
        workers[victim]!.child.kill("SIGKILL");
        workers.splice(victim, 1);
        workers.push(worker());
        kills++;
      }, 300);
      expect((await sender.ended).code).toBe(0);
      await until(async () => (await client.stats()).counts.completed >= JOBS * 0.9);
      clearInterval(nemesis);
      await until(async () => (await client.stats()).counts.completed === JOBS);
      for (const { child } of workers) child.kill("SIGTERM");
      for (const { ended } of workers) expect((await ended).code).toBe(0);

      const lines = readLedger(ledger);
      const jobs = new Map((await allJobs(client)).map((job) => [job.id, job]));
      expect(kills).toBeGreaterThan(3);
      expectNothingLost(lines, jobs);
      await expectEachAttemptAccountedFor(client, lines, jobs);
    },
  );

  test("a worker that was stopped for longer than its lease finishes nothing", async () => {
    const { client, ledger, worker, until } = await setUp();
    const first = worker({ runMs: 300, stubborn: true, concurrency: 1 });
    await first.printed("ready");
    const job = await client.enqueue("task", null, { retryDelay: "10ms" });
    await until(() => readLedger(ledger).some((line) => line.op === "start"));
    first.child.kill("SIGSTOP");
    const second = worker({ concurrency: 1 });
    await until(async () => (await client.get(job.id))!.status === "completed");
    first.child.kill("SIGCONT");
    await until(() => readLedger(ledger).some((line) => line.op === "end" && line.attempt === 1));
    first.child.kill("SIGTERM");
    await first.ended;
    const ended = (await client.get(job.id))!;
    expect(ended).toMatchObject({ status: "completed", attempt: 2, result: { attempt: 2 } });
    expect(await client.attempts(job.id)).toMatchObject([
      { number: 1, outcome: "failed", error: { kind: "lost" } },
      { number: 2, outcome: "completed" },
    ]);
    second.child.kill("SIGKILL");
  });

  test("a handler that blocks the event loop for three leases keeps its job", async () => {
    const { client, ledger, worker, until } = await setUp();
    const busy = worker({ runMs: 3500, concurrency: 1 });
    await busy.printed("ready");
    const job = await client.enqueue("block");
    await until(() => readLedger(ledger).some((line) => line.op === "start"));
    worker({ concurrency: 1 });
    await until(async () => (await client.get(job.id))!.status === "completed");
    expect(readLedger(ledger).filter((line) => line.op === "start")).toHaveLength(1);
    expect(await client.get(job.id)).toMatchObject({ attempt: 1, result: { attempt: 1 } });
  });

  test("a cancel reaches a handler in another process", async () => {
    const { client, ledger, worker, until } = await setUp();
    const other = worker({ runMs: 600_000, concurrency: 1, lease: "30s" });
    await other.printed("ready");
    const job = await client.enqueue("task");
    await until(() => readLedger(ledger).some((line) => line.op === "start"));
    await client.cancel(job.id);
    expect(await client.get(job.id)).toMatchObject({ status: "cancelled", error: { kind: "cancelled" } });
    // The handler rejects with its signal and frees its only slot: the next job starts.
    await client.enqueue("task");
    await until(() => readLedger(ledger).filter((line) => line.op === "start").length === 2);
    expect(await client.get(job.id)).toMatchObject({ status: "cancelled" });
  });

  test("SIGTERM lets short handlers finish and gives long ones back at no cost", async () => {
    const { client, ledger, worker, until } = await setUp();
    const short = worker({ runMs: 500, concurrency: 5, grace: "6s" });
    const jobs = await Promise.all(Array.from({ length: 5 }, () => client.enqueue("task")));
    await until(() => readLedger(ledger).filter((line) => line.op === "start").length === 5);
    short.child.kill("SIGTERM");
    expect(await short.ended).toEqual({ code: 0, signal: null });
    for (const { id } of jobs) expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 1 });

    const long = worker({ runMs: 600_000, stubborn: true, concurrency: 5, grace: "1s" });
    const kept = await Promise.all(Array.from({ length: 5 }, () => client.enqueue("task")));
    await until(() => readLedger(ledger).filter((line) => line.op === "start").length === 10);
    long.child.kill("SIGTERM");
    expect(await long.ended).toEqual({ code: 0, signal: null });
    for (const { id } of kept) expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0, retryCount: 0 });
    expect(await client.workers()).toEqual([]);
  });

  test("a second SIGTERM ends the process at once, and the job runs again elsewhere", async () => {
    const { client, ledger, worker, until } = await setUp();
    const first = worker({ runMs: 600_000, stubborn: true, concurrency: 1 });
    const job = await client.enqueue("task", null, { retryDelay: "10ms" });
    await until(() => readLedger(ledger).some((line) => line.op === "start"));
    first.child.kill("SIGTERM");
    await until(async () => (await client.workers())[0]?.state === "stopping");
    first.child.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 1, signal: null });
    worker({ concurrency: 1 });
    await until(async () => (await client.get(job.id))!.status === "completed");
  });
});

function expectNothingLost(lines: readonly LedgerLine[], jobs: ReadonlyMap<string, Job>): void {
  const accepted = lines.filter((line) => line.op === "accepted");
  expect(accepted).toHaveLength(JOBS);
  const ended = new Set(lines.filter((line) => line.op === "end").map((line) => line.id));
  const lost = accepted.filter(({ id }) => jobs.get(id)?.status !== "completed" || !ended.has(id));
  expect(lost).toEqual([]);
  expect(jobs.size).toBe(JOBS);
}

/** Every start in the ledger is an attempt in the history, once; and the attempt that completed a job was its last. */
async function expectEachAttemptAccountedFor(client: Client, lines: readonly LedgerLine[], jobs: ReadonlyMap<string, Job>): Promise<void> {
  const starts = new Map<string, number[]>();
  for (const { op, id, attempt } of lines) if (op === "start") starts.set(id, [...(starts.get(id) ?? []), attempt]);
  const wrong: unknown[] = [];
  for (const [id, job] of jobs) {
    const attempts = await client.attempts(id);
    const numbers = attempts.map((attempt) => attempt.number);
    const last = attempts.at(-1);
    const result = job.result as { attempt: number; fence: number; worker: string };
    const started = starts.get(id) ?? [];
    const sound =
      numbers.join() === Array.from({ length: job.attempt }, (_, index) => index + 1).join() &&
      new Set(started).size === started.length &&
      started.every((attempt) => attempt <= job.attempt) &&
      attempts.slice(0, -1).every((attempt) => attempt.outcome === "failed" && attempt.error?.kind === "lost") &&
      last?.outcome === "completed" &&
      result.attempt === job.attempt &&
      result.worker === last.workerId;
    if (!sound) wrong.push({ job, attempts, started });
  }
  expect(wrong).toEqual([]);
}
