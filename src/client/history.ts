/** Figures by period, from counters. They cost the same however many jobs there are. */
import { TIMES_BY_MINUTE_MS } from "../core/counters.ts";
import { invalid } from "../core/errors.ts";
import { readQueue } from "../core/job-options.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { CounterRow, Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { HistoryPoint } from "./client.ts";
import { readMoment } from "./filter.ts";
import { readOptions } from "./refusals.ts";
import { percentilesOf, startOf, sum, usersCounters } from "./stats.ts";

const STEPS = { hour: { ms: HOUR_MS, usual: 24 }, minute: { ms: MINUTE_MS, usual: 60 } } as const;
type Step = keyof typeof STEPS;

const MAX_POINTS = 1000;

/** Adds up the counters of each period. */
export async function readHistory({ store, clock }: Pick<ClientParts, "store" | "clock">, input: unknown): Promise<HistoryPoint[]> {
  const query = readOptions(input, "a history", ["step", "from", "to", "queue", "times"]);
  const step = readStep(query.step);
  const { ms, usual } = STEPS[step];
  const queue = query.queue === undefined ? undefined : readQueue(query.queue);
  const withTimes = readTimes(query.times, queue);
  const last = startOf(readMoment(query.to, "to") ?? clock.now(), ms);
  const first = startOf(readMoment(query.from, "from") ?? last - (usual - 1) * ms, ms);
  const points = (last - first) / ms + 1;
  if (points < 1) throw invalid("from", "before to", query.from);
  if (points > MAX_POINTS) throw invalid("from", `at most ${MAX_POINTS} ${step}s before to`, query.from);
  const { now, rows } = await usersCounters(store, { step, queue, from: first, to: last + ms });
  const timed = withTimes && step === "hour" ? await timesByHour(store, queue, first, last + ms, now) : rows;
  const byPeriod = Map.groupBy(rows, ({ at }) => at);
  const timesByPeriod = Map.groupBy(timed, ({ at }) => startOf(at, ms));
  return Array.from({ length: points }, (_, index) => {
    const at = first + index * ms;
    const measured = timesByPeriod.get(at) ?? [];
    const times = withTimes
      ? { run: percentilesOf(measured, 0, "run"), wait: percentilesOf(measured, 0, "wait") }
      : { run: null, wait: null };
    return { ...countsOf(at, byPeriod.get(at) ?? []), ...times };
  });
}

/**
 * Histograms of hours, and those of the latest minutes, which upkeep has not moved to their hours yet; it may be late by an hour. Hours come first:
 * what is moved between the two reads is missed once, and not counted twice.
 */
async function timesByHour(store: Store, queue: string | undefined, first: number, to: number, now: number): Promise<CounterRow[]> {
  const hours = await usersCounters(store, { step: "hour-times", queue, from: first, to });
  const from = Math.max(first, startOf(now - TIMES_BY_MINUTE_MS, HOUR_MS) - HOUR_MS);
  const minutes = from < to ? (await usersCounters(store, { step: "minute", queue, from, to })).rows : [];
  return [...hours.rows, ...minutes];
}

function countsOf(at: number, rows: readonly CounterRow[]): Omit<HistoryPoint, "run" | "wait"> {
  return {
    at,
    enqueued: sum(rows, "enqueued"),
    completed: sum(rows, "completed"),
    failed: sum(rows, "failed") + sum(rows, "dead"),
    retried: sum(rows, "retried"),
  };
}

/** Of all queues together they would be read from every minute of every queue. */
function readTimes(times: unknown = false, queue: string | undefined): boolean {
  if (typeof times !== "boolean") throw invalid("times", "true or false", times);
  if (times && queue === undefined) throw invalid("queue", "the name of a queue if you ask for times", queue);
  return times;
}

function readStep(step: unknown): Step {
  if (step === undefined) return "hour";
  if (step === "hour" || step === "minute") return step;
  throw invalid("step", "hour or minute", step);
}
