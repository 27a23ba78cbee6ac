// RANDOM CONTENTS OF A STORE, made through a real client: jobs in every status, our own jobs and workers beside them.

import fc from "fast-check";
import type { Client, LeasedJob, Report } from "../../src/client/client.ts";
import { clientOver } from "../../src/assembly/client-over.ts";
import { Discard, RetryAfter } from "../../src/core/control-errors.ts";
import type { AttemptError } from "../../src/core/job.ts";
import type { NewStep } from "../../src/core/steps.ts";
import { BEAT_MS } from "../../src/core/work-limits.ts";
import type { WorkerEntry } from "../../src/core/worker-entry.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";

/** Jobs that fail for good end `failed` in the last one, `dead` in the others. */
const QUEUES = ["default", "mail", "quiet"] as const;
const TYPES = ["mail:send", "report:make", "http:request"] as const;
const TAGS = ["red", "blue"] as const;
/** A payload field, which a queue may declare as a facet. The payload of http:request takes no other one. */
export const FACET = "headers.customer";
export const CUSTOMERS = ["acme", "globex", "initech"] as const;
export const LIMIT_KEYS = ["key-1", "key-2"] as const;

/** What becomes of a job. Those below need a worker first. */
const IDLE_FATES = ["pending", "scheduled", "cancelled"] as const;
const CLAIMED_FATES = ["running", "completed", "dead", "retrying", "blocked", "stopped", "revived", "removed"] as const;
const DELIVERY_FATES = ["completed", "dead", "retrying"] as const;

const ERRORS = ["no user 17", "no user 18", "the disk is full"] as const;

const job = fc.record({
  queue: fc.constantFrom(...QUEUES),
  type: fc.constantFrom(...TYPES),
  priority: fc.constantFrom(-100, -1, 0, 9, 10, 19, 20, 100),
  tags: fc.subarray([...TAGS]),
  // Often dead: groups and facets count only these, and a count of 1 would hide most mistakes.
  fate: fc.oneof(
    { arbitrary: fc.constantFrom(...IDLE_FATES, ...CLAIMED_FATES), weight: 3 },
    { arbitrary: fc.constant<"dead">("dead"), weight: 1 },
  ),
  error: fc.constantFrom(...ERRORS),
  hasWebhook: fc.boolean(),
  customer: fc.option(fc.constantFrom(...CUSTOMERS)),
  limitKey: fc.option(fc.constantFrom(...LIMIT_KEYS)),
});

const worker = fc.record({
  queue: fc.constantFrom("*", ...QUEUES),
  types: fc.constantFrom<WorkerEntry["types"]>("*", ["mail:send"], ["report:make", "http:request"]),
  state: fc.constantFrom("idle", "busy", "stopping"),
  slots: fc.integer({ min: 1, max: 20 }),
  runningCount: fc.nat(1),
  abandoned: fc.nat(1),
  perMinute: fc.nat(2000),
});

const settings = fc.record({ paused: fc.boolean(), capacity: fc.option(fc.integer({ min: 1, max: 20 })), hasFacet: fc.boolean() });

/** What to fill a store with. */
export const contents = fc.record({
  jobs: fc.array(job, { minLength: 1, maxLength: 40, size: "max" }),
  /** What becomes of the deliveries that ended jobs leave behind, in turn. Without any, they stay pending. */
  deliveries: fc.array(fc.constantFrom(...DELIVERY_FATES), { maxLength: 3 }),
  operations: fc.array(fc.record({ action: fc.constantFrom("retry", "cancel", "delete"), tag: fc.constantFrom(...TAGS) }), {
    maxLength: 2,
  }),
  settings: fc.record({ default: settings, mail: settings, quiet: settings }),
  workers: fc.array(worker, { maxLength: 3 }),
  /** How many servers there are: each has workers of its own. */
  servers: fc.nat(2),
  schedules: fc.nat(3),
});

export type Contents = typeof contents extends fc.Arbitrary<infer Value> ? Value : never;
type Job = Contents["jobs"][number];

/** What cannot be seen in the stored jobs, because it is history or not about jobs. */
export interface Filled {
  /** Whose each job is, as its payload says, by its id. */
  readonly customers: ReadonlyMap<string, string>;
  readonly totals: { readonly enqueued: number; readonly completed: number; readonly failed: number; readonly retried: number };
  readonly workers: readonly WorkerEntry[];
  /** Workers of servers. */
  readonly internalWorkers: readonly WorkerEntry[];
}

const HOUR = 3_600_000;
/** Longer than any test. */
const TTL_MS = HOUR;

/** Fills an empty store. Nothing changes by itself afterwards: no worker runs, and nothing is due within the hour. */
export async function fill(storeUrl: string, given: Contents): Promise<Filled> {
  const store = await openStore(storeUrl);
  const client = clientOver(store, { clock: systemClock, random: Math.random });
  try {
    const customers = await makeJobs(client, given);
    await makeSettings(client, given);
    return { ...workersOf(given), customers, totals: totalsOf(given) };
  } finally {
    await client.close({ grace: 0 });
  }
}

/** Returns whose each job is. */
async function makeJobs(client: Client, given: Contents): Promise<Map<string, string>> {
  await client.configure("quiet", { deadLetters: false });
  // Only jobs that come later have it.
  for (const queue of QUEUES) if (given.settings[queue].hasFacet) await client.configure(queue, { facets: [FACET] });
  const claimed = given.jobs.filter(({ fate }) => isClaimed(fate));
  const idle = given.jobs.filter(({ fate }) => !isClaimed(fate));
  const ended = await enqueueAll(client, claimed);
  await end(client, ended, [...QUEUES]);
  const ids = await enqueueAll(client, idle);
  for (const [id, { fate }] of ids) if (fate === "cancelled") await client.cancel(id);
  await endDeliveries(client, given.deliveries);
  for (const { action, tag } of given.operations) {
    const operation = await client.bulk.start({ action, filter: { tag } });
    await client.wait(operation.id);
  }
  return new Map([...ended, ...ids].flatMap(([id, { customer }]) => (customer === null ? [] : [[id, customer]])));
}

async function makeSettings(client: Client, given: Contents): Promise<void> {
  for (const queue of QUEUES) {
    const { paused, capacity } = given.settings[queue];
    await client.configure(queue, { capacity });
    if (paused) await client.pause(queue);
  }
  for (let index = 0; index < given.schedules; index++) {
    await client.schedules.upsert({ name: `schedule-${index}`, every: "1d", type: "report:make" });
    await client.schedules.pause(`schedule-${index}`);
  }
}

/** Registers the workers, and keeps them from looking silent. Only a store takes entries of workers that serve our own queues. */
export async function keepBeating(storeUrl: string, { workers, internalWorkers }: Filled): Promise<AsyncDisposable> {
  const store = await openStore(storeUrl);
  const beat = async (): Promise<void> => {
    for (const entry of [...workers, ...internalWorkers]) await store.register(entry, TTL_MS);
  };
  await beat();
  let last = Promise.resolve();
  const timer = setInterval(() => {
    last = beat();
  }, BEAT_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await last;
      await store.close();
    },
  };
}

function workersOf(given: Contents): Pick<Filled, "workers" | "internalWorkers"> {
  const workers = given.workers.map((changes, index) => entryOf(`user-${index}`, { ...changes, queues: [changes.queue] }));
  const internalWorkers = Array.from({ length: given.servers }, (_, index) => serversWorkers(`server-${index}`)).flat();
  return { workers, internalWorkers };
}

function totalsOf(given: Contents): Filled["totals"] {
  const count = (...fates: Job["fate"][]): number => given.jobs.filter(({ fate }) => fates.includes(fate)).length;
  return {
    enqueued: given.jobs.length,
    completed: count("completed", "removed"),
    failed: count("dead", "revived"),
    retried: count("retrying"),
  };
}

/** The value of the facet of each job: its customer, if its queue declares that. */
export function facetIn(
  { settings }: Contents,
  customers: Filled["customers"],
): (job: { id: string; queue: string }) => string | undefined {
  return ({ id, queue }) => (QUEUES.some((name) => name === queue && settings[name].hasFacet) ? customers.get(id) : undefined);
}

function isClaimed(fate: Job["fate"]): boolean {
  return (CLAIMED_FATES as readonly string[]).includes(fate);
}

async function enqueueAll(client: Client, jobs: readonly Job[]): Promise<Map<string, Job>> {
  const url = "https://example.com/";
  const answers = await client.enqueueMany(
    jobs.map(({ queue, type, priority, tags, fate, hasWebhook, customer, limitKey }) => ({
      queue,
      type,
      priority,
      tags,
      payload: customer === null ? { url } : { url, headers: { customer } },
      ...(limitKey === null ? {} : { limitKey }),
      ...(fate === "scheduled" ? { delay: HOUR } : {}),
      ...(hasWebhook ? { webhookUrl: "https://example.com/hook" } : {}),
    })),
  );
  return new Map(
    answers.map((answer, index) => {
      if (!answer.ok) throw answer.error;
      return [answer.job.id, jobs[index]!];
    }),
  );
}

/** Claims all of them, and lets each meet its fate. */
async function end(client: Client, jobs: ReadonlyMap<string, Job>, queues: readonly string[]): Promise<void> {
  const leases = await claim(client, queues, jobs.size);
  await report(client, leases, jobs);
  for (const [id, { fate }] of jobs) {
    if (fate === "stopped") await client.cancel(id);
    if (fate === "revived") await client.retry(id);
    if (fate === "removed") await client.remove(id);
  }
}

async function endDeliveries(client: Client, fates: Contents["deliveries"]): Promise<void> {
  const { jobs } = await client.list({ internal: true, type: "millrace:webhook", status: "pending", limit: 1000 });
  if (fates.length === 0 || jobs.length === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const deliver = (): null => {
    const fate = fates[calls++ % fates.length];
    if (calls === jobs.length) resolve();
    if (fate === "dead") throw new Discard("gone");
    if (fate === "retrying") throw new RetryAfter(HOUR);
    return null;
  };
  await using _worker = client.work({ "millrace:webhook": deliver }, { queues: ["*~webhooks"] });
  await promise;
}

async function claim(client: Client, queues: readonly string[], limit: number): Promise<LeasedJob[]> {
  if (limit === 0) return [];
  const request = { workerId: "elsewhere", queues, types: "*", limit, leaseMs: TTL_MS, turn: 0, again: false } as const;
  return (await client.leases.exchange([], request)).jobs;
}

async function report(client: Client, leases: readonly LeasedJob[], jobs: ReadonlyMap<string, Job>): Promise<void> {
  const reports = leases.flatMap((lease): Report[] => {
    const { fate, error } = jobs.get(lease.job.id)!;
    const outcome = outcomeOf(fate, { name: "Error", message: error, stack: null, kind: "error" });
    return outcome === null ? [] : [{ id: lease.job.id, fence: lease.fence, facts: lease.facts, outcome }];
  });
  const { results } = await client.leases.exchange(reports, null);
  if (results.some((result) => result !== "ok")) throw new Error(`a report was refused: ${results.join()}`);
}

/** For a signal that nobody sends. */
const WAIT: NewStep = { name: "approval", kind: "wait", state: "open", value: null, untilMs: null, detail: null };

function outcomeOf(fate: string, error: AttemptError): Report["outcome"] | null {
  switch (fate) {
    case "completed":
    case "removed":
      return { kind: "completed", result: null, runMs: 5 };
    case "dead":
    case "revived":
      return { kind: "discard", error, runMs: 5 };
    case "retrying":
      return { kind: "failed", error, delayMs: HOUR, runMs: 5 };
    case "blocked":
      return { kind: "suspend", waits: [WAIT], calls: [] };
    default:
      return null;
  }
}

function serversWorkers(server: string): WorkerEntry[] {
  return [
    entryOf(`${server}-deliveries`, { queues: ["*~webhooks"], types: ["millrace:webhook"], runningCount: 1, abandoned: 1 }),
    entryOf(`${server}-requests`, { queues: ["*"], types: ["http:request"], runningCount: 2, perMinute: 7 }),
    entryOf(`${server}-bulk`, { queues: ["~bulk"], types: ["millrace:bulk"] }),
  ];
}

function entryOf(id: string, changes: Partial<WorkerEntry>): WorkerEntry {
  const entry = { id, host: "h", pid: 1, state: "idle", slots: 3, queues: [], types: "*", startedAt: Date.now() } as const;
  return { ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0, ...changes };
}
