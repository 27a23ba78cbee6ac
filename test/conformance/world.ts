import { expect, test } from "vitest";
import type { Counter } from "../../src/core/counters.ts";
import { withFacets } from "../../src/core/facets.ts";
import { type AttemptError, type JobRecord, type NewJob, type Status, STATUSES, TERMINAL } from "../../src/core/job.ts";
import { JOB_DEFAULTS, type JobOptions, createJob, readJobOptions } from "../../src/core/job-options.ts";
import { type AttemptFacts, CANCEL, type Outcome, RETRY, RUN_NOW, settle } from "../../src/core/lifecycle.ts";
import { partitionOf } from "../../src/core/partition.ts";
import { idMaker } from "../../src/lib/id.ts";
import type {
  ChangeAnswer,
  Claim,
  ExpiredRecord,
  InsertAnswer,
  Lease,
  LeaseAnswer,
  LeasedRecord,
  QueueState,
  Settlement,
  Store,
} from "../../src/store/store.ts";
import { type Engine, type Opened, TestClock } from "./harness.ts";

/** What a test says of a job; the rest is as a client would fill it in. */
export type Wishes = JobOptions & { readonly type?: string; readonly payload?: unknown; readonly fields?: readonly string[] };

/** A lease with what the rules must know of its job, as a claim or a look at expired leases gives it. */
export type Held = Lease & AttemptFacts & { readonly deadLetters: boolean };

export const BOOM: AttemptError = { name: "Error", message: "boom", stack: "Error: boom\n    at work", kind: "error" };

export const LEASE_MS = 30_000;

/** The settlement of a lease, decided by the core. No spread: a retry waits exactly as long as the curve says. */
export function settlementOf(held: Held, outcome: Outcome, ifExpired = false): Settlement {
  const transition = settle(held, outcome, { deadLetters: held.deadLetters }, 0.5);
  return { id: held.id, fence: held.fence, outcome: outcome.kind, transition, ifExpired };
}

export function claimOf(wishes: Partial<Claim> = {}): Claim {
  return {
    workerId: "worker-1",
    queues: ["default"],
    types: "*",
    limit: 1_000,
    leaseMs: LEASE_MS,
    turn: 1,
    again: false,
    local: false,
    ...wishes,
  };
}

/** A store, its clock, and sentences about them. */
/** How soon a claim asks again that met others. */
const SOON_MS = 5;

export class World {
  readonly engine: Engine;
  readonly clock: TestClock;
  readonly opened: Opened;
  #store: Store;
  readonly #nextId: (tenBits: number) => string;

  private constructor(engine: Engine, clock: TestClock, opened: Opened, store: Store, nextId: (tenBits: number) => string) {
    this.engine = engine;
    this.clock = clock;
    this.opened = opened;
    this.#store = store;
    this.#nextId = nextId;
  }

  static async open(engine: Engine): Promise<World> {
    const clock = new TestClock();
    const opened = await engine.open({ clock });
    return new World(
      engine,
      clock,
      opened,
      opened.store,
      idMaker(() => clock.now()),
    );
  }

  get store(): Store {
    return this.#store;
  }

  destroy(): Promise<void> {
    return this.opened.destroy();
  }

  /** The same data through a second connection; through the same store where there is only one. */
  async elsewhere(): Promise<World> {
    const store = this.opened.reopen === undefined ? this.#store : await this.opened.reopen();
    return new World(this.engine, this.clock, this.opened, store, this.#nextId);
  }

  /** Closes the store and opens its data again. */
  async restart(): Promise<void> {
    if (this.opened.reopen === undefined) throw new Error(`${this.engine.name} cannot restart: ${this.engine.forgets ?? "no reopen"}`);
    await this.#store.close();
    this.#store = await this.opened.reopen();
  }

  // ── Jobs come in ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  newId(queue = "default"): string {
    return this.#nextId(partitionOf(queue));
  }

  job(wishes: Wishes = {}): NewJob {
    // Queues of our own have names that no caller can give, so the queue is not checked here.
    const { type = "task", payload = null, fields = [], queue = JOB_DEFAULTS.queue, ...options } = wishes;
    const settings = readJobOptions(options, JOB_DEFAULTS, this.clock.now());
    return withFacets(createJob(this.newId(queue), type, payload, { ...settings, queue }), fields);
  }

  jobs(count: number, wishes: Wishes | ((index: number) => Wishes) = {}): NewJob[] {
    return Array.from({ length: count }, (_, index) => this.job(typeof wishes === "function" ? wishes(index) : wishes));
  }

  async insert(job: NewJob): Promise<InsertAnswer> {
    const answers = await this.store.insert([job]);
    expect(answers).toHaveLength(1);
    return answers[0]!;
  }

  /** Inserts a job that must be new. */
  async add(wishes: Wishes = {}): Promise<NewJob> {
    const job = this.job(wishes);
    expect(await this.insert(job)).toMatchObject({ kind: "created" });
    return job;
  }

  /** Inserts a job as blocked, which must be new. */
  async block(wishes: Wishes = {}): Promise<NewJob> {
    const job = { ...this.job(wishes), blocked: true };
    expect(await this.insert(job)).toMatchObject({ kind: "created", status: "blocked" });
    return job;
  }

  /** Inserts jobs that must all be new, in batches that a store takes. */
  async addMany(count: number, wishes: Wishes | ((index: number) => Wishes) = {}): Promise<NewJob[]> {
    const jobs = this.jobs(count, wishes);
    for (let from = 0; from < count; from += 1_000) {
      const answers = await this.store.insert(jobs.slice(from, from + 1_000));
      expect(answers.filter(({ kind }) => kind !== "created")).toEqual([]);
    }
    return jobs;
  }

  // ── Jobs are worked ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async claim(wishes: Partial<Claim> = {}): Promise<LeasedRecord[]> {
    const { claimed } = await this.store.exchange([], [claimOf(wishes)]);
    expect(claimed).toHaveLength(1);
    return claimed[0]!;
  }

  /** Claims one job; there must be one. On PostgreSQL, upkeep may hold what may start for a moment: then the answer says to ask again soon. */
  async take(wishes: Partial<Claim> = {}): Promise<LeasedRecord> {
    let answer = await this.store.exchange([], [claimOf({ limit: 1, ...wishes })]);
    for (let looks = 0; looks < 100 && answer.claimed[0]!.length === 0 && (answer.againInMs?.[0] ?? Infinity) <= SOON_MS; looks++) {
      await new Promise((resolve) => setTimeout(resolve, SOON_MS));
      answer = await this.store.exchange([], [claimOf({ limit: 1, ...wishes })]);
    }
    const [lease, ...others] = answer.claimed[0]!;
    expect(lease, "a job to take").toBeDefined();
    expect(others).toEqual([]);
    return lease!;
  }

  /** Inserts a job and claims it. */
  async running(wishes: Wishes = {}, claim: Partial<Claim> = {}): Promise<LeasedRecord> {
    const job = await this.add(wishes);
    const lease = await this.take({ queues: [job.queue], ...claim });
    expect(lease.id).toBe(job.id);
    return lease;
  }

  async settle(held: Held, outcome: Outcome, ifExpired = false): Promise<LeaseAnswer> {
    const { settled } = await this.store.exchange([settlementOf(held, outcome, ifExpired)], []);
    expect(settled).toHaveLength(1);
    return settled[0]!;
  }

  complete(held: Held, result: string | null = null): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "completed", result, runMs: 5 });
  }

  fail(held: Held, delayMs?: number): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "failed", error: BOOM, delayMs, runMs: 5 });
  }

  discard(held: Held): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "discard", error: BOOM, runMs: 5 });
  }

  snooze(held: Held, delayMs: number): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "snooze", delayMs });
  }

  release(held: Held): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "release" });
  }

  /** What a reaper sees. The rest that an engine asks for hangs on how busy the machine is: no test leans on it. */
  async expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null }> {
    const { jobs, nextInMs } = await this.store.expired(limit);
    return { jobs, nextInMs };
  }

  /** What a reaper reports of a lease that it saw run out. */
  lose(held: Held): Promise<LeaseAnswer> {
    return this.settle(held, { kind: "lost" }, true);
  }

  async extend(lease: Lease, leaseMs = LEASE_MS): Promise<LeaseAnswer> {
    const [answer] = await this.store.extend([{ id: lease.id, fence: lease.fence, leaseMs }]);
    return answer!;
  }

  async note(lease: Lease, lines: readonly string[], percent?: number): Promise<LeaseAnswer> {
    const progress = percent === undefined ? null : { percent, note: null };
    const [answer] = await this.store.note([{ id: lease.id, fence: lease.fence, progress, lines }]);
    return answer!;
  }

  /** A job that has ended so. */
  async ended(status: "completed" | "cancelled" | "dead" | "failed", wishes: Wishes = {}): Promise<JobRecord> {
    if (status === "cancelled") {
      const job = await this.add(wishes);
      await this.cancel(job.id);
      return this.find(job.id);
    }
    const lease = await this.running(wishes);
    const held = { ...lease, deadLetters: status !== "failed" };
    expect(await (status === "completed" ? this.complete(held) : this.discard(held))).toBe("ok");
    return this.find(lease.id);
  }

  // ── Jobs are managed ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async cancel(id: string): Promise<ChangeAnswer> {
    return (await this.store.change([id], CANCEL))[0]!;
  }

  async retry(id: string): Promise<ChangeAnswer> {
    return (await this.store.change([id], RETRY))[0]!;
  }

  async runNow(id: string): Promise<ChangeAnswer> {
    return (await this.store.change([id], RUN_NOW))[0]!;
  }

  async remove(id: string, from: readonly Status[] = TERMINAL): Promise<ChangeAnswer> {
    return (await this.store.remove([id], from))[0]!;
  }

  /** The job, which must be there. */
  async find(id: string): Promise<JobRecord> {
    const [job] = await this.store.find([id]);
    expect(job, `job ${id}`).not.toBeNull();
    return job!;
  }

  async status(id: string): Promise<Status | null> {
    return (await this.store.find([id]))[0]?.status ?? null;
  }

  // ── Queues ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async queue(name = "default"): Promise<QueueState> {
    const queue = (await this.store.queues()).find((queue) => queue.name === name);
    expect(queue, `queue ${name}`).toBeDefined();
    return queue!;
  }

  /** How many jobs of a queue are in each status, by its tallies; what is zero is left out. */
  async counts(name = "default"): Promise<Partial<Record<Status, number>>> {
    const { counts } = await this.queue(name);
    const sums = STATUSES.map((status) => {
      return [status, counts.filter((row) => row.status === status).reduce((sum, row) => sum + row.count, 0)] as const;
    });
    return Object.fromEntries(sums.filter(([, sum]) => sum !== 0));
  }

  /** A counter of a queue, over all time. */
  async total(counter: Counter, name = "default"): Promise<number> {
    const { rows } = await this.store.counters({ step: "all", queue: name });
    return rows.filter((row) => row.queue === name).reduce((sum, row) => sum + (row.counts[counter] ?? 0), 0);
  }

  /** Gives all waiting jobs the rank of the present head start, in small batches. */
  async rerank(queue = "default", batch = 100): Promise<void> {
    for (let calls = 0; await this.store.rerank(queue, batch); calls++) {
      expect(calls, "rerank must come to an end").toBeLessThan(1_000);
    }
  }
}

/** Names a promise and tries it in a world of its own. */
export type Keeps = (promise: string, proof: (world: World) => Promise<void>) => void;

export function keepsOn(engine: Engine): Keeps {
  return (promise, proof) => {
    test(promise, async ({ onTestFinished }) => {
      const world = await World.open(engine);
      // Not `finally`: a proof that waits in vain for its fact never gets there.
      onTestFinished(() => world.destroy());
      await proof(world);
    });
  };
}
