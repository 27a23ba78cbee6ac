/**
 * THE NUMBERS that engines store for names. Each is written here once: code uses its name, SQL and Lua get it by interpolation. A stored
 * number never changes its meaning; something new gets the next free one. test/unit/store/numbers.test.ts holds these rules.
 */
import { type Counter, TIMES, type TimeKind } from "../core/counters.ts";
import { BUCKETS } from "../core/histogram.ts";
import { type Attempt, KEPT_FOR_A_TIME, levelOf, PRIORITY_LEVELS, type PriorityLevel, type Status, TERMINAL } from "../core/job.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { Notice, StepKind, StepState } from "../core/steps.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { CounterQuery, CounterRow } from "./store.ts";

// ── States ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Statements compare these numbers: a job below `running` waits, and one up to `retrying` waits for its time. */
export const STATE = {
  scheduled: 0,
  retrying: 1,
  pending: 2,
  running: 3,
  completed: 4,
  cancelled: 5,
  failed: 6,
  dead: 7,
  blocked: 8,
} as const satisfies Record<Status, number>;

/** The numbers of these statuses, the lowest first. */
const statesOf = (statuses: readonly Status[]): number[] => statuses.map((status) => STATE[status]).sort((a, b) => a - b);

export const ENDED_STATES: readonly number[] = statesOf(TERMINAL);
/** Ended jobs that are kept for a time only, and so are their keys. */
export const KEPT_STATES: readonly number[] = statesOf(KEPT_FOR_A_TIME);
/** Ended jobs that stay until someone acts. */
export const STAYING_STATES: readonly number[] = ENDED_STATES.filter((state) => !KEPT_STATES.includes(state));

const STATUSES_BY_NUMBER = byNumber<Status>(STATE);

export const statusOf = (state: number): Status => STATUSES_BY_NUMBER[state]!;

/** How an attempt in the history went. */
export const ATTEMPT_OUTCOME = { running: 0, completed: 1, cancelled: 2, failed: 3 } as const satisfies Record<Attempt["outcome"], number>;

// ── Levels of priority ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A level's number is its index. */
export const LEVELS = Object.keys(PRIORITY_LEVELS) as PriorityLevel[];
export const levelNumber = (priority: number): number => LEVELS.indexOf(levelOf(priority));

/** The lowest priority of each level, the highest level first. Anything lower is level 0. */
export const THRESHOLDS: readonly { readonly level: number; readonly from: number }[] = LEVELS.slice(1)
  .map((name, index) => ({ level: index + 1, from: PRIORITY_LEVELS[name] }))
  .reverse();

// ── Settlements ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const OUTCOME = {
  completed: 0,
  failed: 1,
  discard: 2,
  snooze: 3,
  release: 4,
  lost: 5,
  hold: 6,
  suspend: 7,
} as const satisfies Record<Outcome["kind"], number>;

/** The largest fence that every engine can store. A lease with a larger one is stale: no job has it. */
export const LARGEST_FENCE: number = 2 ** 31 - 1;

/** A job remembers its last settlement as fence × 8 + 1 + the outcome's number; 0 is none. So eight outcomes fit, and no two marks are equal. */
export const MARKS_PER_FENCE = 8;
export const settledMark = (fence: number, outcome: Outcome["kind"]): number => fence * MARKS_PER_FENCE + 1 + OUTCOME[outcome];

// ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const STEP_KIND = { step: 0, sleep: 1, wait: 2, call: 3 } as const satisfies Record<StepKind, number>;
export const STEP_STATE = { open: 0, done: 1, failed: 2, timeout: 3 } as const satisfies Record<StepState, number>;

const KINDS_BY_NUMBER = byNumber<StepKind>(STEP_KIND);
const STEP_STATES_BY_NUMBER = byNumber<StepState>(STEP_STATE);

export const stepKindOf = (kind: number): StepKind => KINDS_BY_NUMBER[kind]!;
export const stepStateOf = (state: number): StepState => STEP_STATES_BY_NUMBER[state]!;

export const NOTICE = { end: 0, insert: 1, cancel: 2, flow: 3 } as const satisfies Record<Notice["kind"], number>;

// ── What is counted ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const tallyCell = (state: number, level: number): number => state * LEVELS.length + level;

/** The tallies of all jobs in these statuses. */
export function tallyCells(...statuses: readonly Status[]): number[] {
  return statuses.flatMap((status) => LEVELS.map((_, level) => tallyCell(STATE[status], level)));
}

export function readTallyCell(cell: number): { status: Status; level: PriorityLevel } {
  return { status: statusOf(Math.floor(cell / LEVELS.length)), level: LEVELS[cell % LEVELS.length]! };
}

export const COUNTER = { enqueued: 0, completed: 1, failed: 2, dead: 3, retried: 4, cancelled: 5, lost: 6 } as const satisfies Record<
  Counter,
  number
>;

const COUNTERS_BY_NUMBER = byNumber<Counter>(COUNTER);

const counterOfNumber = (number: number): Counter => COUNTERS_BY_NUMBER[number]!;

/** In SQLite and PostgreSQL, the buckets of each time follow the counters as one block. */
export const FIRST_BUCKET = 100;
export const firstBucketOf = (time: TimeKind): number => FIRST_BUCKET + TIMES.indexOf(time) * BUCKETS;

/**
 * PostgreSQL keeps everything it counts in one column, so each figure has its own number there:
 *
 *    0 .. 31   tallies of the states 0 to 7
 *   32 .. 63   counters; the first, `enqueued`, is also kept with the tallies: it tells whether a queue ever had a job
 *   64 .. 95   tallies of the states 8 to 15
 *   from 100   buckets
 */
export const FIRST_COUNTER = 32;
/** From this state on, tallies follow the counters. */
export const FIRST_LATER_STATE = 8;
export const FIRST_LATER_TALLY = 64;
export const LAST_LATER_TALLY = 95;
export const tallyMetric = (state: number, level: number): number =>
  state < FIRST_LATER_STATE ? tallyCell(state, level) : FIRST_LATER_TALLY + tallyCell(state - FIRST_LATER_STATE, level);
export const counterMetric = (counter: Counter): number => FIRST_COUNTER + COUNTER[counter];

export function readTallyMetric(metric: number): { status: Status; level: PriorityLevel } {
  return readTallyCell(metric < FIRST_COUNTER ? metric : metric - FIRST_LATER_TALLY + tallyCell(FIRST_LATER_STATE, 0));
}

export const STEP = { all: 0, hour: 1, minute: 2, "hour-times": 3 } as const satisfies Record<CounterQuery["step"], number>;

/** In SQLite and PostgreSQL, the only count of this step is the minute up to which histograms were moved. Its period, queue and metric are 0. */
export const MOVED_STEP = 4;

/** How long a period is; all time is one period. */
export const PERIOD_MS = { all: 1, hour: HOUR_MS, minute: MINUTE_MS, "hour-times": HOUR_MS } as const satisfies Record<
  CounterQuery["step"],
  number
>;

type Figure = { readonly counter: Counter } | { readonly time: TimeKind; readonly bucket: number };

/** What a metric number of a SQL engine means; its counters begin at `firstCounter`. */
export function readMetric(metric: number, firstCounter: number): Figure {
  if (metric < FIRST_BUCKET) return { counter: counterOfNumber(metric - firstCounter) };
  return { time: TIMES[Math.floor((metric - FIRST_BUCKET) / BUCKETS)]!, bucket: (metric - FIRST_BUCKET) % BUCKETS };
}

/** In Redis, each time has a thousand numbers after the counters. */
const FIELDS_PER_TIME = 1000;
export const firstFieldOf = (time: TimeKind): number => (TIMES.indexOf(time) + 1) * FIELDS_PER_TIME;

export function readField(field: number): Figure {
  const time = TIMES[Math.floor(field / FIELDS_PER_TIME) - 1];
  return time === undefined ? { counter: counterOfNumber(field) } : { time, bucket: field % FIELDS_PER_TIME };
}

/**
 * A type that is counted on its own has a number, from 1 on. Its cells are among those of its queue, under numbers that tell the type:
 *
 *   counters   -(type × COUNTERS_PER_TYPE + counter)
 *   buckets    type × BUCKETS_PER_TYPE + the number of the bucket; in Redis, FIELDS_PER_TYPE
 *
 * So a batch of one type writes as many cells as if they were the queue's, and one read finds the cells of all types. To a sweep, also to
 * that of a version that does not know of types, a counter is below FIRST_BUCKET and a bucket is not.
 */
export const COUNTERS_PER_TYPE = 16;
/** PostgreSQL's column holds numbers up to 32,767, so MAX_TYPES_COUNTED blocks fit. */
export const BUCKETS_PER_TYPE = 320;
export const FIELDS_PER_TYPE = 10_000;

export const typedCounter = (type: number, counter: number): number => -(type * COUNTERS_PER_TYPE + counter);

/** The number of the type in a stored number, 0 if it has none, and what the metric would be if it were the queue's. */
export function readTyped(stored: number, perType: number): { readonly type: number; readonly metric: number } {
  if (stored >= 0) return { type: Math.floor(stored / perType), metric: stored % perType };
  return { type: Math.floor(-stored / COUNTERS_PER_TYPE), metric: -stored % COUNTERS_PER_TYPE };
}

/** The stored numbers of one type: of its counters, and of its buckets. */
export function numbersOfType(
  type: number,
  perType: number,
): { readonly counters: readonly [number, number]; readonly buckets: readonly [number, number] } {
  return {
    counters: [-(type * COUNTERS_PER_TYPE + COUNTERS_PER_TYPE - 1), -type * COUNTERS_PER_TYPE],
    buckets: [type * perType, (type + 1) * perType - 1],
  };
}

export type CounterCell = readonly [queue: string, type: string | null, at: number, metric: number, amount: number];

/** Makes one row of each queue, type and period. Cells of one period mostly come together. */
export function counterRows(cells: readonly CounterCell[], read: (metric: number) => Figure): CounterRow[] {
  const rows = new Map<string, GrowingRow>();
  let row: GrowingRow = { queue: "", type: null, at: 0, counts: {}, times: {} };
  for (const [queue, type, at, metric, amount] of cells) {
    if (row.queue !== queue || row.type !== type || row.at !== at) {
      const key = `${queue} ${at} ${type ?? ""}`;
      row = rows.get(key) ?? { queue, type, at, counts: {}, times: {} };
      rows.set(key, row);
    }
    const figure = read(metric);
    if ("counter" in figure) row.counts[figure.counter] = (row.counts[figure.counter] ?? 0) + amount;
    else addTo((row.times[figure.time] ??= new Map()), figure.bucket, amount);
  }
  return [...rows.values()];
}

function addTo(histogram: Map<number, number>, bucket: number, amount: number): void {
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + amount);
}

/** Whether the rows of a type were asked for. */
export function isWantedType(type: string | null, { byType }: CounterQuery): boolean {
  return typeof byType !== "object" || byType.type === type;
}

interface GrowingRow extends CounterRow {
  readonly counts: Partial<Record<Counter, number>>;
  readonly times: Partial<Record<TimeKind, Map<number, number>>>;
}

function byNumber<Name extends string>(numbers: Readonly<Record<Name, number>>): Name[] {
  const names: Name[] = [];
  for (const [name, number] of Object.entries<number>(numbers)) names[number] = name as Name;
  return names;
}
