/** Pieces of SQL that the functions share. */
import { type Counter, MAX_TYPES_COUNTED, type TimeKind } from "../../../core/counters.ts";
import { BUCKETS, bucketBound } from "../../../core/histogram.ts";
import { attemptOutcome as attemptOutcomeOf, STATUSES } from "../../../core/job.ts";
import {
  BUCKETS_PER_TYPE,
  counterMetric,
  COUNTERS_PER_TYPE,
  ENDED_STATES,
  FIRST_BUCKET,
  FIRST_COUNTER,
  FIRST_LATER_STATE,
  FIRST_LATER_TALLY,
  firstBucketOf,
  KEPT_STATES,
  LAST_LATER_TALLY,
  LEVELS,
  STATE,
  tallyMetric,
  THRESHOLDS,
} from "../../numbers.ts";
import { RESUMED } from "../lines.ts";
import { PLACES } from "../tables.ts";

/** The server's own time, even if a test sets the time of jobs. */
export const SERVER_TIME = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** The server's time in whole milliseconds, or the time that a test gives. */
export const nowOf = (given: string): string => `coalesce(${given}, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`;
export const NOW: string = nowOf("p_now");

/**
 * How functions on a hot path are planned: once, by their indexes. The tables go from empty to a million rows and back within seconds, so
 * their statistics are never true; a plan for a small table would scan it when it is large.
 * (Each setting costs a call about 5 µs, so there are only the needed ones.)
 */
export const PLANNED = "language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off";

/** How functions that add up figures are planned: once, as the server thinks best. */
export const PLANNED_FREELY = "language plpgsql stable set plan_cache_mode = force_generic_plan set jit = off";

/** From here on a wait for a lock fails the statement after `ms`. */
export const waitAtMost = (ms: number): string => `perform set_config('lock_timeout', '${ms}', true)`;

/**
 * No call waits long for a row that others hold (a caller's transaction may be open for minutes): it fails and is tried again. A call with
 * several items then leaves out those that are held.
 */
const PATIENCE_MS = 100;
export const SHORT_LOCK_TIMEOUT: string = waitAtMost(PATIENCE_MS);

/** The level number of a priority. */
const levelOf = (priority: string): string =>
  `(case ${THRESHOLDS.map(({ level, from }) => `when ${priority} >= ${from} then ${level}`).join(" ")} else 0 end)`;

/** The tally metric of a state and a priority. A text as state is a column. */
export function tallyOf(state: number | string, priority: string): string {
  if (typeof state === "number") return `${tallyMetric(state, 0)} + ${levelOf(priority)}`;
  const later = FIRST_LATER_TALLY - FIRST_LATER_STATE * LEVELS.length;
  return `${state} * ${LEVELS.length} + ${state} / ${FIRST_LATER_STATE} * ${later} + ${levelOf(priority)}`;
}

const isLaterTally = (metric: string): string => `(${metric} between ${FIRST_LATER_TALLY} and ${LAST_LATER_TALLY})`;
/** Whether a metric is kept with the tallies. */
export const isTallied = (metric: string): string => `(${metric} <= ${FIRST_COUNTER} or ${isLaterTally(metric)})`;
/** Whether a metric is kept by periods: counters and buckets. */
export const isCounted = (metric: string): string => `(${metric} >= ${FIRST_COUNTER} and not ${isLaterTally(metric)})`;
export const isBucket = (metric: string): string => `(${metric} >= ${FIRST_BUCKET})`;
/** The metric of a type that has this number, and back: the number of the type (0: none), and what the metric would be for the queue. */
export const typedMetric = (metric: string, type: string): string =>
  `(case when ${isBucket(metric)} then ${type} * ${BUCKETS_PER_TYPE} + ${metric} else -(${type} * ${COUNTERS_PER_TYPE} + ${metric} - ${FIRST_COUNTER}) end)::smallint`;
export const typeIn = (metric: string): string =>
  `(case when ${metric} < 0 then -${metric} / ${COUNTERS_PER_TYPE} else ${metric} / ${BUCKETS_PER_TYPE} end)`;
export const untyped = (metric: string): string =>
  `(case when ${metric} < 0 then ${FIRST_COUNTER} - ${metric} % ${COUNTERS_PER_TYPE} else ${metric} % ${BUCKETS_PER_TYPE} end)::smallint`;
/** Whether a metric is the tally of one of these states. */
export const isTallyOf = (metric: string, states: readonly number[]): string =>
  `(${metric} in (${states.flatMap((state) => LEVELS.map((_, level) => tallyMetric(state, level))).join()}))`;

/**
 * The statement `fresh_type`: each type that has no number yet, with the one that it will get. The first types of a queue are counted on
 * their own, from 1 on; all others get 0.
 */
export const freshTypes = (s: string): string => `
  fresh as (select queue, type, min(abs(id)) as first from ${s}.typed_lane where counted_as is null group by queue, type)
  , known as (select distinct queue, type, counted_as from ${s}.typed_lane where counted_as is not null and queue in (select queue from fresh))
  , highest as (select queue, max(counted_as) as number from known group by queue)
  , in_turn as (
    select f.queue, f.type, k.counted_as, coalesce(h.number, 0) + row_number() over (partition by f.queue, k.type is null order by f.first) as number
    from fresh f left join known k on k.queue = f.queue and k.type = f.type left join highest h on h.queue = f.queue
  )
  , fresh_type as (select queue, type, coalesce(counted_as, case when number <= ${MAX_TYPES_COUNTED} then number else 0 end) as number from in_turn)`;

/** Whether a state is terminal. */
export const hasEnded = (state: string): string => `(${state} in (${ENDED_STATES.join()}))`;
/** Whether a job in this state, and so its key, is kept only for a time. */
export const isKeptForATime = (state: string): string => `${state} in (${KEPT_STATES.join()})`;

const BOUNDS = Array.from({ length: BUCKETS - 1 }, (_, bucket) => -bucketBound(bucket)).reverse();

/** The histogram metric of a time: the number of bounds below it. `width_bucket` counts bounds at or below, so everything is negated. */
export const bucket = (time: TimeKind, ms: string): string =>
  `(${firstBucketOf(time) + BUCKETS - 1} - width_bucket(-(${ms})::float8, '{${BOUNDS.join(",")}}'::float8[]))`;

/**
 * Arrays as the columns of a table; shorter ones are filled up with nulls. `unnest` in a select list hands on one element after the other; in
 * `from`, the server first copies each array into a table of its own, for 3 % of an insert.
 */
export const columnsOf = (arrays: Readonly<Record<string, string>>): string =>
  `(select ${Object.entries(arrays)
    .map(([name, array]) => `unnest(${array}) as ${name}`)
    .join(", ")})`;

/** Adds rows (queue, lane, metric, amount) as one row of `delta` per lane. The lane may be null if all metrics are tallies. */
export const addDeltas = (schema: string, rows: string): string => `
  insert into ${schema}.delta (at, queue, lane, metrics, amounts)
  select v_now, queue, lane, array_agg(metric), array_agg(amount) from (
    select queue, lane, metric::smallint, sum(amount)::int as amount from (${rows}) cells group by queue, lane, metric having sum(amount) <> 0
  ) sums group by queue, lane`;

/**
 * The same for rows that all move from one state to another, by priority: for hot paths. With `more`, it also counts each row, and adds one
 * for each metric of `ones`: then by lane, which has one queue and one priority. (Each column to group by costs 0.5 % of an exchange.)
 */
export const addMoves = (
  schema: string,
  { moved, queue, from, to }: { readonly moved: string; readonly queue: string; readonly from: number; readonly to: number },
  more: { readonly counter: Counter; readonly ones: string } | null = null,
): string => {
  const priority = more === null ? "priority" : "min(priority)";
  const tallies = [tallyOf(from, priority), tallyOf(to, priority)];
  return `
  insert into ${schema}.delta (at, queue, lane, ones, metrics, amounts)
  select v_now, ${queue}, ${more === null ? "null, null" : `lane, ${more.ones}`},
    array[${[...tallies, ...(more === null ? [] : [counterMetric(more.counter)])].join(", ")}]::smallint[],
    array[-count(*), count(*)${more === null ? "" : ", count(*)"}]::int[]
  from ${moved} group by ${more === null ? "priority" : "lane"}`;
};

/**
 * Inserts new jobs and counts them: the rest of a statement that begins with `item`, whose columns are those of a job, its queue, when it
 * is due (`due_at`), and its state (`new_state`). `turn`: that of pending jobs, see lines.ts.
 */
export const insertItems = (schema: string, turn = "null"): string => `
  , body as (
    insert into ${schema}.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags, extra, payload, facets)
    select seq, id, lane, v_now, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags::text[], extra, payload, facets from item
  ), ${(["ready", "due", "blocked"] as const)
    .map(
      (place) => `to_${place} as (
    insert into ${schema}.${place} (id, seq, queue, lane, priority, state, run_at, updated_at${place === "ready" ? ", turn" : ""})
    select id, seq, queue, lane, priority, new_state, due_at, v_now${place === "ready" ? `, ${turn}` : ""} from item where new_state in (${PLACES[place].join()}))`,
    )
    .join(", ")}
  ${addDeltas(
    schema,
    `select i.queue, i.lane, c.metric, 1 as amount from item i
     cross join lateral (values (${tallyOf("i.new_state", "i.priority")}), (${counterMetric("enqueued")})) c(metric)`,
  )}`;

/** Puts those of these jobs that are stored into the index of their facets. Fails if one is there; to allow for that costs twice the time. */
export const indexFacets = (schema: string, ids: string): string => `
  insert into ${schema}.facet (queue, field, value, created_at, seq)
  select l.queue, f.key, f.value, j.created_at, j.seq from ${schema}.job j join ${schema}.lane l on l.id = j.lane
    cross join lateral json_each_text(j.facets::json) f where j.id = any(${ids})`;

/** Takes the jobs `j`, which may be deleted by now, out of the index of their facets. Entries are looked up one by one: the table may be large. */
export const unindexFacets = (schema: string): string => `
  delete from ${schema}.facet where ctid = any(array(
    select e.ctid from j join ${schema}.lane l on l.id = j.lane cross join lateral json_each_text(j.facets::json) f
    cross join lateral (select x.ctid from ${schema}.facet x where x.queue = l.queue and x.field = f.key and x.value = f.value
      and x.created_at = j.created_at and x.seq = j.seq offset 0) e
    where j.facets is not null))`;

/** Whether the id of an item `i` is not known. Not by `not exists`: the server may read all ids for that, see `byKey`. */
export const isNewJob = (schema: string): string => `(select j.id from ${schema}.job j where j.id = i.id) is null`;

/** The state of a new item `i` that is due at that time. */
export const newState = (dueAt: string): string =>
  `(case when i.blocked then ${STATE.blocked} when ${dueAt} > v_now then ${STATE.scheduled} else ${STATE.pending} end)::smallint`;

/** Puts each row `p` of `after` into the table of its new state; no transition leads to `running`. */
export const insertByState = (schema: string, to: string): string =>
  (["ready", "due", "ended", "blocked"] as const)
    .map((place) => `to_${place} as (insert into ${schema}.${place} select (p).* from after where ${to} in (${PLACES[place].join()}))`)
    .join("\n  , ");

/** The columns of each table of PLACES, in order. */
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

/** All these columns, from `from` or changed. */
export function changed(from: string, changes: Partial<Record<PlaceColumn, string>>): string {
  return PLACE_COLUMNS.map((name) => changes[name] ?? `${from}.${name}`).join(", ");
}

/** Those of these columns that the changes do not replace. */
export function keptColumns(from: string, changes: Partial<Record<PlaceColumn, string>>): string {
  return PLACE_COLUMNS.filter((name) => !(name in changes))
    .map((name) => `${from}.${name}`)
    .join(", ");
}

/**
 * Whether a column has the value of an item, in a join that must look up each item by the index of the column, whatever the server believes
 * of the table. With a plain `=` it may also join the other way: read the whole table in the order of that index and, for each row, all
 * items. It does so while it believes that the table is empty, as after a vacuum when no job ran: a report of 500 jobs beside 1,000 running
 * ones then compared half a million pairs. Costs 2 % of an exchange. (A lateral subquery with `offset 0` costs nothing, where one can stand.)
 */
export const byKey = (column: string, item: string): string => `${column} = any(array[${item}])`;

/** The columns of a transition in JSON, as encodeTransition in codec.ts writes it. */
export const TRANSITION = `to_state smallint, bump int, give_back int, reset boolean, retry int, reset_losses boolean, loss int, snooze int, delay bigint,
  keep_result boolean, new_result text, keep_error boolean, new_error text, error_if_running boolean, ends boolean, new_run_ms float8, counter smallint, timed boolean`;

/**
 * All these columns after a transition. A cancel that ends a lease keeps the time of the lease, and a job that is blocked for a time has it there.
 * That the next claim takes no units of a rate stays until then.
 */
export const applied = (job: string, transition: string, changes: Partial<Record<PlaceColumn, string>> = {}): string =>
  changed(job, {
    run_at: `coalesce(v_now + ${transition}.delay, ${job}.run_at)`,
    updated_at: "v_now",
    attempt: `${job}.attempt - ${transition}.give_back`,
    fence: `${job}.fence + ${transition}.bump`,
    state: `${transition}.to_state`,
    retry_count: `(case when ${transition}.reset then 0 else ${job}.retry_count + ${transition}.retry end)::smallint`,
    snoozes: `(case when ${transition}.reset then 0 else ${job}.snoozes + ${transition}.snooze end)::smallint`,
    ended_at: `case when ${hasEnded(`${transition}.to_state`)} then v_now end`,
    lease_until: `case when ${transition}.to_state = ${STATE.cancelled} and ${job}.state = ${STATE.running} then ${job}.lease_until
      when ${transition}.to_state = ${STATE.blocked} then v_now + ${transition}.delay end`,
    turn: `case when ${job}.turn = ${RESUMED} then ${RESUMED} end`,
    run_ms: `case when ${transition}.ends and ${job}.state = ${STATE.running} then coalesce(${transition}.new_run_ms, v_now - ${job}.started_at) else ${job}.run_ms end`,
    error: `case when ${transition}.keep_error or (${transition}.error_if_running and ${job}.state <> ${STATE.running}) then ${job}.error else ${transition}.new_error end`,
    result: `case when ${transition}.keep_result then ${job}.result else ${transition}.new_result end`,
    lost_count: `(case when ${transition}.reset_losses then 0 else ${job}.lost_count + ${transition}.loss end)::smallint`,
    ...changes,
  });

/** How the last attempt of a job in this state ended. */
export const attemptOutcome = (state: string): string =>
  `(case ${state} ${STATUSES.map((status) => `when ${STATE[status]} then '${attemptOutcomeOf(status)}'`).join(" ")} end)`;
