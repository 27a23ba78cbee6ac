import type { Client, Handlers } from "../client/client.ts";
import { clientOver } from "../connect.ts";
import { invalid } from "../core/errors.ts";
import { type Job, type JobOptions, readTime } from "../core/job.ts";
import { DAY_MS, HOUR_MS } from "../core/time-units.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { drain, type DrainSummary } from "./drain.ts";
import { type EnqueuedFilter, EnqueuedJobs } from "./enqueued.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** What createTestClient can be told. */
export interface TestClientOptions {
  /** What the clock shows at first. Default: the first of January 2030, 00:00 UTC. */
  readonly startAt?: Date | string | number;
  /** In [0, 1); spreads retries. Default: always 0.5, so that retry delays are exactly base × 2^(n−1). */
  readonly random?: () => number;
  readonly defaults?: JobOptions;
  readonly strictTypes?: boolean;
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
}

const START_AT = Date.UTC(2030, 0, 1);

/** In memory no hint is lost, so nothing has to be looked after by the clock; long rests keep `advance("30d")` quick. */
const RHYTHM = { promote: DAY_MS, reclaim: DAY_MS, recur: DAY_MS, prune: HOUR_MS, rerank: DAY_MS };

/** Makes a client for tests: production semantics in memory, and time only moves when the test says so. */
export async function createTestClient(options: TestClientOptions = {}): Promise<TestClient> {
  const startAt = options.startAt === undefined ? START_AT : readTime(options.startAt);
  if (startAt === undefined)
    throw invalid("startAt", "a Date, ISO 8601 text with a time zone, or milliseconds since the epoch", options.startAt);
  const activity = { calls: 0 };
  const clock = new VirtualClock(startAt, () => activity.calls);
  const store = await openStore("memory:", { clock });
  countCalls(store, activity);
  const enqueued = new EnqueuedJobs(store, () => clock.now());
  const client = clientOver(store, {
    clock,
    random: options.random ?? (() => 0.5),
    defaults: options.defaults,
    strictTypes: options.strictTypes,
    alwaysUpkeep: true,
    rhythm: RHYTHM,
    pollMs: HOUR_MS,
  });
  const closeClient = client.close.bind(client);
  const close = (): Promise<void> => closeTurningTheClock(closeClient, clock);
  return Object.assign(client, {
    clock,
    drain: (handlers?: Handlers) => drain({ client, store, clock }, handlers),
    enqueued: (filter?: EnqueuedFilter) => enqueued.list(filter),
    assertEnqueued: (filter: EnqueuedFilter) => enqueued.assert(filter),
    close,
    [Symbol.asyncDispose]: close,
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

/** The grace of a handler that does not end passes by the clock, which nobody would turn any more. */
async function closeTurningTheClock(closeClient: () => Promise<void>, clock: VirtualClock): Promise<void> {
  const door = { open: true };
  const closing = closeClient().finally(() => (door.open = false));
  closing.catch(() => {}); // told below, when the clock has been turned
  await clock.settle();
  while (door.open) await clock.advance("1s");
  return closing;
}
