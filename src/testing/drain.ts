import type { Client, Handlers, WorkerHandle } from "../client/client.ts";
import { queuesOf } from "../client/handler-types.ts";
import { usersQueues } from "../client/queues.ts";
import { readOptions } from "../client/refusals.ts";
import { counted } from "../core/counted.ts";
import { type Duration, MAX_DELAY_MS } from "../core/duration.ts";
import { DEFAULT_QUEUE } from "../core/queue.ts";
import { readDuration } from "../core/read-fields.ts";
import { isInternalQueue } from "../core/internal.ts";
import type { Counter } from "../core/counters.ts";
import type { Store } from "../store/store.ts";
import type { ResolvedCalls } from "./resolved-calls.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** What a drain did, and what is left. */
export interface DrainSummary {
  readonly completed: number;
  /** Attempts that failed and will be retried. */
  readonly retried: number;
  /** Jobs that failed for good, in queues with dead letters (`dead`) and without (`failed`). */
  readonly dead: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Still pending: there was no handler for their type, their queue is paused, or they wait for a limit (see `client.limits`). */
  readonly pending: number;
  /** Not yet due. Durable sleeps count here. */
  readonly waiting: number;
  /** Suspended until a signal comes or a called job ends, or members of a flow that wait for others. `client.explain` says which. */
  readonly blocked: number;
}

/** How to drain. */
export interface DrainOptions {
  /**
   * How far the clock may go: it then jumps to each job that is due within this time, so sleeps, timeouts of waits, delays and retries take
   * no real time. Default: time stands still.
   */
  readonly advance?: Duration | undefined;
}

export interface DrainParts {
  readonly client: Client;
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly calls: ResolvedCalls;
}

/** How long, in milliseconds of real time, a drain waits for handlers that use real time (files, sockets). */
const PATIENCE_MS = 10_000;

/**
 * Runs all jobs that are due, and those that they enqueue or call or that follow in their flow. Unless `advance` is set, time does not pass: a failed job runs again in a
 * later drain, when it is due, and so does one that sleeps or waits for a rate.
 */
export async function drain(parts: DrainParts, handlers: Handlers | undefined, options: DrainOptions | undefined): Promise<DrainSummary> {
  const { advance = 0 } = readOptions(options, "the options of drain", ["advance"]);
  const { store, clock } = parts;
  const end = clock.now() + readDuration(advance, "advance", "a time of at most 10 years", MAX_DELAY_MS);
  const before = await readCounters(store);
  for (;;) {
    await clock.settle();
    if (handlers === undefined) await untilNothingRuns(parts);
    else await drainWith(parts, handlers);
    // With a limit of 0 nothing is moved, but the store says when the next job is due.
    const { nextInMs } = await store.promote(0);
    if (nextInMs === null || clock.now() + nextInMs > end) return summarize(store, before);
    await clock.advance(nextInMs);
  }
}

/** One job at a time, so that tests see them in order. Queues that appear meanwhile get another round. */
async function drainWith(parts: DrainParts, handlers: Handlers): Promise<void> {
  const { client, store } = parts;
  for (let drained: readonly string[] = []; ;) {
    const queues = [...new Set([DEFAULT_QUEUE, ...queuesOf(handlers), ...(await usersQueues(store)).map(({ name }) => name)])];
    if (queues.length === drained.length) return;
    const worker: WorkerHandle = client.work(handlers, { queues, concurrency: 1 });
    try {
      await untilNothingRuns(parts);
    } finally {
      await worker.stop({ grace: 0 });
    }
    drained = queues;
  }
}

async function untilNothingRuns({ store, clock, calls }: DrainParts): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    await clock.settle();
    const { running } = await countJobs(store);
    if (running === 0 && calls.underWay === 0) return;
    if (performance.now() > deadline) {
      const jobs = running === 0 ? counted(calls.underWay, "call") : counted(running, "running job");
      throw new Error(`drain waited ${PATIENCE_MS / 1000} s for ${jobs}: does a handler wait for time that only clock.advance brings?`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function countJobs(store: Store): Promise<{ running: number; pending: number; waiting: number; blocked: number }> {
  const counts = { running: 0, pending: 0, waiting: 0, blocked: 0 };
  for (const queue of await usersQueues(store)) {
    for (const { status, count } of queue.counts) {
      if (status === "running" || status === "pending" || status === "blocked") counts[status] += count;
      if (status === "scheduled" || status === "retrying") counts.waiting += count;
    }
  }
  return counts;
}

type Counts = Readonly<Partial<Record<Counter, number>>>;

async function readCounters(store: Store): Promise<Counts> {
  const { rows } = await store.counters({ step: "all" });
  const sums: Partial<Record<Counter, number>> = {};
  for (const { queue, counts } of rows) {
    if (isInternalQueue(queue)) continue;
    for (const [name, count] of Object.entries(counts) as [Counter, number][]) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}

async function summarize(store: Store, before: Counts): Promise<DrainSummary> {
  const [after, { pending, waiting, blocked }] = await Promise.all([readCounters(store), countJobs(store)]);
  const since = (name: Counter): number => (after[name] ?? 0) - (before[name] ?? 0);
  return {
    completed: since("completed"),
    retried: since("retried"),
    dead: since("dead"),
    failed: since("failed"),
    cancelled: since("cancelled"),
    pending,
    waiting,
    blocked,
  };
}
