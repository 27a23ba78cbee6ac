/**
 * Lists whatever the server believes of the tables. It believes what a vacuum saw, maybe when a backlog had just drained, or when there were
 * four jobs; and what it believes decides how it reads. So here it is told lies, and each plan is run and weighed: how many rows it
 * passed, counted again each time it came by.
 */
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { withFacets } from "../../../../src/core/facets.ts";
import type { NewJob, Status } from "../../../../src/core/job.ts";
import { CANCEL, type Move } from "../../../../src/core/lifecycle.ts";
import type { ListQuery, Store } from "../../../../src/store/store.ts";
import { connectedTo, jobOf, schemaOf, serverOfThisFile } from "./open-database.ts";
import { explainingUrl, openExplained } from "./told-plans.ts";

const server = serverOfThisFile();

/** How many jobs of each kind there are: enough for several pages of each index. */
const MANY = 2_000;
/** How many times a statement may pass a candidate: it looks it up in a few tables, and hands it on from step to step. */
const MOST_PER_CANDIDATE = 20;
const BATCH = 1_000;
const QUEUES = 40;
/** After so many calls a server may keep one plan for all values. */
const KEPT_FROM = 6;

const job = (queue: string, change: Partial<NewJob> = {}, type = "task"): NewJob => ({
  ...withFacets(jobOf({}, type, { customer: "acme", region: "eu" }), ["customer", "region"]),
  queue,
  ...change,
});
const jobs = (count: number, make: (index: number) => NewJob): NewJob[] => Array.from({ length: count }, (_, index) => make(index));

/** As it happens to jobs without retries. */
const END: Move = { ...CANCEL, transition: { ...CANCEL.transition, to: "dead" } };

async function fill(store: Store): Promise<void> {
  for (let batch = 0; batch < MANY / BATCH; batch++) {
    const ended = jobs(BATCH, () => job("old"));
    await store.insert(ended);
    await store.change(
      ended.map(({ id }) => id),
      END,
    );
    await store.insert(jobs(BATCH, () => job("mail")));
    await store.insert(jobs(BATCH, () => job("later", { delayMs: 3_600_000 })));
  }
  await store.insert(jobs(QUEUES * 4, (index) => job(`q${index % QUEUES}`, {}, `t${index % 4}`)));
}

const FILTERS: readonly Omit<ListQuery, "limit">[] = [
  {},
  { type: "t1" },
  { tag: "x" },
  { q: "nothing" },
  { priority: { min: 0, max: 10 } },
  { from: 0, to: Date.UTC(2100, 0) },
  { facets: { customer: "acme" } },
  { facets: { customer: "acme", region: "eu" } },
  { limitKey: "k" },
];
const STATUSES: readonly (readonly Status[] | undefined)[] = [undefined, ["pending"], ["dead"], ["pending", "scheduled", "dead"]];
const ORDERED: readonly (readonly Status[])[] = [["pending"], ["scheduled", "retrying"], ["cancelled", "dead"]];

async function ask(store: Store): Promise<void> {
  for (const filter of FILTERS) {
    for (const queue of [undefined, "mail"]) {
      for (const status of STATUSES) {
        await store.list({ limit: 10, ...filter, queue, status });
        await store.count({ ...filter, queue, status });
      }
      for (const status of ORDERED) await store.list({ limit: 10, ...filter, queue, status, sort: "state" });
    }
    const ended = { ...filter, status: ["failed", "dead"] as const, limit: 10 };
    await store.errorGroups(ended);
    await store.facetValues({ ...ended, field: "customer" });
    await store.errorGroups({ ...ended, endedFrom: 0 });
  }
}

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const passed = (node: Plan): number =>
  (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0)) * node["Actual Loops"];

/** Tables that have a row for each job. Those that wait until they are due are read as a whole where another status shares their table. */
const OF_JOBS = ["job", "ready", "ended", "blocked", "facet"];

/** What is wrong with a plan. */
function faults({ text, plan }: Told): string[] {
  const nodes = nodesOf(plan);
  const scans = nodes.filter((node) => node["Node Type"] === "Seq Scan" && OF_JOBS.includes(node["Relation Name"]!));
  const weight = Math.max(...nodes.map(passed));
  return [
    ...scans.map((node) => `${text}: reads the table ${node["Relation Name"]!}, ${node["Actual Loops"]} times`),
    ...(weight > MOST_PER_CANDIDATE * MANY ? [`${text}: passes ${weight} rows in one step`] : []),
  ];
}

interface Told {
  readonly text: string;
  readonly plan: Plan;
}

function readTold(message: string): Told[] {
  const from = message.indexOf("{");
  if (!message.startsWith("duration") || from < 0) return [];
  const { "Query Text": text, Plan: plan } = JSON.parse(message.slice(from)) as { "Query Text": string; Plan: Plan };
  return [{ text: text.trim().replaceAll(/\s+/g, " ").slice(0, 120), plan }];
}

/** From here on the server believes what it is told. */
async function believeOnly(client: pg.Client, schema: string): Promise<string[]> {
  const found = await client.query<{ name: string }>("select quote_ident(tablename) as name from pg_tables where schemaname = $1", [
    schema,
  ]);
  const tables = found.rows.map(({ name }) => `${schema}.${name}`);
  for (const table of tables) await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  return tables;
}

const told = (rows: number, pages: number) => async (client: pg.Client, schema: string) => {
  await client.query(
    `update pg_class set reltuples = $1, relpages = $2, relallvisible = 0 where relnamespace = $3::regnamespace and relkind = 'r'`,
    [rows, pages, schema],
  );
};

const BELIEFS: readonly [string, (client: pg.Client, schema: string) => Promise<void>][] = [
  ["that nobody looked at", told(-1, 0)],
  ["that were empty", told(0, 0)],
  ["that were empty, with the pages of former rows", told(0, 300)],
  ["that had four rows in a page", told(4, 1)],
  ["that had four rows in many pages", told(4, 300)],
  ["that had millions of rows", told(1e7, 1e5)],
];

describe("what a list, a count or a group costs does not depend on what the server believes of tables", () => {
  test.each(BELIEFS)("%s", async (_, lie) => {
    const url = explainingUrl(server(), ["auto_explain.log_analyze=on", "auto_explain.log_timing=off", "auto_explain.log_format=json"]);
    const { store, told: messages } = await openExplained(url);
    const client = await connectedTo(server());
    const tables = await believeOnly(client, schemaOf(url));
    // The figures of columns are from a time with four jobs. So are the plans that a session might keep.
    await store.insert(jobs(4, (index) => job(["mail", "sms", "push", "old"][index]!)));
    for (const table of tables) await client.query(`analyze ${table}`);
    for (let often = 0; often < KEPT_FROM; often++) await store.count({ status: ["pending"], facets: { customer: "acme" }, queue: "mail" });
    await fill(store);
    await lie(client, schemaOf(url));
    messages.length = 0;
    await ask(store);
    const plans = messages.flatMap(readTold);
    expect(plans.length).toBeGreaterThan(100);
    expect([...new Set(plans.flatMap(faults))]).toEqual([]);
  });
});
