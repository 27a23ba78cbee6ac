// WHAT IS IN A STORE, counted by plain code over all jobs: nothing here shares a line with what it checks.

import type { Client } from "../../src/client/client.ts";
import type { JobSummary } from "../../src/core/job.ts";

const STATUSES = ["scheduled", "pending", "running", "retrying", "blocked", "completed", "failed", "dead", "cancelled"];
export const WAITING: readonly string[] = ["pending", "scheduled", "retrying"];

export interface Census {
  /** Every job that is stored. */
  readonly all: readonly JobSummary[];
  /** Those that users enqueued. */
  readonly users: readonly JobSummary[];
}

export async function takeCensus(client: Client): Promise<Census> {
  const all: JobSummary[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await client.list({ internal: true, limit: 7, cursor });
    all.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== null);
  return { all, users: all.filter(({ queue }) => !queue.includes("~")) };
}

export function countWhere<Item>(items: readonly Item[], isMeant: (item: Item) => boolean): number {
  return items.filter(isMeant).length;
}

export function countIn(jobs: readonly JobSummary[], ...statuses: readonly string[]): number {
  return countWhere(jobs, ({ status }) => statuses.includes(status));
}

/** How many are in each status. */
export function byStatus(jobs: readonly JobSummary[]): Record<string, number> {
  return Object.fromEntries(STATUSES.map((status) => [status, countIn(jobs, status)]));
}

/** How many wait in each level of priority. */
export function byLevel(jobs: readonly JobSummary[]): Record<string, number> {
  const waiting = jobs.filter(({ status }) => WAITING.includes(status));
  const between = (low: number, high: number): number => countWhere(waiting, ({ priority }) => priority >= low && priority < high);
  return { critical: between(20, 101), high: between(10, 20), default: between(0, 10), low: between(-100, 0) };
}

/** How many have each error group, the largest first. */
export function byGroup(jobs: readonly JobSummary[]): number[] {
  return [...Map.groupBy(jobs, ({ error }) => error?.message.replace(/\d+/, "#"))].map(([, { length }]) => length).sort((a, b) => b - a);
}

/** How many each customer has, most first and then by name, and how many have none. */
export function byCustomer(
  jobs: readonly JobSummary[],
  customerOf: (job: JobSummary) => string | undefined,
): { readonly values: { readonly value: string; readonly count: number }[]; readonly without: number } {
  const groups = Map.groupBy(jobs, customerOf);
  const values = [...groups].flatMap(([value, { length: count }]) => (value === undefined ? [] : [{ value, count }]));
  values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
  return { values, without: groups.get(undefined)?.length ?? 0 };
}

/** How many of them are in this queue. */
export function inQueue(jobs: readonly JobSummary[], queue: string): JobSummary[] {
  return jobs.filter((job) => job.queue === queue);
}
