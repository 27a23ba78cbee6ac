import { A_TIME } from "../core/time-words.ts";
import type { Client, Handlers } from "../client/client.ts";
import { readOptions } from "../client/refusals.ts";
import { clientOver } from "../client-over.ts";
import { checkClientOptions, type ClientOptions } from "../core/client-options.ts";
import { MAX_DELAY_MS } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Job } from "../core/job.ts";
import { readTime } from "../core/read-fields.ts";
import { DAY_MS, HOUR_MS } from "../core/time-units.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { drain, type DrainSummary } from "./drain.ts";
import { type EnqueuedFilter, EnqueuedJobs } from "./enqueued.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** What createTestClient can be told. */
export interface TestClientOptions extends Omit<ClientOptions, "poolSize" | "upkeep"> {
  /** What the clock shows at first. Default: the first of January 2030, 00:00 UTC. */
  readonly startAt?: Date | string | number | undefined;
  /** In [0, 1); spreads retries. Default: always 0.5, so that retry delays are exactly base × 2^(n−1). */
  readonly random?: (() => number) | undefined;
}

/** A client in memory, with a clock turned by hand. */
export interface TestClient extends Client {
  readonly clock: VirtualClock;
  /** Runs all jobs that are due, and those they enqueue, with these handlers or those of workers that were started. The clock stands still. */
  drain(handlers?: Handlers): Promise<DrainSummary>;
  /** What was enqueued, by calls and by schedules, in order and as it came in. */
  enqueued(filter?: EnqueuedFilter): Job[];
  /** The first such job; throws an AssertionError that shows what was enqueued when there is none. */
  assertEnqueued(filter: EnqueuedFilter): Job;
  /** Throws an AssertionError when there is such a job; without a filter, when there is any. */
  assertNotEnqueued(filter?: EnqueuedFilter): void;
  /** As ever, but without a timeout unless one is given, which then passes by the clock. Somebody must run the job: a worker, or `drain`. */
  wait: Client["wait"];
}

const START_AT = Date.UTC(2030, 0, 1);
/** How often a wait without a timeout looks, in real time. */
const LOOK_MS = 2;

/** In memory no hint is lost, so nothing has to be looked after by the clock; long rests keep `advance("30d")` quick. */
const RESTS_MS = { promote: DAY_MS, reclaim: DAY_MS, recur: DAY_MS, prune: HOUR_MS, rerank: DAY_MS };

/** Makes a client for tests: production semantics in memory, and time only moves when the test says so. */
export async function createTestClient(options: TestClientOptions = {}): Promise<TestClient> {
  checkClientOptions(options, "the options of createTestClient", ["startAt", "random"]);
  const { startAt: given = START_AT, random = () => 0.5, ...clientOptions } = options;
  if (typeof random !== "function") throw invalid("random", "a function", random);
  const startAt = readTime(given);
  if (startAt === undefined) throw invalid("startAt", A_TIME, given);
  const activity = { calls: 0 };
  const clock = new VirtualClock(startAt, () => activity.calls);
  const store = await openStore("memory:", { clock });
  countCalls(store, activity);
  const enqueued = new EnqueuedJobs(store, () => clock.now());
  const client = clientOver(store, {
    ...clientOptions,
    clock,
    random,
    // The store is always there, and a call during `advance("1d")` has not waited a day for it.
    deadlineMs: MAX_DELAY_MS,
    upkeep: true,
    restsMs: RESTS_MS,
    pollMs: HOUR_MS,
  });
  const closeClient = client.close.bind(client);
  const close: Client["close"] = (closeOptions) => closeTurningTheClock(() => closeClient(closeOptions), clock);
  const wait = client.wait.bind(client);
  return Object.assign(client, {
    clock,
    drain: (handlers?: Handlers) => drain({ client, store, clock }, handlers),
    enqueued: (filter?: EnqueuedFilter) => enqueued.list(filter),
    assertEnqueued: (filter: EnqueuedFilter) => enqueued.assert(filter),
    assertNotEnqueued: (filter?: EnqueuedFilter) => enqueued.assertNone(filter),
    wait: ((id, waitOptions) => waitPatiently(wait, id, waitOptions)) as Client["wait"],
    close,
    [Symbol.asyncDispose]: () => close(),
  });
}

/** Every call of the store is something that happened: the clock waits until there are none. */
function countCalls(store: Store, activity: { calls: number }): void {
  for (const verb of ["insert", "exchange", "change", "find", "promote", "note", "extend", "queues", "tick"] as const) {
    const call = store[verb].bind(store) as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      activity.calls++;
      return call(...args);
    };
    Object.assign(store, { [verb]: counted });
  }
}

/**
 * Without a timeout it looks in real time: the job may be days away by the clock, and to look twice in each second of them would make
 * `advance("30d")` slow.
 */
async function waitPatiently(wait: Client["wait"], id: string, options: Parameters<Client["wait"]>[1]): Promise<Job> {
  const { timeout } = readOptions(options, "the options of wait", ["timeout", "signal"]);
  if (timeout !== undefined) return wait(id, options);
  for (;;) {
    try {
      return await wait(id, { ...options, timeout: 0 });
    } catch (error) {
      if (!(error instanceof MillraceError && error.code === "wait_timeout")) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** The grace of a handler that does not end passes by the clock, which nobody would turn any more. */
async function closeTurningTheClock(closeClient: () => Promise<void>, clock: VirtualClock): Promise<void> {
  const door = { open: true };
  const closing = closeClient().finally(() => (door.open = false));
  closing.catch(() => {}); // told below, when the clock has been turned
  await clock.settle();
  while (door.open) await clock.advance("1s");
  return closing;
}
