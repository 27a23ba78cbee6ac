/** THE BARS. What ours must reach beside the others of the same run, or on any machine. */
import type { Figure, Kind } from "./figure.ts";
import { NOTHING_SUSPENDED, PLAIN_JOBS } from "./scenarios/durable.ts";
import { WITHOUT_FLOWS } from "./scenarios/flows.ts";
import { WITHOUT_LIMITS } from "./scenarios/limits.ts";

/** A bar for the best rounds. Without `beside` it is for our own figure. */
export interface Bar {
  /** Left out: all engines. */
  readonly engine?: string;
  /** How `what` of the figure begins. */
  readonly what: string;
  /** Left out: each. */
  readonly of?: string;
  /** All of this kind, or those with this name. */
  readonly beside?: Kind | { readonly name: string };
  readonly atLeast?: number;
  readonly atMost?: number;
  /** In the unit of the figure. */
  readonly atMostMore?: number;
}

const PLAIN_DRAIN = "drain, handlers of 0 ms";
const URGENT = "start of an urgent job";

export const BARS: readonly Bar[] = [
  { what: PLAIN_DRAIN, of: "10 slots", beside: { name: "1,000 slots" }, atLeast: 0.6 },
  { what: PLAIN_DRAIN, of: "1,000 slots", beside: "before", atLeast: 0.97 },
  { what: PLAIN_DRAIN, beside: "bare", atLeast: 0.8 },
  { what: "enqueue", of: "100 callers", beside: "bare", atLeast: 0.8 },
  { what: "bulk", beside: "bare", atLeast: 0.8 },

  { engine: "postgres", what: PLAIN_DRAIN, of: "100 slots", beside: { name: "Graphile Worker" }, atLeast: 1.2 },
  { engine: "postgres", what: PLAIN_DRAIN, of: "100 slots", beside: { name: "pg-boss" }, atLeast: 2 },
  { engine: "postgres", what: "enqueue", of: "100 callers", beside: { name: "pg-boss" }, atLeast: 20 },
  { engine: "postgres", what: "bulk", beside: "peer", atLeast: 1.5 },
  { engine: "postgres", what: "2 processes drain, handlers of 1 ms", beside: { name: "1 process" }, atLeast: 1.6 },

  { engine: "redis", what: "enqueue", of: "100 callers", beside: { name: "Bee-Queue" }, atLeast: 1.3 },
  { engine: "redis", what: "enqueue", of: "100 callers", beside: { name: "BullMQ" }, atLeast: 4 },
  { engine: "redis", what: "bulk", beside: { name: "Bee-Queue" }, atLeast: 1.3 },
  { engine: "redis", what: "bulk", beside: { name: "BullMQ" }, atLeast: 4 },
  { engine: "redis", what: PLAIN_DRAIN, of: "10 slots", beside: { name: "BullMQ" }, atLeast: 3 },
  { engine: "redis", what: PLAIN_DRAIN, of: "100 slots", beside: { name: "BullMQ" }, atLeast: 4 },
  { engine: "redis", what: PLAIN_DRAIN, of: "10 slots", beside: { name: "Bee-Queue" }, atLeast: 2.5 },
  { engine: "redis", what: PLAIN_DRAIN, of: "100 slots", beside: { name: "Bee-Queue" }, atLeast: 2.5 },
  { engine: "redis", what: "size of a job", of: "waiting", beside: { name: "BullMQ" }, atMost: 0.6 },

  { engine: "sqlite", what: "enqueue", of: "100 callers", beside: { name: "plainjob" }, atLeast: 2.3 },
  { engine: "sqlite", what: PLAIN_DRAIN, of: "100 slots", beside: { name: "plainjob" }, atLeast: 4 },
  { engine: "sqlite", what: "pick-up from idle", of: "p50", atMost: 0.5 },

  { what: "pick-up from idle", of: "p50", beside: "peer", atMost: 1 },
  { what: "enqueue while another process drains", of: "p99", beside: "before", atMost: 1 },
  { what: URGENT, of: "p50", beside: { name: "`ahead: 0`" }, atMostMore: 20 },
  { what: URGENT, of: "p99", beside: { name: "`ahead: 0`" }, atMostMore: 40 },
  { what: "CPU of a worker for a job while events are read", beside: { name: "nobody reads" }, atMost: 1.1 },
  { what: "drain, 100 slots, a queue limit", beside: { name: WITHOUT_LIMITS }, atLeast: 0.9 },
  { what: "drain, 100 slots, 10 keys in turns", beside: { name: WITHOUT_LIMITS }, atLeast: 0.6 },
  { engine: "postgres", what: "drain, 100 slots, 1,000 keys", beside: { name: WITHOUT_LIMITS }, atLeast: 0.4 },
  { what: "drain, 100 slots, 1,000 keys", beside: { name: WITHOUT_LIMITS }, atLeast: 0.6 },
  { what: "drain, 100 slots, 10 keys behind", beside: { name: "10 keys alone" }, atLeast: 0.8 },
  { what: "drain, 100 slots, jobs of", beside: { name: PLAIN_JOBS }, atLeast: 1 / 11 },
  { what: "drain, 100 slots, beside", beside: { name: NOTHING_SUSPENDED }, atLeast: 0.97 },
  { what: "drain, 100 slots, flows of", beside: { name: WITHOUT_FLOWS }, atLeast: 0.7 },
  // After those above: the number of keys depends on --stored.
  { what: "drain, 100 slots, ", beside: { name: WITHOUT_LIMITS }, atLeast: 0.4 },
  { what: "drain, 100 slots, ", beside: { name: "with 10,000" }, atLeast: 0.85 },
  { what: "enqueue, 100 callers, ", beside: { name: "with 10,000" }, atLeast: 0.85 },
  { what: "stats, p95", atMost: 20 },
  { what: "GET ", atMost: 150 },
  { what: "POST /api/v1/jobs over 64 connections", beside: { name: "node:http echo" }, atLeast: 0.5 },
  { what: "millrace stats", atMost: 150 },
  { what: "memory of an idle worker", atMost: 90 },
  { what: "the table or index that grew most", atMost: 1.2 },
];

/** The bar of our own figure, or of one beside it. */
export function barOf(figure: Figure, other: Pick<Figure["ours"], "name" | "kind"> | null): Bar | null {
  return BARS.find((bar) => isOf(figure, bar) && isBeside(other, bar)) ?? null;
}

/** Whether a figure of ours reaches its bar. `other` is what it stands beside, if there is anything. */
export function isReached({ atLeast, atMost, atMostMore }: Bar, ours: number, other?: number): boolean {
  if (atMostMore !== undefined) return ours - (other ?? 0) <= atMostMore;
  const ratio = ours / (other ?? 1);
  return ratio >= (atLeast ?? 0) && ratio <= (atMost ?? Infinity);
}

/** For people. */
export function barText({ atLeast, atMost, atMostMore }: Bar): string {
  if (atMostMore !== undefined) return `at most ${atMostMore} more`;
  return atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
}

function isOf({ engine, what, of }: Figure, bar: Bar): boolean {
  return (bar.engine ?? engine) === engine && what.startsWith(bar.what) && (bar.of ?? of) === of;
}

function isBeside(other: Pick<Figure["ours"], "name" | "kind"> | null, { beside }: Bar): boolean {
  if (other === null || beside === undefined) return other === null && beside === undefined;
  return typeof beside === "string" ? other.kind === beside : other.name.startsWith(beside.name);
}
