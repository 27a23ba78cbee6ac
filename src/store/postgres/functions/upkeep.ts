/** Upkeep. Any number of processes may call these at once. */
import { HOUR_MS, MINUTE_MS } from "../../../core/time-units.ts";
import { KEPT_STATES, STATE, STEP } from "../../numbers.ts";
import { ADMITTED } from "../answers.ts";
import { KEYED_MARK } from "../lines.ts";
import {
  addDeltas,
  freshTypes,
  changed,
  isBucket,
  isCounted,
  isKeptForATime,
  isTallied,
  isTallyOf,
  NOW,
  PLANNED,
  SHORT_LOCK_TIMEOUT,
  tallyOf,
  typedMetric,
  unindexFacets,
} from "./snippets.ts";
import { ADMIT_PARAMETERS } from "./insert.ts";

/** Those of `due` whose time has come, the longest due first. */
const DUE = "run_at >= v_floor and run_at <= v_now order by run_at, seq limit p_limit for update skip locked";

const takeDue = (s: string): string => `
    with gone as (
      delete from ${s}.due where ctid = any(array(select ctid from ${s}.due where ${DUE})) returning *
    )`;

/** The longest due of `due` and of `blocked`, whose rows have their time as that of a lease. */
const takeDueAndBlocked = (s: string): string => `
    with chosen as materialized (
      select * from (
        select * from (select 'due' as place, ctid as tid, run_at as at, seq from ${s}.due where ${DUE}) d
        union all
        select * from (select 'blocked', ctid, lease_until, seq from ${s}.blocked where lease_until <= v_now order by lease_until, seq limit p_limit for update skip locked) b
      ) c order by at, seq limit p_limit
    ), of_due as (delete from ${s}.due where ctid = any(array(select tid from chosen where place = 'due')) returning *)
    , of_blocked as (delete from ${s}.blocked where ctid = any(array(select tid from chosen where place = 'blocked')) returning *)
    , gone as (select * from of_due union all select * from of_blocked)`;

/** Makes the jobs of `gone` pending. */
const makePending = (s: string): string => `
    , moved as (insert into ${s}.ready select ${changed("g", { updated_at: "v_now", state: `${STATE.pending}`, lease_until: "null" })} from gone g)
    , counted as (${addDeltas(
      s,
      `select g.queue, null::int as lane, c.metric, c.amount from gone g
       cross join lateral (values (${tallyOf("g.state", "g.priority")}, -1), (${tallyOf(STATE.pending, "g.priority")}, 1)) c(metric, amount)`,
    )})
    select count(*), array_agg(distinct queue), max(run_at) filter (where state <> ${STATE.blocked}), array_agg(id order by seq) filter (where p_tell),
      array_agg(lane order by seq) filter (where p_tell)
    into out_moved, out_queues, out_last, out_ids, out_lanes from gone`;

/**
 * Makes due jobs pending, the longest due first, from p_floor on (see read-starts.ts; null: from the bottom). Out: how many, when the next
 * one is due, the queues that have work now, the time, the latest due time taken of `due`, and whether it was slow for so few jobs; with p_tell
 * also their ids and lanes.
 *
 * Suspended jobs that are blocked until a time are rare: their index is looked at, and only if one is due, both tables are read.
 */
export const promote = (s: string, digest: string): string => `
create or replace function ${s}.promote_${digest}(p_now bigint, p_limit int, p_floor bigint, p_tell boolean, out out_moved int, out out_next bigint,
  out out_queues int[], out out_now bigint, out out_last bigint, out out_slow boolean, out out_ids uuid[], out out_lanes int[])
  ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_floor bigint := coalesce(p_floor, 0);
  v_began timestamptz := clock_timestamp();
begin
  if exists (select from ${s}.blocked where lease_until <= v_now) then
    ${takeDueAndBlocked(s)}${makePending(s)};
  else
    ${takeDue(s)}${makePending(s)};
  end if;
  out_next := least((select run_at from ${s}.due where run_at >= v_floor order by run_at limit 1),
    (select lease_until from ${s}.blocked where lease_until is not null order by lease_until limit 1));
  out_now := v_now;
  out_slow := clock_timestamp() - v_began > interval '2 ms' + interval '50 us' * out_moved;
end $$;`;

/**
 * Prunes one queue: completed and cancelled jobs, the earliest ended first, that ended more than p_age ago or are beyond the newest
 * p_count. Two calls at once would both count the jobs that one of them removes, so they take turns. Living keys stay until they expire.
 */
export const prune = (s: string, digest: string): string => `
create or replace function ${s}.prune_${digest}(p_now bigint, p_queue int, p_age bigint, p_count bigint, p_keep bigint, p_limit int) returns int ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_beyond bigint;
  v_removed int;
begin
  ${SHORT_LOCK_TIMEOUT};
  perform pg_advisory_xact_lock(hashtext('${s}.prune'), p_queue);
  v_now := ${NOW};
  select coalesce(sum(amount), 0) - p_count into v_beyond from (
    select amount from ${s}.tally where queue = p_queue and ${isTallyOf("metric", KEPT_STATES)}
    union all select amount from ${s}.cell where queue = p_queue and ${isTallyOf("metric", KEPT_STATES)}) cells;
  with old as materialized (
    ${KEPT_STATES.map((state) => `(select id, ended_at, seq from ${s}.ended where queue = p_queue and state = ${state} and ended_at <= v_now - p_keep order by ended_at limit p_limit)`).join(" union all ")}
  ), chosen as materialized (
    select id from (select id, ended_at, row_number() over (order by ended_at, seq) as nth from old) o
    where nth <= p_limit and (nth <= v_beyond or ended_at < v_now - p_age)
  ), s as (
    delete from ${s}.ended where id = any(array(
      select e.id from chosen c join ${s}.ended e on e.id = c.id where ${isKeptForATime("e.state")} for update of e skip locked))
    returning *
  ), j as (delete from ${s}.job using s where job.id = s.id returning job.*)
  , attempts as (delete from ${s}.attempt a using s where a.job = s.id)
  , logs as (delete from ${s}.log l using s where l.job = s.id)
  , manual_changes as (delete from ${s}.manual_change c using s where c.job = s.id)
  , facets as (${unindexFacets(s)})
  , keys as (
    update ${s}.key k set expires_at = s.ended_at + j.key_ttl, state = s.state from j join s on s.id = j.id
    where k.queue = s.queue and k.key = j.key and k.job = j.id
  ), counted as (${addDeltas(s, `select s.queue, null::int as lane, ${tallyOf("s.state", "s.priority")} as metric, -1 as amount from s`)})
  select count(*) into v_removed from s;
  return v_removed;
end $$;`;

/** Gives a number to each type that has none. */
const numberTypes = (s: string): string => `
  with ${freshTypes(s)}
  update ${s}.lane l set counted_as = n.number from fresh_type n where l.queue = n.queue and rtrim(l.type, '${KEYED_MARK}') = n.type and l.counted_as is null`;

/**
 * Folds deltas into tallies and counters. One at a time: a second caller has nothing to do. Out: how many were folded.
 * The deltas are chosen before types get their numbers: a lane is committed before its first delta, so each of them has a number then.
 */
export const fold = (s: string, digest: string): string => `
create or replace function ${s}.fold_${digest}(p_limit int) returns int language plpgsql as $$
#variable_conflict use_column
declare
  v_folded int;
  v_deltas tid[];
begin
  if not pg_try_advisory_xact_lock(hashtext('${s}.fold')) then return 0; end if;
  v_deltas := array(select ctid from ${s}.delta limit p_limit);
  if exists (select from ${s}.lane where counted_as is null) then
    ${numberTypes(s)};
  end if;
  with gone as (delete from ${s}.delta where ctid = any(v_deltas) returning *)
  , cell as materialized (
    select queue, lane, minute, metric, sum(amount) as amount from (
      select d.queue, d.lane, d.at - d.at % ${MINUTE_MS} as minute, u.metric, u.amount from gone d cross join lateral unnest(d.metrics, d.amounts) u(metric, amount)
      union all select d.queue, d.lane, d.at - d.at % ${MINUTE_MS}, u.metric, 1 from gone d cross join lateral unnest(d.ones) u(metric)
    ) cells group by queue, lane, minute, metric having sum(amount) <> 0
  ), typed as (
    select c.queue, c.minute, c.metric as own, case when l.counted_as > 0 then ${typedMetric("c.metric", "l.counted_as")} else c.metric end as metric, c.amount
    from cell c left join ${s}.lane l on l.id = c.lane where ${isCounted("c.metric")}
  ), tallied as (
    insert into ${s}.tally (queue, metric, amount) select queue, metric, sum(amount) from cell where ${isTallied("metric")} group by queue, metric
    on conflict (queue, metric) do update set amount = tally.amount + excluded.amount
  ), counted as (
    insert into ${s}.count (step, at, queue, metric, amount)
    select p.step, p.at, c.queue, c.metric, sum(c.amount) from typed c
    cross join lateral (values (${STEP.all}, 0), (${STEP.hour}, c.minute - c.minute % ${HOUR_MS}), (${STEP.minute}, c.minute)) p(step, at)
    where p.step = ${STEP.minute} or not ${isBucket("c.own")} group by p.step, p.at, c.queue, c.metric
    on conflict (step, at, queue, metric) do update set amount = count.amount + excluded.amount
  )
  select count(*) into v_folded from gone;
  return v_folded;
end $$;`;

/**
 * Takes one tick: if the schedule has the given version and its last tick is earlier, inserts the job (if any) and moves the schedule on.
 * Out: 0 ticked, 1 stale, 2 full; and the state of the job, as `admit` answers it.
 */
export const tick = (s: string, digest: string): string => `
create or replace function ${s}.tick_${digest}(p_now bigint, p_name text, p_version bigint, p_tick bigint, p_next bigint, ${ADMIT_PARAMETERS},
  out out_answer int, out out_state smallint) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_job record;
begin
  ${SHORT_LOCK_TIMEOUT};
  out_answer := 0;
  if exists (select from ${s}.job where id = p_ids[1]) then return; end if;
  update ${s}.schedule set version = nextval('${s}.schedule_version'), updated_at = v_now, last_tick = coalesce(p_tick, last_tick),
    next_tick = case when p_tick is null then next_tick else p_next end
  where name = p_name and version = p_version and (p_tick is null or last_tick is null or last_tick < p_tick);
  if not found then
    out_answer := 1;
    return;
  end if;
  if p_ids is null then return; end if;
  select * into v_job from ${s}.admit_${digest}(p_now, true, false, p_ids, p_queues, p_lanes, p_priorities, p_delays, p_run_ats, p_max_retries,
    p_max_losts, p_retry_delays, p_timeouts, p_tags, p_extras, p_payloads, p_keys, p_key_ttls, p_fingerprints, p_blocked, p_facets);
  if v_job.out_kind in (${ADMITTED.full}, ${ADMITTED.fullKey}) then
    out_answer := 2;
  elsif v_job.out_kind = ${ADMITTED.created} then
    out_state := v_job.out_state;
    update ${s}.schedule set last_job = p_ids[1] where name = p_name;
  end if;
end $$;`;
