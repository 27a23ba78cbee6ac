import { A_TIME } from "../core/time-words.ts";
import type { Client, Handlers, HandlersOf, JobDefinition, JobList, JobsByName, JobsOf, WaitOptions } from "../client/client.ts";
import { readOptions } from "../client/refusals.ts";
import { readJobs, withJobs } from "../client/registered-jobs.ts";
import { clientOver } from "../assembly/client-over.ts";
import { checkClientOptions, type ClientOptions } from "../core/client-options.ts";
import { MAX_DELAY_MS } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { orByDefinition } from "../core/job-definition.ts";
import type { Job } from "../core/job.ts";
import { refuseOldNode } from "../core/node-version.ts";
import { readTime } from "../core/read-fields.ts";
import { DAY_MS, HOUR_MS } from "../core/time-units.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { drain, type DrainOptions, type DrainSummary } from "./drain.ts";
import { type EnqueuedFilter, EnqueuedJobs } from "./enqueued.ts";
import { type CallAnswer, ResolvedCalls } from "./resolved-calls.ts";
import { type TestTransaction, TestTransactions } from "./transactions.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** Options of createTestClient. */
export interface TestClientOptions<Jobs extends JobList = JobList> extends Omit<ClientOptions, "poolSize" | "upkeep"> {
  /** The jobs of your application, as for `connect`. */
  readonly jobs?: Jobs | undefined;
  /** The initial time of the clock. Default: 1 January 2030, 00:00 UTC. */
  readonly startAt?: Date | string | number | undefined;
  /** Returns a number in [0, 1) that spreads retries. Default: always 0.5, so that retry delays are exactly base × 2^(n−1). */
  readonly random?: (() => number) | undefined;
}

/** A client in memory, with a clock that the test controls. */
export interface TestClient<Jobs extends JobsByName = JobsByName> extends Client<Jobs> {
  readonly clock: VirtualClock;
  /**
   * Runs all jobs that are due, and those they enqueue or call or that follow in their flow, with these handlers or those of started workers. Time does not pass, unless
   * `advance` says how far it may: `drain(handlers, { advance: "30d" })` jumps over sleeps, timeouts of waits, delays and retries.
   */
  drain(handlers?: HandlersOf<Jobs>, options?: DrainOptions): Promise<DrainSummary>;
  /**
   * From now on, `ctx.call` of this type gets what the function returns instead of a job; what the function throws is the failure of the call.
   * `enqueued` and its assertions see the called job all the same.
   */
  resolveCalls<Input, Payload, Result, Returned>(
    definition: JobDefinition<Input, Payload, Result, string, Returned>,
    answer: CallAnswer<Input, Returned>,
  ): void;
  resolveCalls(type: string, answer: CallAnswer<any>): void; // oxlint-disable-line no-explicit-any -- the test knows the payload
  /** All enqueued jobs, also by schedules, by `ctx.call` and by flows, in order and as they were then. */
  enqueued(filter?: EnqueuedFilter): Job[];
  /** The first such job. If there is none, throws an AssertionError that lists what was enqueued. */
  assertEnqueued(filter: EnqueuedFilter): Job;
  /** Throws an AssertionError if there is such a job; without a filter, if there is any job. */
  assertNotEnqueued(filter?: EnqueuedFilter): void;
  /**
   * Runs a function that opens, commits or rolls back a transaction of your application. What it enqueues or completes with a `tx`, whichever,
   * is done when it returns, and dropped when it throws.
   */
  transaction<Answer>(work: (tx: TestTransaction) => Answer | Promise<Answer>): Promise<Answer>;
  /** As usual, but without a timeout unless you give one, which then passes by the clock. A worker or `drain` must run the job. */
  wait: Client["wait"];
}

const START_AT = Date.UTC(2030, 0, 1);
/** How often a wait without a timeout polls, in real time. */
const LOOK_MS = 2;

/** In memory no hint is lost, so nothing depends on these; long rests keep `advance("30d")` fast. */
const RESTS_MS = { promote: DAY_MS, reclaim: DAY_MS, recur: DAY_MS, prune: HOUR_MS, rerank: DAY_MS, deliver: DAY_MS };

/** Makes a client for tests: it behaves as in production, but in memory, and time passes only when the test says so. */
export async function createTestClient<const Jobs extends JobList = JobList>(
  options: TestClientOptions<Jobs> = {},
): Promise<TestClient<JobsOf<Jobs>>> {
  refuseOldNode(process.versions.node);
  checkClientOptions(options, "the options of createTestClient", ["jobs", "startAt", "random"]);
  const { jobs, startAt: given = START_AT, random = () => 0.5, ...clientOptions } = options;
  const definitions = readJobs(jobs);
  if (typeof random !== "function") throw invalid("random", "a function", random);
  const startAt = readTime(given);
  if (startAt === undefined) throw invalid("startAt", A_TIME, given);
  const activity = { calls: 0 };
  const clock = new VirtualClock(startAt, () => activity.calls, { hasRealIo: true });
  const store = await openStore("memory:", { clock });
  countCalls(store, activity);
  // First: what resolves a call takes it away, and the others see it before.
  const calls = new ResolvedCalls(store);
  const enqueued = new EnqueuedJobs(store, () => clock.now());
  const transactions = new TestTransactions(store, () => clock.now());
  const plain = clientOver(store, {
    ...clientOptions,
    clock,
    random,
    // The store always answers, and a call during `advance("1d")` has not waited a day for it.
    deadlineMs: MAX_DELAY_MS,
    upkeep: true,
    restsMs: RESTS_MS,
    // Time stands still while jobs call each other.
    hintsApartMs: 0,
    pollMs: HOUR_MS,
  });
  const client = withJobs(plain, definitions);
  const closeClient = client.close.bind(client);
  const close: Client["close"] = (closeOptions) => closeWhileAdvancing(() => closeClient(closeOptions), clock);
  const wait = client.wait.bind(client);
  return Object.assign(client, {
    clock,
    drain: (handlers?: Handlers, drainOptions?: DrainOptions) => drain({ client, store, clock, calls }, handlers, drainOptions),
    resolveCalls: (kind: string | JobDefinition<unknown>, answer: CallAnswer<never>) => calls.set(kind, answer),
    enqueued: (filter?: EnqueuedFilter) => enqueued.list(filter),
    assertEnqueued: (filter: EnqueuedFilter) => enqueued.assert(filter),
    assertNotEnqueued: (filter?: EnqueuedFilter) => enqueued.assertNone(filter),
    transaction: <Answer>(work: (tx: TestTransaction) => Answer | Promise<Answer>) => transactions.run(work),
    wait: orByDefinition((id, waitOptions) => waitPatiently(wait, id, waitOptions as WaitOptions)),
    close,
    [Symbol.asyncDispose]: () => close(),
  }) as unknown as TestClient<JobsOf<Jobs>>;
}

const VERBS = [
  "insert",
  "exchange",
  "change",
  "find",
  "promote",
  "note",
  "extend",
  "queues",
  "tick",
  "keepSteps",
  "readSteps",
  "endSteps",
  "notices",
  "dropNotices",
  "readFlows",
  "changeFlows",
] as const;

/** Every call of the store counts as activity: the clock waits until there is none. */
function countCalls(store: Store, activity: { calls: number }): void {
  for (const verb of VERBS) {
    const call = store[verb].bind(store) as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      activity.calls++;
      return call(...args);
    };
    Object.assign(store, { [verb]: counted });
  }
}

/** Without a timeout it polls in real time: the job may be days away, and polling by the clock would make `advance("30d")` slow. */
async function waitPatiently(wait: Client["wait"], id: string, options: WaitOptions | undefined): Promise<Job> {
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
