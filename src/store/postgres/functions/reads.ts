/** Reading jobs and figures. These are functions because planning them each time costs more than running them. */
import { QUEUE_SETTINGS } from "../../../core/queue.ts";
import { BUCKETS_PER_TYPE, COUNTERS_PER_TYPE, FIRST_BUCKET, FIRST_COUNTER, STATE, STEP } from "../../numbers.ts";
import { JOB_COLUMNS, JOB_RETURNS, SUMMARY_COLUMNS, SUMMARY_RETURNS } from "../codec.ts";
import {
  attemptOutcome,
  freshTypes,
  byKey,
  isBucket,
  isCounted,
  isTallied,
  NOW,
  PLANNED,
  PLANNED_FREELY,
  typeIn,
  untyped,
} from "./snippets.ts";

/** In: ids. Out: the jobs that exist, unordered. */
export const find = (s: string, digest: string): string => `
create or replace function ${s}.find_${digest}(p_ids uuid[]) returns table (${JOB_RETURNS}) stable ${PLANNED} as $$
#variable_conflict use_column
begin
  return query select ${JOB_COLUMNS} from unnest(p_ids) i(id)
    join ${s}.job j on ${byKey("j.id", "i.id")} cross join lateral (select * from ${s}.state where id = i.id offset 0) s;
end $$;`;

/** In: id. Out: the history, and the attempt in the job's own row if the history does not have it; in order. */
export const attempts = (s: string, digest: string): string => `
create or replace function ${s}.attempts_${digest}(p_id uuid) returns table (out_number int, out_worker text, out_started_at bigint, out_ended_at bigint,
  out_run_ms float8, out_outcome text, out_error text) stable ${PLANNED} as $$
#variable_conflict use_column
begin
  return query
    select number, worker, started_at, ended_at, run_ms, outcome, error from ${s}.attempt where job = p_id
    union all
    select st.attempt, st.worker, st.started_at, st.ended_at, case when st.state <> ${STATE.running} then st.run_ms end, ${attemptOutcome("st.state")},
      case when st.state <> ${STATE.running} then st.error end
    from ${s}.state st where st.id = p_id and st.attempt > 0
      and not exists (select from ${s}.attempt a where a.job = p_id and a.number = st.attempt)
    order by 1;
end $$;`;

/**
 * In: limit. Out: running jobs whose lease has run out, the longest first, each with whether its queue keeps dead letters; then, unless the
 * limit was reached, a row of nulls with the time until the next lease runs out (null: none).
 * Cost: all of `running` with its dead rows, of which an open transaction may keep millions; see `expiredJobs`.
 */
export const expired = (s: string, digest: string): string => `
create or replace function ${s}.expired_${digest}(p_now bigint, p_limit int) returns table (out_next bigint, out_dead_letters boolean, ${SUMMARY_RETURNS})
  stable ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_found int;
begin
  return query
    select null::bigint, q.dead_letters, ${SUMMARY_COLUMNS}
    from (select * from ${s}.running where lease_until <= v_now order by lease_until, seq limit p_limit) s
    join ${s}.job j on j.id = s.id join ${s}.queue q on q.id = s.queue order by s.lease_until, s.seq;
  get diagnostics v_found = row_count;
  if v_found = p_limit then return; end if;
  select min(lease_until) - v_now into out_next from ${s}.running where lease_until > v_now;
  return next;
end $$;`;

/** Out: every queue that had a job or a setting, with its settings and its tallies (pairs of metric and amount) as JSON. */
export const queues = (s: string, digest: string): string => `
create or replace function ${s}.queues_${digest}() returns table (out_name text, out_paused boolean, out_settings json, out_tallies json) ${PLANNED_FREELY} as $$
#variable_conflict use_column
begin
  return query
    with cell as (
      select queue, metric, amount from ${s}.tally
      union all select queue, metric, amount from ${s}.cell where ${isTallied("metric")}
    ), sums as (select queue, metric, sum(amount)::bigint as amount from cell group by queue, metric)
    select q.name, q.paused, json_build_array(${QUEUE_SETTINGS.map(({ column }) => `q.${column}`).join(", ")}),
      json_agg(json_build_array(t.metric, t.amount) order by t.metric) filter (where t.metric <> ${FIRST_COUNTER} and t.amount <> 0)
    from ${s}.queue q left join sums t on t.queue = q.id
    group by q.id having q.configured or bool_or(t.metric = ${FIRST_COUNTER}) order by q.name;
end $$;`;

/**
 * In: step, length of its periods, queue (null: all), whether by type, only this type (null: all), from, to, whether without histograms.
 * Out: queue, type (null: not by type), start of period, metric of the queue, amount; and a row without a queue whose start is the time.
 * A type that got no number yet has only deltas: they are told by its name, unless it will be one of those that are not counted on their own.
 */
export const counters = (s: string, digest: string): string => `
create or replace function ${s}.counters_${digest}(p_now bigint, p_step int, p_length bigint, p_queue text, p_by_type boolean, p_type text, p_from bigint, p_to bigint, p_counts_only boolean)
  returns table (out_queue text, out_type text, out_at bigint, out_metric smallint, out_amount bigint) ${PLANNED_FREELY} as $$
#variable_conflict use_column
declare
  -- The number of the only wanted type; -1: it has none; null: all types. Then the numbers of its counters; its buckets follow apart.
  v_number int := case when p_type is not null and p_queue is not null then coalesce((select nullif(max(l.counted_as), 0)
    from ${s}.typed_lane l where l.queue = (select id from ${s}.queue where name = p_queue) and l.type = p_type), -1) end;
  v_low int := coalesce(-(v_number * ${COUNTERS_PER_TYPE} + ${COUNTERS_PER_TYPE - 1}), -32768);
  v_last int := case when p_counts_only then ${FIRST_BUCKET - 1} else 32767 end;
  v_high int := coalesce(-v_number * ${COUNTERS_PER_TYPE}, v_last);
  v_queue int := (select id from ${s}.queue where name = p_queue);
  -- Period by period: a range of periods would be read with the counts of all other queues.
  v_starts bigint[] := case when p_queue is not null then array(select generate_series(
    greatest((p_from + p_length - 1) / p_length * p_length, (select min(at) from ${s}.count where step = p_step)),
    least(p_to - 1, coalesce((select max(at) from ${s}.count where step = p_step), -1)), p_length)) end;
begin
  return query
    with ${freshTypes(s)}
    , cell as (
      select queue, null::text as type, ${typeIn("metric")} as number, at, ${untyped("metric")} as metric, amount from ${s}.count where p_queue is null and step = p_step and at >= p_from and at < p_to and metric <= v_last
      union all
      select queue, null, ${typeIn("metric")}, at, ${untyped("metric")}, amount from ${s}.count
      where step = p_step and at = any(v_starts) and queue = v_queue and metric between v_low and v_high
      union all
      select queue, null, v_number, at, ${untyped("metric")}, amount from ${s}.count where step = p_step and at = any(v_starts) and queue = v_queue
        and metric between v_number * ${BUCKETS_PER_TYPE} and least((v_number + 1) * ${BUCKETS_PER_TYPE} - 1, v_last)
      union all
      select * from (
        select c.queue, case when f.number > 0 then l.type end, coalesce(l.counted_as, 0),
          case when p_step = ${STEP.all} then 0 else at - at % p_length end as at, metric, amount
        from ${s}.cell c left join ${s}.typed_lane l on l.id = c.lane
          left join fresh_type f on l.counted_as is null and f.queue = l.queue and f.type = l.type
        where ${isCounted("metric")} and (p_step = ${STEP.minute} and not p_counts_only or not ${isBucket("metric")})
      ) fresh where at >= p_from and at < p_to
    ), sums as (
      select queue, case when p_by_type then type end as type, case when p_by_type then number end as number, at, metric, sum(amount)::bigint as amount
      from cell group by 1, 2, 3, at, metric having sum(amount) <> 0
    )
    select q.name, coalesce(c.type, n.type), c.at, c.metric, c.amount
    from sums c join ${s}.queue q on q.id = c.queue
      left join (select distinct queue, counted_as, type from ${s}.typed_lane where p_by_type and counted_as > 0
        and (p_queue is null or queue = (select id from ${s}.queue where name = p_queue))) n on n.queue = c.queue and n.counted_as = c.number
    where (p_queue is null or q.name = p_queue) and (p_type is null or coalesce(c.type, n.type) = p_type);
  out_at := ${NOW};
  return next;
end $$;`;
