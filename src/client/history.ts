/** Figures by period, from counters. They cost the same however many jobs there are. */
import { invalid } from "../core/errors.ts";
import { readQueue } from "../core/job-options.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { CounterRow } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { HistoryPoint } from "./client.ts";
import { readMoment } from "./filter.ts";
import { readOptions } from "./refusals.ts";
import { startOf, sum, usersCounters } from "./stats.ts";

const STEPS = { hour: { ms: HOUR_MS, usual: 24 }, minute: { ms: MINUTE_MS, usual: 60 } } as const;
type Step = keyof typeof STEPS;

const MAX_POINTS = 1000;

/** Adds up the counters of each period. */
export async function readHistory({ store, clock }: Pick<ClientParts, "store" | "clock">, input: unknown): Promise<HistoryPoint[]> {
  const query = readOptions(input, "a history", ["step", "from", "to", "queue"]);
  const step = readStep(query.step);
  const { ms, usual } = STEPS[step];
  const queue = query.queue === undefined ? undefined : readQueue(query.queue);
  const last = startOf(readMoment(query.to, "to") ?? clock.now(), ms);
  const first = startOf(readMoment(query.from, "from") ?? last - (usual - 1) * ms, ms);
  const points = (last - first) / ms + 1;
  if (points < 1) throw invalid("from", "before to", query.from);
  if (points > MAX_POINTS) throw invalid("from", `at most ${MAX_POINTS} ${step}s before to`, query.from);
  const { rows } = await usersCounters(store, { step, queue, from: first, to: last + ms });
  const byPeriod = Map.groupBy(rows, ({ at }) => at);
  return Array.from({ length: points }, (_, index) => pointOf(first + index * ms, byPeriod.get(first + index * ms) ?? []));
}

function pointOf(at: number, rows: readonly CounterRow[]): HistoryPoint {
  return {
    at,
    enqueued: sum(rows, "enqueued"),
    completed: sum(rows, "completed"),
    failed: sum(rows, "failed") + sum(rows, "dead"),
    retried: sum(rows, "retried"),
  };
}

function readStep(step: unknown): Step {
  if (step === undefined) return "hour";
  if (step === "hour" || step === "minute") return step;
  throw invalid("step", "hour or minute", step);
}
