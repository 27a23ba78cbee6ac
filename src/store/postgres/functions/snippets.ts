/** Pieces of SQL that the functions share. */
import { BUCKETS, bucketBound } from "../../../core/histogram.ts";
import { FIRST_BUCKET } from "../codec.ts";

/** The server's time in whole milliseconds. A test may rule it: then it is given. */
export const NOW = "coalesce(p_now, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)";

/**
 * How every function on a hot path is planned: once, by its indexes. The tables change from empty to a million rows and back within
 * seconds, so what statistics say about them is never true; a plan that was made while a table was small would scan it when it is large.
 * (Each setting costs a call some 5 µs, so there are only those that are needed.)
 */
export const PLANNED = "language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off";

/** How functions that add up figures are planned: once, but as the server thinks best. */
export const PLANNED_FREELY = "language plpgsql stable set plan_cache_mode = force_generic_plan set jit = off";

/** From here on a wait for what others hold fails the statement after so long. */
export const waitAtMost = (ms: number): string => `perform set_config('lock_timeout', '${ms}', true)`;

/**
 * No call of ours waits long for a row that somebody else holds (a caller's transaction may be open for minutes): it fails, and is made again,
 * if it has many items without those that are held.
 */
const PATIENCE_MS = 100;
export const impatiently: string = waitAtMost(PATIENCE_MS);

/** The level that a priority counts under: 0 low, 1 default, 2 high, 3 critical. */
export const level = (priority: string): string =>
  `(case when ${priority} >= 20 then 3 when ${priority} >= 10 then 2 when ${priority} >= 0 then 1 else 0 end)`;

const BOUNDS = Array.from({ length: BUCKETS - 1 }, (_, bucket) => -bucketBound(bucket)).reverse();

/** The metric of a time in a histogram: the number of bounds below it. `width_bucket` counts bounds at or below, so all is negated. */
export const bucket = (kind: 0 | 1, ms: string): string =>
  `(${FIRST_BUCKET + kind * BUCKETS + BUCKETS - 1} - width_bucket(-(${ms})::float8, '{${BOUNDS.join(",")}}'::float8[]))`;

/** Turns rows (queue, metric, amount) into one row of `delta` a queue. */
export const addDeltas = (schema: string, rows: string): string => `
  insert into ${schema}.delta (at, queue, metrics, amounts)
  select v_now, queue, array_agg(metric), array_agg(amount) from (
    select queue, metric::smallint, sum(amount)::int as amount from (${rows}) cells group by queue, metric having sum(amount) <> 0
  ) sums group by queue`;

/** The same for rows of a place that all move from one state to another, counted by level: for hot paths. */
export const addMoves = (
  schema: string,
  moved: string,
  from: number,
  to: number,
  more: { metrics?: string; amounts?: string; ones?: string } = {},
): string => `
  insert into ${schema}.delta (at, queue, ones, metrics, amounts)
  select v_now, queue, ones, '{${[from, to].flatMap((state) => [0, 1, 2, 3].map((nth) => state * 4 + nth)).join(",")}${more.metrics ?? ""}}',
    array[-low, -normal, -high, -critical, low, normal, high, critical${more.amounts ?? ""}]
  from (
    select queue, ${more.ones ?? "null::smallint[]"} as ones, count(*)::int as total, count(*) filter (where priority < 0)::int as low,
      count(*) filter (where priority between 0 and 9)::int as normal, count(*) filter (where priority between 10 and 19)::int as high,
      count(*) filter (where priority >= 20)::int as critical
    from ${moved} group by queue
  ) counted`;

/**
 * Puts new jobs where they belong and counts them: the rest of a statement that begins with `item`, whose columns are those of a job, its
 * queue, and when it is due.
 */
export const bringIn = (schema: string): string => `
  , body as (
    insert into ${schema}.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags, extra, payload)
    select seq, id, lane, v_now, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags::text[], extra, payload from item
  ), now_ready as (
    insert into ${schema}.ready (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 2, v_now, v_now from item where due_at = v_now
  ), later as (
    insert into ${schema}.due (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 0, due_at, v_now from item where due_at > v_now
  )
  ${addDeltas(
    schema,
    `select i.queue, c.metric, 1 as amount from item i
     cross join lateral (values ((case when i.due_at > v_now then 0 else 8 end) + ${level("i.priority")}), (32)) c(metric)`,
  )}`;

/** The columns of a place, in order. */
export const PLACE_COLUMNS = [
  "seq",
  "run_at",
  "updated_at",
  "settled",
  "queue",
  "lane",
  "attempt",
  "fence",
  "log_count",
  "priority",
  "state",
  "retry_count",
  "snoozes",
  "id",
  "started_at",
  "ended_at",
  "lease_until",
  "turn",
  "run_ms",
  "worker",
  "error",
  "progress",
  "result",
  "lost_count",
] as const;

export type PlaceColumn = (typeof PLACE_COLUMNS)[number];

/** All columns of a place, as they are in `from` but for the changed ones. */
export function changed(from: string, changes: Partial<Record<PlaceColumn, string>>): string {
  return PLACE_COLUMNS.map((name) => changes[name] ?? `${from}.${name}`).join(", ");
}

/** How the last attempt of a job in this state ended, where its row tells it. */
export const attemptOutcome = (state: string): string =>
  `(case ${state} when 3 then 'running' when 4 then 'completed' when 5 then 'cancelled' else 'failed' end)`;
