import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Client, JobFilter } from "../../src/client/client.ts";
import { connect } from "../../src/connect.ts";
import type { JobSummary } from "../../src/core/job.ts";
import { listen } from "../../src/http/listen.ts";
import { createServer } from "../../src/http/server.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import type { FreshStore } from "../conformance/client-sources.ts";
import { readPrometheusText } from "../unit/observe/prometheus-text.ts";
import { byCustomer, byGroup, byLevel, byStatus, type Census, countIn, countWhere, inQueue, takeCensus } from "./census.ts";
import { type Contents, contents, CUSTOMERS, FACET, facetIn, fill, type Filled, keepBeating, LIMIT_KEYS } from "./contents.ts";
import { expectedFindings } from "./expected-findings.ts";

const RUNS = process.env["MILLRACE_TEST_RUNS"];
const SEED = process.env["MILLRACE_TEST_SEED"];
const QUEUES = ["default", "mail", "quiet"];

interface Facts extends Filled {
  readonly census: Census;
  readonly given: Contents;
}

/** Where a suite gets its stores, and how many it looks at. */
export interface Source {
  readonly engine: string;
  readonly fresh: () => FreshStore | Promise<FreshStore>;
  /** Unless MILLRACE_TEST_RUNS says otherwise. */
  readonly runs: number;
}

/** Every number of the API equals a count by plain code over everything that is stored, whatever that is. */
export function numbersSuite(source: Source): void {
  const settings = { numRuns: Number(RUNS ?? source.runs), ...(SEED === undefined ? {} : { seed: Number(SEED) }) };
  describe(`over ${source.engine}, the API counts what is stored`, () => {
    test("in statistics, queues, workers, findings and metrics", { timeout: 600_000 }, () =>
      fc.assert(
        fc.asyncProperty(contents, (given) =>
          withServer(source, given, async (client, facts, url) => {
            await checkStats(client, facts);
            await checkQueues(client, facts);
            await checkTypes(client, facts);
            await checkWorkers(client, facts);
            expect(await findingsOf(client)).toEqual(expectedFindings(facts.census, given, facts));
            await checkMetrics(url, facts);
          }),
        ),
        settings,
      ),
    );

    test("in lists, totals, groups and bulk operations by any filter", { timeout: 600_000 }, () =>
      fc.assert(
        fc.asyncProperty(contents, fc.array(filters, { minLength: 4, maxLength: 4 }), (given, chosen) =>
          withServer(source, given, async (client, facts, url) => {
            for (const filter of [{}, { internal: true }, ...chosen]) await checkFilter(client, filter, facts, url);
          }),
        ),
        settings,
      ),
    );
  });
}

type Check = (client: Client, facts: Facts, url: string) => Promise<void>;

/** Checks a client of a server over a store with these contents. */
async function withServer(source: Source, given: Contents, check: Check): Promise<void> {
  const store = await source.fresh();
  const filled = await fill(store.url, given);
  const beating = await keepBeating(store.url, filled);
  const local = await connect(store.url, { upkeep: true });
  const metrics = new Metrics({ source: local });
  const listening = await listen(createServer(local, { figures: metrics }), { port: 0 });
  const client = await connect(listening.url);
  try {
    await check(client, { ...filled, given, census: await takeCensus(client) }, listening.url);
  } finally {
    await beating[Symbol.asyncDispose]();
    await client.close();
    await listening.close({ graceMs: 0 });
    await local.close({ grace: 0 });
    metrics.stop();
    await store.destroy?.();
  }
}

async function checkStats(client: Client, { census: { users }, totals, workers, given }: Facts): Promise<void> {
  const day = new Date().getUTCDate();
  const stats = await client.stats();
  expect(stats).toMatchObject({
    counts: byStatus(users),
    waiting: byLevel(users),
    totalEnqueued: totals.enqueued,
    totalProcessed: totals.completed,
    totalFailed: totals.failed,
    totalRetried: totals.retried,
    totalLost: 0,
    deadCount: countIn(users, "dead"),
    activeWorkers: workers.length,
  });
  // Only if midnight did not pass meanwhile.
  if (new Date(Math.min(...users.map(({ createdAt }) => createdAt))).getUTCDate() === day) {
    expect(stats.today).toEqual({ processed: totals.completed, failed: totals.failed });
  }
  expect(stats.queues).toEqual(
    Object.fromEntries(
      QUEUES.map((name) => {
        const jobs = inQueue(users, name);
        return [name, { counts: byStatus(jobs), waiting: byLevel(jobs), paused: given.settings[name as "mail"].paused }];
      }),
    ),
  );
}

/** The types of all queues add up to the totals, and each has at least the jobs that are still stored. */
async function checkTypes(client: Client, { census: { users }, totals }: Facts): Promise<void> {
  const sums = { enqueued: 0, completed: 0, failed: 0, retried: 0 };
  for (const queue of QUEUES) {
    for (const { type, ...counts } of await client.queueTypes(queue)) {
      for (const counter of Object.keys(sums) as (keyof typeof sums)[]) sums[counter] += counts[counter];
      const stored = inQueue(users, queue).filter((job) => job.type === type);
      expect(counts.enqueued).toBeGreaterThanOrEqual(stored.length);
      expect(counts.completed).toBeGreaterThanOrEqual(countIn(stored, "completed"));
    }
  }
  expect(sums).toEqual({ enqueued: totals.enqueued, completed: totals.completed, failed: totals.failed, retried: totals.retried });
}

async function checkQueues(client: Client, { census: { users }, given }: Facts): Promise<void> {
  const since = Date.now();
  const queues = await client.queues();
  expect(queues.map(({ name }) => name)).toEqual(QUEUES);
  for (const { name, paused, capacity, facets, counts, waiting, oldestWaitingMs } of queues) {
    const jobs = inQueue(users, name);
    expect({ paused, capacity, hasFacet: facets.some(({ field }) => field === FACET) }).toEqual(given.settings[name as "mail"]);
    expect({ counts, waiting }).toEqual({ counts: byStatus(jobs), waiting: byLevel(jobs) });
    // Nothing here was due before it became pending.
    const dueSince = jobs.filter(({ status }) => status === "pending").map(({ updatedAt }) => updatedAt);
    if (dueSince.length === 0) expect(oldestWaitingMs).toBeNull();
    else {
      expect(oldestWaitingMs).toBeGreaterThanOrEqual(since - Math.min(...dueSince));
      expect(oldestWaitingMs).toBeLessThanOrEqual(Date.now() - Math.min(...dueSince));
    }
  }
}

async function checkWorkers(client: Client, { workers, internalWorkers }: Facts): Promise<void> {
  const ids = async (internal: boolean): Promise<string[]> => (await client.workers({ internal })).map(({ id }) => id);
  const named = (entries: Filled["workers"]): string[] => entries.map(({ id }) => id).sort();
  expect((await ids(false)).sort()).toEqual(named(workers));
  expect((await ids(true)).sort()).toEqual(named([...workers, ...internalWorkers]));
}

async function findingsOf(client: Client): Promise<string[]> {
  const found = await client.attention();
  return found.map(({ code, queue, type, count }) => `${[code, queue, type].filter(Boolean).join(" ")}: ${count}`).sort();
}

async function checkMetrics(url: string, { census: { users }, totals, workers }: Facts): Promise<void> {
  const families = readPrometheusText(await (await fetch(`${url}/metrics`)).text());
  const sumOf = (name: string, labels: Record<string, string> = {}): number =>
    (families.get(name)?.samples ?? [])
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0);
  const statuses = byStatus(users);
  for (const status of Object.keys(statuses))
    expect([status, sumOf("millrace_queue_jobs", { status })]).toEqual([status, statuses[status]]);
  const levels = byLevel(users);
  for (const priority of Object.keys(levels)) expect(sumOf("millrace_queue_waiting_jobs", { priority })).toBe(levels[priority]);
  for (const queue of QUEUES) expect(sumOf("millrace_queue_jobs", { queue })).toBe(inQueue(users, queue).length);
  expect({
    enqueued: sumOf("millrace_jobs_enqueued_total"),
    completed: sumOf("millrace_jobs_completed_total"),
    failed: sumOf("millrace_jobs_failed_total"),
    retried: sumOf("millrace_retries_total"),
  }).toEqual(totals);
  expect(sumOf("millrace_workers")).toBe(workers.length);
  expect(sumOf("millrace_worker_slots")).toBe(workers.reduce((sum, { slots }) => sum + slots, 0));
  expect(sumOf("millrace_worker_slots_used")).toBe(workers.reduce((sum, { runningCount }) => sum + runningCount, 0));
  expect(sumOf("millrace_worker_abandoned_handlers")).toBe(workers.reduce((sum, { abandoned }) => sum + abandoned, 0));
}

const LEVELS = { critical: [20, 100], high: [10, 19], default: [0, 9], low: [-100, -1] } as const;

const filters = fc.record(
  {
    status: fc.constantFrom("pending", "scheduled", "running", "retrying", "completed", "failed", "dead", "cancelled"),
    queue: fc.constantFrom(...QUEUES),
    type: fc.constantFrom("mail:send", "report:make", "http:request"),
    tag: fc.constantFrom("red", "blue"),
    priority: fc.constantFrom(...(Object.keys(LEVELS) as (keyof typeof LEVELS)[])),
    internal: fc.constant<boolean>(true),
    limitKey: fc.constantFrom(...LIMIT_KEYS),
    where: fc.constantFrom(...CUSTOMERS.map((customer) => ({ [FACET]: customer }))),
  },
  { requiredKeys: [] },
);

type ChosenFilter = typeof filters extends fc.Arbitrary<infer Value> ? Value : never;

function isMeant(filter: ChosenFilter, customers: Filled["customers"]): (job: JobSummary) => boolean {
  const { status, queue, type, tag, priority, limitKey, where } = filter;
  // A filter by failed means all that failed for good.
  const statuses: readonly unknown[] = status === "failed" ? ["failed", "dead"] : [status];
  const [low, high] = LEVELS[priority ?? "default"];
  return (job) =>
    (status === undefined || statuses.includes(job.status)) &&
    (queue === undefined || job.queue === queue) &&
    (type === undefined || job.type === type) &&
    (tag === undefined || job.tags.includes(tag)) &&
    (limitKey === undefined || job.limitKey === limitKey) &&
    (where === undefined || customers.get(job.id) === where[FACET]) &&
    (priority === undefined || (job.priority >= low && job.priority <= high));
}

async function checkFilter(client: Client, filter: ChosenFilter, facts: Facts, url: string): Promise<void> {
  const { all, users } = facts.census;
  const jobs = (filter.internal === true ? all : users).filter(isMeant(filter, facts.customers));
  const query = new URLSearchParams({ total: "true", limit: "3" });
  const { where, limitKey, ...others } = filter;
  for (const [name, value] of Object.entries(others)) query.set(name, String(value));
  if (limitKey !== undefined) query.set("limit_key", limitKey);
  if (where !== undefined) query.set("where", `${FACET}:${where[FACET]}`);
  const page = (await (await fetch(`${url}/api/v1/jobs?${query.toString()}`)).json()) as Record<string, unknown>;
  expect({ filter, ...page }).toMatchObject({ filter, total: jobs.length, total_is_capped: false });
  expect(page["jobs"]).toHaveLength(Math.min(3, jobs.length));
  await checkDead(client, filter, jobs);
  await checkFacets(client, filter, jobs, facts);
  await checkBulk(client, filter, jobs);
}

async function checkDead(client: Client, { status: _, ...filter }: JobFilter, jobs: readonly JobSummary[]): Promise<void> {
  if (_ !== undefined && _ !== "dead") return;
  const dead = jobs.filter(({ status }) => status === "dead");
  expect((await client.dead.list(filter)).jobs).toHaveLength(dead.length);
  const { groups, ...more } = await client.dead.groups(filter);
  expect({ counts: groups.map(({ count }) => count), ...more }).toEqual({ counts: byGroup(dead), isCapped: false, hasMore: false });
}

/** Dead and failed jobs by customer. Those of queues that do not declare the field are without. */
async function checkFacets(client: Client, filter: JobFilter, jobs: readonly JobSummary[], { given, customers }: Facts): Promise<void> {
  const failures: readonly string[] = ["dead", "failed"];
  if (filter.status !== undefined && !failures.includes(filter.status as string)) return;
  const failed = jobs.filter(({ status }) => failures.includes(status));
  const counted = byCustomer(failed, facetIn(given, customers));
  expect({ filter, ...(await client.facets(FACET, filter)) }).toEqual({ filter, ...counted, isCapped: false, hasMore: false });
}

const CHANGED = {
  retry: ["dead", "failed", "cancelled"],
  cancel: ["scheduled", "pending", "running", "retrying", "blocked"],
  delete: ["completed", "failed", "dead", "cancelled"],
} as const;

async function checkBulk(client: Client, filter: JobFilter, jobs: readonly JobSummary[]): Promise<void> {
  for (const action of ["retry", "cancel", "delete"] as const) {
    const changed: readonly unknown[] = CHANGED[action];
    if (filter.status !== undefined && !changed.includes(filter.status)) continue;
    // Cancelled jobs are retried only by their name.
    const isLeft = ({ queue, status }: JobSummary): boolean =>
      queue === "~bulk" || (action === "retry" && filter.status === undefined && status === "cancelled");
    const matched = countWhere(jobs, (job) => changed.includes(job.status) && !isLeft(job));
    const { matched: previewed, matchedIsCapped } = await client.bulk.preview({ action, filter });
    expect({ action, filter, matched: previewed, matchedIsCapped }).toEqual({ action, filter, matched, matchedIsCapped: false });
  }
}
