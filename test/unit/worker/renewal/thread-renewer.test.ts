import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Client, LeasedJob, WorkerHandle } from "../../../../src/client/client.ts";
import { connect } from "../../../../src/connect.ts";
import type { WorkerEntry } from "../../../../src/core/worker-entry.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { ThreadRenewer } from "../../../../src/worker/renewal/thread-renewer.ts";
import type { GoneLease } from "../../../../src/worker/renewal/lease-book.ts";
import type { Renewer } from "../../../../src/worker/renewal/heartbeat.ts";
import type { Trouble } from "../../../../src/core/trouble.ts";
import { startWorker } from "../../../../src/worker/worker.ts";

const LEASE_MS = 1000;

const entry: WorkerEntry = {
  id: "w-test",
  host: "here",
  pid: 1,
  state: "busy",
  slots: 1,
  queues: ["default"],
  types: "*",
  startedAt: 0,
  running: [],
  runningCount: 1,
  processed: 0,
  perMinute: 0,
  abandoned: 0,
};

/** Blocks the event loop, as a handler that computes does. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("leases kept from a thread", () => {
  let folder: string;
  let url: string;
  let client: Client;
  let thread: ThreadRenewer;
  let renewer: Renewer;
  let gone: GoneLease[];
  let troubles: Trouble[];

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "millrace-thread-"));
    url = `sqlite:${path.join(folder, "app.db")}`;
    client = await connect(url);
    gone = [];
    troubles = [];
  });

  afterEach(async () => {
    await renewer.stop();
    await thread.close();
    await client.close();
    rmSync(folder, { recursive: true });
  });

  function open(threadUrl = url): void {
    thread = new ThreadRenewer({ url: threadUrl, deadlineMs: 10_000, leases: client.leases, clock: systemClock });
    renewer = thread.forWorker({
      leaseMs: LEASE_MS,
      entry: () => entry,
      onGone: (leases) => gone.push(...leases),
      onTrouble: (trouble) => troubles.push(trouble),
    });
  }

  async function claim(count = 1): Promise<LeasedJob[]> {
    await client.enqueueMany(Array.from({ length: count }, () => ({ type: "t" })));
    const { jobs } = await client.leases.exchange([], {
      workerId: "w-test",
      queues: ["default"],
      types: "*",
      limit: count,
      leaseMs: LEASE_MS,
      turn: 1,
      again: false,
    });
    return jobs;
  }

  function hold(jobs: readonly LeasedJob[], stopAfterMs: number | null = null): void {
    renewer.hold(jobs.map(({ job, fence }) => ({ id: job.id, fence, stopAfterMs })));
  }

  async function expiredAfterBlocking(ms: number): Promise<number> {
    const store = await openStore(url);
    block(ms);
    const { jobs } = await store.expired(100);
    await store.close();
    return jobs.length;
  }

  const ready = (): Promise<void> => vi.waitFor(() => expect(thread.isReady).toBe(true), { timeout: 20_000 });

  test("outlive a blocked event loop, and only those that are held", async () => {
    open();
    const [kept, dropped] = await claim(2);
    hold([kept!, dropped!]);
    await ready();
    renewer.drop([{ id: dropped!.job.id, fence: dropped!.fence }]);
    hold([kept!]);
    expect(await expiredAfterBlocking(2.5 * LEASE_MS)).toBe(1);
    await renewer.beatNow();
    expect(gone).toEqual([]);
  });

  test("are let go when their time to stop has come", async () => {
    open();
    hold(await claim(), 1);
    await ready();
    expect(await expiredAfterBlocking(2 * LEASE_MS)).toBe(1);
  });

  test("bring back a cancel with the next beat, but nothing about what is no longer held", async () => {
    open();
    const [running, ended] = await claim(2);
    hold([running!, ended!]);
    await ready();
    renewer.drop([{ id: ended!.job.id, fence: ended!.fence }]);
    await client.cancel(running!.job.id);
    await client.cancel(ended!.job.id);
    await renewer.beatNow();
    await vi.waitFor(() => expect(gone).toEqual([{ id: running!.job.id, fence: running!.fence, why: "cancelled" }]));
  });

  test("are renewed by the main loop where the thread cannot start, and that is told", async () => {
    open(`sqlite:${path.join(folder, "no", "such", "folder", "app.db")}`);
    const [job] = await claim();
    hold([job!]);
    await vi.waitFor(() => expect(troubles.map(({ kind }) => kind)).toEqual(["thread"]), { timeout: 20_000 });
    await client.cancel(job!.job.id);
    await renewer.beatNow();
    expect(gone).toEqual([{ id: job!.job.id, fence: job!.fence, why: "cancelled" }]);
    expect(await client.workers()).toEqual([expect.objectContaining({ id: "w-test" })]);
  });

  test("survive the death of their thread: another takes them over", async () => {
    const started: Worker[] = [];
    const remember = (worker: Worker): void => void started.push(worker);
    process.on("worker", remember);
    open();
    hold(await claim());
    await ready();
    await started[0]!.terminate();
    await vi.waitFor(() => expect(troubles.map(({ kind }) => kind)).toEqual(["thread"]));
    await vi.waitFor(() => expect(started).toHaveLength(2), { timeout: 20_000 });
    await ready();
    process.off("worker", remember);
    expect(await expiredAfterBlocking(2 * LEASE_MS)).toBe(0);
    expect(gone).toEqual([]);
  });

  test("are renewed by the main loop where a process may have no threads at all", async () => {
    open();
    const program = `
      import { connect } from "../../../../src/connect.ts";
      const client = await connect(${JSON.stringify(url)}, { onTrouble: ({ kind }) => console.log("trouble:", kind) });
      client.work({ t: (_, { job }) => new Promise((resolve) => setTimeout(resolve, 2500)) }, { lease: "1s" });
      const { id } = await client.enqueue("t");
      const { status, attempt } = await client.wait(id);
      console.log(status, attempt);
      await client.close();
    `;
    const flags = ["--permission", "--allow-fs-read=*", "--allow-fs-write=*", "--no-warnings"];
    const child = promisify(execFile)(process.execPath, [...flags, "--input-type=module", "--eval", program], {
      cwd: import.meta.dirname,
      timeout: 30_000,
    });
    expect((await child).stdout).toBe("trouble: thread\ncompleted 1\n");
  });

  test("do not keep a process alive that has nothing else to do", async () => {
    open();
    const program = `
      import { systemClock } from "../../../../src/lib/clock.ts";
      import { ThreadRenewer } from "../../../../src/worker/renewal/thread-renewer.ts";
      const leases = { extend: async () => ["ok"], register: async () => {} };
      const thread = new ThreadRenewer({ url: ${JSON.stringify(url)}, deadlineMs: 10_000, leases, clock: systemClock });
      const renewer = thread.forWorker({ leaseMs: 1000, entry: () => ({}), onGone() {}, onTrouble() {} });
      renewer.hold([{ id: "x", fence: 1, stopAfterMs: null }]);
      while (!thread.isReady) await new Promise((resolve) => setTimeout(resolve, 5));
      await renewer.stop();
      console.log("nothing else to do");
    `;
    const child = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: import.meta.dirname,
      timeout: 30_000,
    });
    expect((await child).stdout).toBe("nothing else to do\n");
  });

  test("end with their thread, which ends by itself while it still waits for its store", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const ended: number[] = [];
    process.once("worker", (worker: Worker) => worker.once("exit", (code) => ended.push(code)));
    open(`postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/db`);
    hold(await claim());
    await once(silent, "connection");
    await thread.close();
    // A thread that is stopped from outside ends with 1.
    expect(ended).toEqual([0]);
  });

  test("serve a worker from claim to stop", async () => {
    open();
    const worker: WorkerHandle = startWorker(
      client,
      {
        t: () => {
          block(1.5 * LEASE_MS);
          return "computed";
        },
      },
      { lease: LEASE_MS, concurrency: 3 },
      { clock: systemClock, renewer: thread.forWorker },
    );
    const jobs = await client.enqueueMany([1, 2].map(() => ({ type: "t" })));
    const ended = await Promise.all(jobs.map((answer) => client.wait(answer.ok ? answer.job.id : "")));
    expect(ended.map(({ status, result, attempt }) => [status, result, attempt])).toEqual([1, 2].map(() => ["completed", "computed", 1]));
    await worker.stop();
    expect((await client.workers()).map(({ id }) => id)).not.toContain(worker.id);
  });
});
