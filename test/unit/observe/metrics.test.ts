import { describe, expect, onTestFinished, test } from "vitest";
import type { LeasedJob } from "../../../src/client/client.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { TROUBLE_KINDS } from "../../../src/core/trouble.ts";
import { createServer } from "../../../src/http/server.ts";
import { type LeaseWatcher, watchLeases } from "../../../src/observe/lease-watch.ts";
import { Metrics, type MetricsOptions } from "../../../src/observe/metrics.ts";
import { type Opened, openClient } from "../client/open-client.ts";
import { type ReadFamily, readPrometheusText, valueOf } from "./prometheus-text.ts";

const FAILED: Outcome = { kind: "failed", error: { name: "Error", message: "boom", stack: null, kind: "error" }, runMs: 700 };
const DONE: Outcome = { kind: "completed", result: null, runMs: 40 };

interface Watched extends Opened {
  readonly metrics: Metrics;
  readonly leases: Opened["client"]["leases"];
  readonly read: () => Promise<Map<string, ReadFamily>>;
  readonly claim: (limit?: number, queue?: string) => Promise<readonly LeasedJob[]>;
  readonly report: (lease: LeasedJob, outcome: Outcome, fence?: number) => Promise<void>;
}

async function openWatched(options: Partial<MetricsOptions> = {}): Promise<Watched> {
  const opened = await openClient();
  const { client, clock } = opened;
  const metrics = new Metrics({ source: client, clock, version: "1.2.3", ...options });
  onTestFinished(() => metrics.stop());
  const leases = watchLeases(client.leases, [metrics.leases]);
  const request = { workerId: "w1", types: "*", leaseMs: 30_000, turn: 1, again: false } as const;
  return {
    ...opened,
    metrics,
    leases,
    read: async () => {
      await clock.advance("1s"); // figures are looked up once a second
      return readPrometheusText(await metrics.text());
    },
    claim: async (limit = 10, queue = "default") => (await leases.exchange([], { ...request, queues: [queue], limit })).jobs,
    report: async ({ job, fence, facts }, outcome, given = fence) => {
      await leases.exchange([{ id: job.id, fence: given, facts, outcome }], null);
    },
  };
}

describe("figures of the store", () => {
  test("tell the depth of each queue by status and by level", async () => {
    const { client, read } = await openWatched();
    await client.enqueueMany([{ type: "a" }, { type: "a", delay: "1h" }, { type: "a", queue: "mail", priority: "critical" }]);
    await client.pause("mail");
    await client.configure("mail", { capacity: 50 });
    const families = await read();
    expect(valueOf(families, "millrace_store_up")).toBe(1);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "default", status: "pending" })).toBe(1);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "default", status: "scheduled" })).toBe(1);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "default", status: "dead" })).toBe(0);
    expect(valueOf(families, "millrace_queue_waiting_jobs", { queue: "mail", priority: "critical" })).toBe(1);
    expect(valueOf(families, "millrace_queue_paused", { queue: "mail" })).toBe(1);
    expect(valueOf(families, "millrace_queue_paused", { queue: "default" })).toBe(0);
    expect(valueOf(families, "millrace_queue_capacity_jobs", { queue: "mail" })).toBe(50);
    expect(valueOf(families, "millrace_queue_capacity_jobs", { queue: "default" })).toBeUndefined();
  });

  test("tell how many jobs of a queue may run at once, beside how many do", async () => {
    const { client, claim, read } = await openWatched();
    await client.configure("mail", { limits: { running: 2 } });
    await client.configure("default", { limits: { perKey: { running: 1 } } });
    await client.enqueueMany(Array.from({ length: 3 }, () => ({ type: "a", queue: "mail" })));
    expect(await claim(10, "mail")).toHaveLength(2);
    const families = await read();
    expect(valueOf(families, "millrace_queue_running_limit_jobs", { queue: "mail" })).toBe(2);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "mail", status: "running" })).toBe(2);
    expect(valueOf(families, "millrace_queue_running_limit_jobs", { queue: "default" })).toBeUndefined();
    expect(valueOf(families, "millrace_claims_put_off_total")).toBe(0);
  });

  test("tell totals and throughput", async () => {
    const { client, clock, claim, report, read } = await openWatched();
    await client.enqueueMany([{ type: "a", maxRetries: 0 }, { type: "a" }, { type: "a" }]);
    const [first, second, third] = await claim();
    await report(first!, FAILED);
    await report(second!, FAILED);
    await report(third!, DONE);
    await clock.advance("1m");
    const families = await read();
    expect(valueOf(families, "millrace_jobs_enqueued_total")).toBe(3);
    expect(valueOf(families, "millrace_jobs_completed_total")).toBe(1);
    expect(valueOf(families, "millrace_jobs_failed_total")).toBe(1);
    expect(valueOf(families, "millrace_retries_total")).toBe(1);
    expect(valueOf(families, "millrace_jobs_completed_per_second")).toBeCloseTo(1 / 60);
  });

  test("tell workers and their slots", async () => {
    const { client, clock, read } = await openWatched();
    const worker = client.work({ a: () => new Promise((resolve) => clock.setTimer(() => resolve(null), 10_000)) }, { concurrency: 7 });
    await client.enqueue("a");
    await clock.advance("6s"); // a beat writes what a worker says about itself
    const families = await read();
    expect(valueOf(families, "millrace_workers", { state: "busy" })).toBe(1);
    expect(valueOf(families, "millrace_workers", { state: "idle" })).toBe(0);
    expect(valueOf(families, "millrace_worker_slots")).toBe(7);
    expect(valueOf(families, "millrace_worker_slots_used")).toBe(1);
    expect(valueOf(families, "millrace_worker_abandoned_handlers")).toBe(0);
    await clock.advance("10s");
    await worker.stop();
  });

  test("tell what a client may know beside that: how long the oldest has waited, and how many leases were lost", async () => {
    const { client, read } = await openWatched({
      source: {
        stats: async () => ({ ...(await client.stats()), totalLost: 3 }),
        queues: async () => (await client.queues()).map((queue) => ({ ...queue, oldestWaitingMs: 1500 })),
        workers: () => client.workers(),
      },
    });
    await client.enqueue("a");
    await client.flow([{ name: "a", type: "a" }]);
    const families = await read();
    expect(valueOf(families, "millrace_queue_oldest_waiting_seconds", { queue: "default" })).toBe(1.5);
    expect(valueOf(families, "millrace_leases_lost_total")).toBe(3);
    expect(valueOf(families, "millrace_flows", { status: "running" })).toBe(1);
    expect(valueOf(families, "millrace_flows", { status: "failed" })).toBe(0);
  });

  test("W34: of 10,000 queues are told by name for the first 100, and together for the rest", async () => {
    const { client, read, metrics } = await openWatched();
    for (let from = 0; from < 10_000; from += 1000) {
      await client.enqueueMany(
        Array.from({ length: 1000 }, (_, index) => ({ type: "a", queue: `q${String(from + index).padStart(5, "0")}` })),
      );
    }
    const families = await read();
    const queues = new Set(families.get("millrace_queue_jobs")!.samples.map(({ labels }) => labels["queue"]));
    expect(queues.size).toBe(101);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "q00000", status: "pending" })).toBe(1);
    expect(valueOf(families, "millrace_queue_jobs", { queue: "(other)", status: "pending" })).toBe(9900);
    expect(valueOf(families, "millrace_queue_paused", { queue: "(other)" })).toBe(0);
    expect((await metrics.text()).length).toBeLessThan(200_000);
  });

  test("are looked up once a second at most, and once for all who ask at a time", async () => {
    let looks = 0;
    const { client, clock, metrics } = await openWatched({
      source: {
        stats: () => {
          looks++;
          return client.stats();
        },
        queues: () => client.queues(),
        workers: () => client.workers(),
      },
    });
    await Promise.all(Array.from({ length: 20 }, () => metrics.text()));
    await metrics.text();
    expect(looks).toBe(1);
    await clock.advance("1s");
    await metrics.text();
    expect(looks).toBe(2);
  });
});

describe("a store that is away", () => {
  const gone = { queues: async () => [], workers: async () => [] };

  test("and says so leaves the figures of the process", async () => {
    const { read } = await openWatched({ source: { ...gone, stats: () => Promise.reject(new Error("away")) } });
    const families = await read();
    expect(valueOf(families, "millrace_store_up")).toBe(0);
    expect(families.get("millrace_queue_jobs")!.samples).toEqual([]);
    expect(families.get("millrace_jobs_completed_total")!.samples).toEqual([]);
    expect(valueOf(families, "process_resident_memory_bytes")).toBeGreaterThan(0);
  });

  test("and is silent keeps nobody for longer than 5 s, and is asked once only", async () => {
    let looks = 0;
    const stats = () => {
      looks++;
      return new Promise<never>(() => {});
    };
    const { clock, metrics } = await openWatched({ source: { ...gone, stats } });
    for (let time = 0; time < 2; time++) {
      const text = metrics.text();
      await clock.advance("5s");
      expect(valueOf(readPrometheusText(await text), "millrace_store_up")).toBe(0);
    }
    expect(looks).toBe(1);
  });
});

describe("figures of the process", () => {
  test("tell claims that a rate put off", async () => {
    const { client, claim, read } = await openWatched();
    await client.configure("default", { limits: { rate: "1/m" } });
    await client.enqueueMany([{ type: "a" }, { type: "a" }]);
    expect(await claim()).toHaveLength(1);
    expect(await claim()).toHaveLength(0);
    expect(valueOf(await read(), "millrace_claims_put_off_total")).toBe(2);
  });

  test("tell claims, ends of attempts, waits and runs by queue", async () => {
    const { client, clock, claim, report, read } = await openWatched();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "a", delay: "10s" }]);
    await clock.advance("3s");
    const [first, second] = await claim();
    await report(first!, DONE);
    await report(second!, FAILED);
    const families = await read();
    expect(valueOf(families, "millrace_claims_total", { queue: "default" })).toBe(2);
    expect(valueOf(families, "millrace_attempts_total", { queue: "default", outcome: "completed" })).toBe(1);
    expect(valueOf(families, "millrace_attempts_total", { queue: "default", outcome: "failed" })).toBe(1);
    expect(valueOf(families, "millrace_wait_seconds_sum", { queue: "default" })).toBe(6);
    expect(valueOf(families, "millrace_wait_seconds_bucket", { queue: "default", le: "2.5" })).toBe(0);
    expect(valueOf(families, "millrace_wait_seconds_bucket", { queue: "default", le: "5" })).toBe(2);
    expect(valueOf(families, "millrace_run_seconds_sum", { queue: "default" })).toBeCloseTo(0.74);
    expect(valueOf(families, "millrace_run_seconds_bucket", { queue: "default", le: "0.05" })).toBe(1);
  });

  test("tell attempts that were suspended at a wait", async () => {
    const { client, claim, report, read } = await openWatched();
    await client.enqueue("a");
    const [first] = await claim();
    const wait = { name: "nap", kind: "sleep", state: "open", value: null, untilMs: 1000, detail: null } as const;
    await report(first!, { kind: "suspend", waits: [wait], calls: [] });
    expect(valueOf(await read(), "millrace_attempts_total", { queue: "default", outcome: "suspend" })).toBe(1);
  });

  test("tell how long completed jobs took from enqueue to completion, retries and delays included", async () => {
    const { client, clock, claim, report, read, store } = await openWatched();
    await client.enqueue("a", null, { delay: "10s", retryDelay: "5s" });
    await clock.advance("10s");
    await store.promote(10);
    const [first] = await claim();
    await report(first!, FAILED);
    await clock.advance("1m");
    await store.promote(10);
    const [second] = await claim();
    await report(second!, DONE);
    const families = await read();
    expect(valueOf(families, "millrace_enqueue_to_completion_seconds_count", { queue: "default" })).toBe(1);
    expect(valueOf(families, "millrace_enqueue_to_completion_seconds_sum", { queue: "default" })).toBeCloseTo(70 + DONE.runMs / 1000);
    expect(valueOf(families, "millrace_enqueue_to_completion_seconds_bucket", { queue: "default", le: "86400" })).toBe(1);
  });

  test("tell the same of jobs that were claimed and reported over HTTP", async () => {
    let metrics: Metrics | null = null;
    const watch: LeaseWatcher = {
      claimed: (claims) => metrics?.leases.claimed!(claims),
      reported: (...ends) => metrics?.leases.reported!(...ends),
    };
    const { client, clock } = await openClient({ watchLeases: (leases) => watchLeases(leases, [watch]) });
    metrics = new Metrics({ source: client, clock });
    onTestFinished(() => metrics?.stop());
    const server = createServer(client, { clock, open: true });
    const post = async (path: string, body: unknown): Promise<unknown> => {
      const headers = { "content-type": "application/json" };
      return (await server.fetch(new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) }))).json();
    };
    await client.enqueue("a");
    await clock.advance("3s");
    const { jobs } = (await post("/api/v1/leases", { worker_id: "w1" })) as { jobs: { id: string; fence: number }[] };
    await post("/api/v1/leases/settle", { outcomes: [{ id: jobs[0]!.id, fence: jobs[0]!.fence, outcome: "completed", run_ms: 40 }] });
    const families = readPrometheusText(await metrics.text());
    expect(valueOf(families, "millrace_enqueue_to_completion_seconds_count", { queue: "default" })).toBe(1);
    expect(valueOf(families, "millrace_enqueue_to_completion_seconds_sum", { queue: "default" })).toBeCloseTo(3.04);
  });

  test("tell calls to the store that met a lock, from the start", async () => {
    const { metrics, read } = await openWatched();
    expect(valueOf(await read(), "millrace_store_contended_total", { reason: "lock" })).toBe(0);
    metrics.onContended("lock");
    expect(valueOf(await read(), "millrace_store_contended_total", { reason: "lock" })).toBe(1);
  });

  test("take the wait of a retried job from when it was due", async () => {
    const { client, clock, claim, report, read, store } = await openWatched();
    await client.enqueue("a");
    await report((await claim())[0]!, FAILED);
    await clock.advance("2s"); // the retry is due after 1 s
    await store.promote(10);
    await report((await claim())[0]!, FAILED);
    const families = await read();
    expect(valueOf(families, "millrace_wait_seconds_count", { queue: "default" })).toBe(2);
    expect(valueOf(families, "millrace_wait_seconds_sum", { queue: "default" })).toBe(1);
  });

  test("tell stale writes by what was tried, and do not count them as ends", async () => {
    const { client, claim, report, leases, read } = await openWatched();
    await client.enqueue("a");
    const [lease] = await claim();
    await report(lease!, DONE, lease!.fence + 1);
    const ref = { id: lease!.job.id, fence: lease!.fence + 1 };
    await leases.extend([ref, ref], 1000);
    await leases.note([{ ...ref, type: "a", queue: "default", progress: null, lines: ["x"] }]);
    const families = await read();
    expect(valueOf(families, "millrace_stale_writes_refused_total", { verb: "settle" })).toBe(1);
    expect(valueOf(families, "millrace_stale_writes_refused_total", { verb: "extend" })).toBe(2);
    expect(valueOf(families, "millrace_stale_writes_refused_total", { verb: "note" })).toBe(1);
    expect(families.get("millrace_attempts_total")!.samples).toEqual([]);
  });

  test("count the end of a cancelled job neither as stale nor as an end", async () => {
    const { client, claim, report, read } = await openWatched();
    const { id } = await client.enqueue("a");
    const [lease] = await claim();
    await client.cancel(id);
    await report(lease!, DONE);
    const families = await read();
    expect(valueOf(families, "millrace_stale_writes_refused_total", { verb: "settle" })).toBe(0);
    expect(families.get("millrace_attempts_total")!.samples).toEqual([]);
  });

  test("tell troubles by kind, all of which are there from the start", async () => {
    const { metrics, read } = await openWatched();
    metrics.onTrouble({ kind: "store", message: "away" });
    const families = await read();
    expect(valueOf(families, "millrace_troubles_total", { kind: "store" })).toBe(1);
    for (const kind of TROUBLE_KINDS.filter((other) => other !== "store")) {
      expect(valueOf(families, "millrace_troubles_total", { kind })).toBe(0);
    }
  });

  test("tell requests by route, and those to no route together", async () => {
    const { metrics, read } = await openWatched();
    const request = { requestId: "r", method: "GET", route: "/api/v1/jobs/{id}", status: 200, durationMs: 30, caller: null, address: null };
    metrics.onRequest(request);
    metrics.onRequest({ ...request, status: 404 });
    for (const method of ["GET", "EVIL1", "EVIL2"]) metrics.onRequest({ ...request, method, route: null, status: 404 });
    const families = await read();
    const labels = { method: "GET", route: "/api/v1/jobs/{id}" };
    expect(valueOf(families, "millrace_http_requests_total", { ...labels, status: "404" })).toBe(1);
    expect(valueOf(families, "millrace_http_request_duration_seconds_count", labels)).toBe(2);
    expect(valueOf(families, "millrace_http_request_duration_seconds_sum", labels)).toBeCloseTo(0.06);
    expect(valueOf(families, "millrace_http_requests_total", { method: "(none)", route: "(none)", status: "404" })).toBe(3);
  });

  test("tell whether it is ready, also when nobody can say", async () => {
    for (const [isReady, value] of [
      [() => true, 1],
      [async () => false, 0],
      [() => Promise.reject(new Error("?")), 0],
      [undefined, undefined],
    ] as const) {
      const { read } = await openWatched({ isReady });
      expect(valueOf(await read(), "millrace_ready")).toBe(value);
    }
  });

  test("tell how late the event loop was", async () => {
    const { read } = await openWatched();
    let families = await read();
    while (valueOf(families, "millrace_event_loop_lag_max_seconds")! < 0.1) {
      const until = performance.now() + 150;
      while (performance.now() < until); // nothing else can run
      await new Promise((resolve) => setImmediate(resolve));
      families = await read();
    }
    expect(valueOf(families, "millrace_event_loop_active_seconds_total")).toBeGreaterThan(0);
    expect(valueOf(families, "millrace_build_info", { version: "1.2.3", node: process.version })).toBe(1);
  });

  test("are never harmed by deliveries, which are told together", async () => {
    const { metrics, read } = await openWatched();
    metrics.leases.reported!([{ id: "x", fence: 1, outcome: DONE, facts: { ...FACTS, queue: "mail~webhooks" } }], ["ok"]);
    metrics.leases.reported!([{ id: "x", fence: 1, outcome: DONE }], ["ok"]);
    const families = await read();
    expect(valueOf(families, "millrace_attempts_total", { queue: "(webhooks)", outcome: "completed" })).toBe(1);
    expect(valueOf(families, "millrace_attempts_total", { queue: "(unknown)", outcome: "completed" })).toBe(1);
  });
});

const FACTS = {
  type: "a",
  queue: "default",
  retryCount: 0,
  maxRetries: 3,
  lostCount: 0,
  maxLost: 3,
  backoff: "exponential",
  retryDelayMs: 1000,
  snoozes: 0,
  deadLetters: true,
};

describe("watched leases", () => {
  test("answer as before, and a watcher that throws harms nobody", async () => {
    const { client } = await openClient();
    const bad = () => {
      throw new Error("watcher");
    };
    const seen: string[] = [];
    const leases = watchLeases(client.leases, [
      { claimed: bad, reported: bad, refused: bad },
      { claimed: (claims) => seen.push(...claims.map(({ job }) => job.type)) },
    ]);
    await client.enqueue("a");
    const claim = { workerId: "w", queues: ["default"], types: "*", limit: 1, leaseMs: 30_000, turn: 1, again: false } as const;
    const { jobs } = await leases.exchange([], claim);
    expect(jobs).toHaveLength(1);
    const { job, fence, facts } = jobs[0]!;
    expect((await leases.exchange([{ id: job.id, fence, facts, outcome: DONE }], null)).results).toEqual(["ok"]);
    expect(await leases.extend([{ id: job.id, fence }], 1000)).toEqual(["stale"]);
    expect(seen).toEqual(["a"]);
    expect(Object.keys(leases).sort()).toEqual(Object.keys(client.leases).sort());
  });
});
