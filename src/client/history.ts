/** Figures by period, from counters. They cost the same however many jobs there are. */
import { MAX_TIMED_PERIODS } from "../core/counters.ts";
import { invalid } from "../core/errors.ts";
import { readQueue } from "../core/job-options.ts";
import { readType } from "../core/read-fields.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { CounterQuery, CounterRow, Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { HistoryPoint, TypeFigures } from "./client.ts";
import { readMoment } from "./filter.ts";
import { readOptions } from "./refusals.ts";
import { percentilesOf, startOf, sum, usersCounters } from "./stats.ts";

const STEPS = { hour: { ms: HOUR_MS, usual: 24 }, minute: { ms: MINUTE_MS, usual: 60 } } as const;
type Step = keyof typeof STEPS;

const MAX_POINTS = 1000;

/** Adds up the counters of each period. */
export async function readHistory({ store, clock }: Pick<ClientParts, "store" | "clock">, input: unknown): Promise<HistoryPoint[]> {
  const query = readOptions(input, "a history", ["step", "from", "to", "queue", "type", "times"]);
  const queue = query.queue === undefined ? undefined : readQueue(query.queue);
  const type = readHistoryType(query.type, queue);
  const withTimes = readTimes(query.times, queue);
  const span = readSpan(query, clock);
  const { rows, timed } = await readPeriods(store, span, { queue, byType: type === undefined ? undefined : { type } }, withTimes);
  const byPeriod = Map.groupBy(rows, ({ at }) => at);
  const timesByPeriod = Map.groupBy(timed, ({ at }) => at);
  return Array.from({ length: span.points }, (_, index) => {
    const at = span.first + index * span.ms;
    const measured = timesByPeriod.get(at) ?? [];
    return { at, ...countsOf(byPeriod.get(at) ?? []), ...(withTimes ? timesOf(measured) : { run: null, wait: null }) };
  });
}

/** Adds up the counters of each type of a queue, the one with the most ended jobs first, and last what is not counted by type. */
export async function readTypes(
  { store, clock }: Pick<ClientParts, "store" | "clock">,
  name: unknown,
  input: unknown,
): Promise<TypeFigures[]> {
  const span = readSpan(readOptions(input, "the types of a queue", ["step", "from", "to"]), clock);
  const withTimes = span.points <= MAX_TIMED_PERIODS;
  const { rows, timed } = await readPeriods(store, span, { queue: readQueue(name), byType: true }, withTimes);
  const timesByType = Map.groupBy(timed, ({ type }) => type);
  const figures = Array.from(
    Map.groupBy(rows, ({ type }) => type),
    ([type, counted]): TypeFigures => {
      return { type, ...countsOf(counted), ...timesOf(withTimes ? (timesByType.get(type) ?? []) : []) };
    },
  );
  return figures.sort((a, b) => Number(a.type === null) - Number(b.type === null) || endedOf(b) - endedOf(a) || byName(a, b));
}

function endedOf({ completed, failed }: TypeFigures): number {
  return completed + failed;
}

function byName(a: TypeFigures, b: TypeFigures): number {
  return a.type! < b.type! ? -1 : 1;
}

/** Periods of one length. */
interface Span {
  readonly step: Step;
  readonly ms: number;
  /** When the first and the last period begin. */
  readonly first: number;
  readonly last: number;
  readonly points: number;
}

function readSpan(query: { readonly step?: unknown; readonly from?: unknown; readonly to?: unknown }, clock: ClientParts["clock"]): Span {
  const step = readStep(query.step);
  const { ms, usual } = STEPS[step];
  const last = startOf(readMoment(query.to, "to") ?? clock.now(), ms);
  const first = startOf(readMoment(query.from, "from") ?? last - (usual - 1) * ms, ms);
  const points = (last - first) / ms + 1;
  if (points < 1) throw invalid("from", "before to", query.from);
  if (points > MAX_POINTS) throw invalid("from", `at most ${MAX_POINTS} ${step}s before to`, query.from);
  return { step, ms, first, last, points };
}

type Wanted = Pick<CounterQuery, "queue" | "byType">;

/** The counters of these periods, and the rows that have their histograms. */
async function readPeriods(
  store: Store,
  { step, first, last, ms }: Span,
  wanted: Wanted,
  withTimes: boolean,
): Promise<{ readonly rows: CounterRow[]; readonly timed: CounterRow[] }> {
  const span = { ...wanted, from: first, to: last + ms };
  const [{ rows }, timed] = await Promise.all([
    usersCounters(store, { ...span, step, countsOnly: withTimes ? undefined : true }),
    withTimes && step === "hour" ? usersCounters(store, { ...span, step: "hour-times" }) : null,
  ]);
  return { rows, timed: timed?.rows ?? rows };
}

function countsOf(rows: readonly CounterRow[]): Pick<HistoryPoint, "enqueued" | "completed" | "failed" | "retried"> {
  return {
    enqueued: sum(rows, "enqueued"),
    completed: sum(rows, "completed"),
    failed: sum(rows, "failed") + sum(rows, "dead"),
    retried: sum(rows, "retried"),
  };
}

function timesOf(rows: readonly CounterRow[]): Pick<TypeFigures, "run" | "wait"> {
  return { run: percentilesOf(rows, 0, "run"), wait: percentilesOf(rows, 0, "wait") };
}

/** A type alone may be in many queues, and each queue counts its own. */
function readHistoryType(type: unknown, queue: string | undefined): string | undefined {
  if (type === undefined) return undefined;
  if (queue === undefined) throw invalid("queue", "the name of a queue if you ask for a type", queue);
  return readType(type);
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
