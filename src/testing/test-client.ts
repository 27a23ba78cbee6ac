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

/** Options of createTestClient. */
export interface TestClientOptions extends Omit<ClientOptions, "poolSize" | "upkeep"> {
  /** The initial time of the clock. Default: 1 January 2030, 00:00 UTC. */
  readonly startAt?: Date | string | number | undefined;
  /** Returns a number in [0, 1) that spreads retries. Default: always 0.5, so that retry delays are exactly base × 2^(n−1). */
  readonly random?: (() => number) | undefined;
}

/** A client in memory, with a clock that the test controls. */
export interface TestClient extends Client {
  readonly clock: VirtualClock;
  /** Runs all jobs that are due, and those they enqueue, with these handlers or those of started workers. Time does not pass. */
  drain(handlers?: Handlers): Promise<DrainSummary>;
  /** All enqueued jobs, by calls and by schedules, in order and as they were then. */
  enqueued(filter?: EnqueuedFilter): Job[];
  /** The first such job. If there is none, throws an AssertionError that lists what was enqueued. */
  assertEnqueued(filter: EnqueuedFilter): Job;
  /** Throws an AssertionError if there is such a job; without a filter, if there is any job. */
  assertNotEnqueued(filter?: EnqueuedFilter): void;
  /** As usual, but without a timeout unless you give one, which then passes by the clock. A worker or `drain` must run the job. */
  wait: Client["wait"];
}

const START_AT = Date.UTC(2030, 0, 1);
/** How often a wait without a timeout polls, in real time. */
const LOOK_MS = 2;

/** In memory no hint is lost, so nothing depends on these; long rests keep `advance("30d")` fast. */
const RESTS_MS = { promote: DAY_MS, reclaim: DAY_MS, recur: DAY_MS, prune: HOUR_MS, rerank: DAY_MS };

/** Makes a client for tests: it behaves as in production, but in memory, and time passes only when the test says so. */
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
    // The store always answers, and a call during `advance("1d")` has not waited a day for it.
    deadlineMs: MAX_DELAY_MS,
    upkeep: true,
    restsMs: RESTS_MS,
    pollMs: HOUR_MS,
  });
  const closeClient = client.close.bind(client);
  const close: Client["close"] = (closeOptions) => closeWhileAdvancing(() => closeClient(closeOptions), clock);
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

/** Every call of the store counts as activity: the clock waits until there is none. */
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

/** Without a timeout it polls in real time: the job may be days away, and polling by the clock would make `advance("30d")` slow. */
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

/** A handler that does not end uses up its grace period by the clock, so the clock must go on. */
async function closeWhileAdvancing(closeClient: () => Promise<void>, clock: VirtualClock): Promise<void> {
  const state = { isClosing: true };
  const closing = closeClient().finally(() => (state.isClosing = false));
  closing.catch(() => {}); // thrown below
  await clock.settle();
  while (state.isClosing) await clock.advance("1s");
  return closing;
}
