import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { JobRecord } from "../../../src/core/job.ts";
import type { Notice } from "../../../src/core/steps.ts";
import { type CounterRow, MAX_HOLDERS, type StepsPage } from "../../../src/store/store.ts";
import type { World } from "../world.ts";
import type { Reference } from "./reference.ts";
import { LIMIT_KEYS, type Model } from "./state.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const BATCH = 1_000;

/** Compares quickly, and explains only what differs. */
export function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, `compared: ${what}`).toEqual(expected);
}

/** After each step: all jobs; and in turns tallies, totals, and history and logs of one job after the other; the rest now and then. */
export async function compareStep(model: Model, world: World): Promise<void> {
  const { reference, steps } = model;
  await compareJobs(reference, world);
  if (steps % 3 === 0) await compareQueues(reference, world);
  if (steps % 5 === 1) await compareLimits(reference, world, pickOne([...reference.queues.keys()], Math.floor(steps / 5)));
  if (steps % 3 === 1) await compareTotals(reference, world);
  if (steps % 3 === 2) await compareStories(reference, world, pickOne([...reference.known], Math.floor(steps / 3)));
  if (steps % 4 === 3) await compareNotices(reference, world);
  if (steps % 10 === 0) await comparePeriods(reference, world);
  model.steps++;
}

/** At the end of a run: everything. */
export async function compareEnd(model: Model, world: World): Promise<void> {
  const { reference } = model;
  await compareJobs(reference, world);
  await compareQueues(reference, world);
  await compareLimits(reference, world, [...reference.queues.keys()]);
  await compareTotals(reference, world);
  await compareStories(reference, world, [...reference.known]);
  await compareNotices(reference, world);
  await comparePeriods(reference, world);
}

function pickOne(names: readonly string[], turn: number): string[] {
  return names.length === 0 ? [] : [names[turn % names.length]!];
}

async function compareJobs(reference: Reference, world: World): Promise<void> {
  const ids = [...reference.known];
  for (let from = 0; from < ids.length; from += BATCH) {
    const some = ids.slice(from, from + BATCH);
    const found = await world.store.find(some);
    some.forEach((id, index) => {
      same(comparable(found[index]!), comparable(reference.jobs.get(id)?.record ?? null), `job ${id}`);
    });
  }
}

/** Without a key its ttl means nothing, and engines need not keep it. */
export function comparable<Some extends JobRecord>(job: Some | null): Some | null {
  return job === null || job.idempotencyKey !== null ? job : { ...job, keyTtlMs: 0 };
}

async function compareQueues(reference: Reference, world: World): Promise<void> {
  const queues = await world.store.queues();
  same(queues.map(({ name }) => name).sort(), [...reference.queues.keys()].sort(), "the names of the queues");
  for (const { name, settings, paused, counts } of queues) {
    const expected = reference.queues.get(name)!;
    same({ settings, paused }, expected, `settings of ${name}`);
    const cells = counts.filter(({ count }) => count !== 0).map(({ status, level, count }) => [`${status} ${level}`, count] as const);
    same(sorted(Object.fromEntries(cells)), sorted(reference.counts(name)), `tallies of ${name}`);
  }
}

/** Leases, waiting jobs and holds of each limit key, and the busiest of them. */
async function compareLimits(reference: Reference, world: World, queues: readonly string[]): Promise<void> {
  for (const name of queues) {
    const use = await world.store.limitUse(name, LIMIT_KEYS);
    for (const { key, running, waiting, heldUntil, holders } of use!.keys) {
      const { ofKey, ...expected } = reference.limitUse(name, key);
      same({ running: use!.running, waiting, heldUntil }, expected, `use of ${name} ${key}`);
      same(
        { running, holders: holders.length },
        { running: ofKey.length, holders: Math.min(MAX_HOLDERS, ofKey.length) },
        `leases of ${key}`,
      );
      same(
        holders.filter((id) => !ofKey.includes(id)),
        [],
        `holders of ${key}`,
      );
    }
    const busiest = (await world.store.busiestKeys(name, 10)).map(({ running }) => running);
    const leases = LIMIT_KEYS.map((key) => reference.limitUse(name, key)).filter(({ ofKey, waiting }) => ofKey.length + waiting > 0);
    same(
      busiest,
      leases.map(({ ofKey }) => ofKey.length).sort((one, other) => other - one),
      `the busiest keys of ${name}`,
    );
  }
}

async function compareTotals(reference: Reference, world: World): Promise<void> {
  const { now, rows } = await world.store.counters({ step: "all" });
  same(now, reference.now, "the store's time");
  same(countsOf(rows), expectedCounts(reference, "all", 0, false), "totals");
  const types = await world.store.counters({ step: "all", byType: true });
  same(countsOf(types.rows), expectedCounts(reference, "all"), "totals by type");
}

async function compareStories(reference: Reference, world: World, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    same(await world.store.attempts(id), reference.attempts(id), `attempts of ${id}`);
    same(await world.store.manualChanges(id), reference.jobs.get(id)?.changes ?? [], `changes by hand of ${id}`);
    same(await world.store.logs(id, 0, 2_000), reference.jobs.get(id)?.logs ?? [], `logs of ${id}`);
    same(pageOf(await world.store.readSteps(id, null, null)), reference.readSteps(id, null), `steps of ${id}`);
  }
}

/** What the reference knows of a page of steps. */
export function pageOf(page: StepsPage | null): unknown {
  return page === null ? null : { life: page.life, steps: page.steps };
}

/** In any order: of several partitions they come in turns. */
export async function compareNotices(reference: Reference, world: World): Promise<void> {
  const stored = await world.store.notices(BATCH);
  same(stored.map(({ notice }) => textOf(notice)).sort(), reference.notices.map(textOf).sort(), "the notices");
}

/** Equal for equal notices, whatever the order of their fields. */
export function textOf(notice: Notice): string {
  return JSON.stringify(notice, (_, value: unknown) =>
    value === null || typeof value !== "object" || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))),
  );
}

/** The last hour by minute and by hour: what is older, a sweep may have dropped. */
async function comparePeriods(reference: Reference, world: World): Promise<void> {
  const hour = reference.now - (reference.now % HOUR_MS);
  const period = { from: hour, to: hour + HOUR_MS, byType: true } as const;
  const minutes = await world.store.counters({ step: "minute", ...period });
  same(countsOf(minutes.rows), expectedCounts(reference, "minute", hour), "counters by minute");
  same(timesOf(minutes.rows), expectedTimes(reference, hour), "histograms");
  // However far a sweep has moved them.
  const day = { step: "hour-times", from: hour - 24 * HOUR_MS, to: hour + HOUR_MS } as const;
  const types = await world.store.counters({ ...day, byType: true });
  same(timesOf(types.rows), expectedTimes(reference, day.from, HOUR_MS), "histograms by hour and type");
  const queues = await world.store.counters(day);
  same(timesOf(queues.rows), expectedTimes(reference, day.from, HOUR_MS, false), "histograms by hour");
  const hours = await world.store.counters({ step: "hour", ...period });
  same(countsOf(hours.rows), expectedCounts(reference, "hour", hour), "counters by hour");
}

function countsOf(rows: readonly CounterRow[]): Record<string, number> {
  const cells = rows.flatMap(({ queue, type, at, counts }) =>
    Object.entries(counts).map(([counter, count]) => [`${queue} ${type} ${at} ${counter}`, count] as const),
  );
  return sorted(Object.fromEntries(cells.filter(([, count]) => count !== 0)));
}

function timesOf(rows: readonly CounterRow[]): Record<string, number> {
  const cells = rows.flatMap(({ queue, type, at, times }) =>
    Object.entries(times).flatMap(([kind, histogram]) =>
      [...histogram].map(([bucket, count]) => [`${queue} ${type} ${at} ${kind} ${bucket}`, count] as const),
    ),
  );
  return sorted(Object.fromEntries(cells.filter(([, count]) => count !== 0)));
}

function expectedCounts({ counted }: Reference, step: "all" | "hour" | "minute", since = 0, byType = true): Record<string, number> {
  const cells: Record<string, number> = {};
  for (const { queue, type, at, counter } of counted) {
    if (at < since) continue;
    const start = step === "all" ? 0 : at - (at % (step === "hour" ? HOUR_MS : MINUTE_MS));
    const cell = `${queue} ${byType ? type : null} ${start} ${counter}`;
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  return sorted(cells);
}

function expectedTimes({ timed }: Reference, since: number, periodMs: number = MINUTE_MS, byType = true): Record<string, number> {
  const cells: Record<string, number> = {};
  for (const { queue, type, at, kind, ms } of timed) {
    if (at < since) continue;
    // Buckets end at 2^(n/4) milliseconds.
    let bucket = 0;
    while (2 ** (bucket / 4) < ms && bucket < 107) bucket++;
    const cell = `${queue} ${byType ? type : null} ${at - (at % periodMs)} ${kind} ${bucket}`;
    cells[cell] = (cells[cell] ?? 0) + 1;
  }
  return sorted(cells);
}

function sorted(cells: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(cells).sort(([a], [b]) => (a < b ? -1 : 1)));
}
