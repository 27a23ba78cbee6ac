/** Jobs come in. */
import { addDeltas, impatiently, level, NOW, PLANNED } from "./snippets.ts";

/** A column in which all jobs are alike may be given as its first value alone: `unnest` fills up with nulls. */
const alike = (...names: string[]): string => names.map((name) => `coalesce(i.${name}, p_${name}s[1]) as ${name}`).join(", ");

/**
 * The hot way, for jobs of which nothing needs to be looked up: no key, no fixed time, no id twice. All come in or none: an id that is known
 * already fails the statement (23505), and the caller goes the careful way.
 * Answers the time, or null, having done nothing: one of the queues has a capacity.
 * The deltas are what the caller added up: all jobs come in, so it knows.
 */
export const enqueue = (s: string): string => `
create function ${s}.enqueue(p_now bigint, p_ids uuid[], p_queues int[], p_lanes int[], p_prioritys smallint[], p_delays bigint[],
  p_max_retriess smallint[], p_max_losts smallint[], p_retry_delays bigint[], p_timeouts bigint[], p_tags text[], p_extras text[],
  p_payloads text[], p_delta_queues int[], p_delta_metrics smallint[], p_delta_amounts int[]) returns bigint ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
begin
  if exists (select from ${s}.queue where id = any(p_delta_queues) and capacity is not null) then return null; end if;
  with item as materialized (
    select nextval('${s}.job_seq_seq') as seq, i.id, i.tags, i.extra, i.payload, coalesce(i.delay, 0) as delay,
      ${alike("queue", "lane", "priority", "max_retries", "max_lost", "retry_delay", "timeout")}
    from unnest(p_ids, p_queues, p_lanes, p_prioritys, p_delays, p_max_retriess, p_max_losts, p_retry_delays, p_timeouts, p_tags, p_extras,
      p_payloads) i(id, queue, lane, priority, delay, max_retries, max_lost, retry_delay, timeout, tags, extra, payload)
  ), body as (
    insert into ${s}.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, tags, extra, payload)
    select seq, id, lane, v_now, max_retries, max_lost, retry_delay, timeout, tags::text[], extra, payload from item
  ), now_ready as (
    insert into ${s}.ready (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 2, v_now, v_now from item where delay = 0
  ), later as (
    insert into ${s}.due (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 0, v_now + delay, v_now from item where p_delays is not null and delay > 0
  )
  insert into ${s}.delta (at, queue, metrics, amounts)
  select v_now, d.queue, array_agg(d.metric), array_agg(d.amount)
  from unnest(p_delta_queues, p_delta_metrics, p_delta_amounts) d(queue, metric, amount) group by d.queue;
  return v_now;
end $$;`;

/** The items of a careful insert, numbered from 1 in the caller's order, each with what was decided about it so far. */
const ITEMS = `unnest(p_ids, p_queues, p_lanes, p_priorities, p_delays, p_run_ats, p_max_retries, p_max_losts, p_retry_delays, p_timeouts, p_tags,
  p_extras, p_payloads, p_keys, p_key_ttls, p_fingerprints, v_kinds) with ordinality
  i(id, queue, lane, priority, delay, run_at, max_retries, max_lost, retry_delay, timeout, tags, extra, payload, key, key_ttl, fingerprint,
    kind, ord)`;

export const ADMIT_PARAMETERS = `p_ids uuid[], p_queues int[], p_lanes int[], p_priorities smallint[], p_delays bigint[], p_run_ats bigint[],
  p_max_retries smallint[], p_max_losts smallint[], p_retry_delays bigint[], p_timeouts bigint[], p_tags text[], p_extras text[],
  p_payloads text[], p_keys text[], p_key_ttls bigint[], p_fingerprints text[]`;

/**
 * The careful way: looks at ids, keys and capacities. No id and no key may be in one call twice.
 *
 * `p_locks`: rows that others might change are locked first, each kind in one order: queues with a capacity, so that their inserts come one
 * after the other, and keys that exist, so that one that has expired changes hands once. Without it (inside a caller's transaction) only new
 * rows are written: a key that has expired must be gone before, and the capacity is what is committed.
 *
 * Answers for each item (ord): kind 0 created, 1 the id is known (state, created_at, run_at), 2 the key is another job's with the same
 * content (holder), 3 the same of a job that was pruned (holder, state), 4 with other content (holder), 5 full (capacity in run_at), 6 somebody
 * was faster: ask again.
 */
export const admit = (s: string): string => `
create function ${s}.admit(p_now bigint, p_locks boolean, ${ADMIT_PARAMETERS})
  returns table (out_ord int, out_kind smallint, out_state smallint, out_created_at bigint, out_run_at bigint, out_holder uuid)
  ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_kinds smallint[] := array_fill(0::smallint, array[cardinality(p_ids)]);
  v_holders uuid[];
  v_states smallint[];
  v_full boolean;
begin
  if p_locks then
    ${impatiently};
    perform from ${s}.queue where id = any(p_queues) and capacity is not null order by id for update;
    perform from ${s}.key k join ${ITEMS} on k.queue = i.queue and k.key = i.key order by k.queue, k.key for update of k;
  end if;
  v_now := ${NOW};

  select array_agg(kind order by ord), array_agg(holder order by ord), array_agg(state order by ord) into v_kinds, v_holders, v_states
  from (
    select i.ord, k.job as holder, k.state,
      (case when j.id is not null then 1
        when k.job is null or (case when k.expires_at is not null then k.expires_at <= v_now
          else holder.id is null or coalesce(e.state in (4, 5) and e.ended_at + holder.key_ttl <= v_now, false) end) then 0
        when k.fingerprint <> i.fingerprint then 4
        when k.expires_at is null then 2
        else 3 end)::smallint as kind
    from ${ITEMS}
    left join ${s}.job j on j.id = i.id
    left join ${s}.key k on k.queue = i.queue and k.key = i.key
    left join ${s}.job holder on holder.id = k.job
    left join ${s}.ended e on e.id = k.job
  ) looked;

  if exists (select from ${s}.queue where id = any(p_queues) and capacity is not null) then
    select array_agg((case when i.kind = 0 and i.nth > i.room then 5 else i.kind end)::smallint order by i.ord), bool_or(i.kind = 0 and i.nth > i.room)
    into v_kinds, v_full
    from (
      select i.ord, i.kind, count(*) filter (where i.kind = 0) over (partition by i.queue order by i.ord) as nth, q.capacity - w.waiting as room
      from ${ITEMS} join ${s}.queue q on q.id = i.queue
      left join lateral (
        select coalesce(sum(amount), 0) as waiting from (
          select amount from ${s}.tally where queue = i.queue and metric < 12
          union all select amount from ${s}.cell where queue = i.queue and metric < 12
        ) cells
      ) w on q.capacity is not null
    ) i;
  end if;

  if exists (select from unnest(p_keys) k(key) where key is not null) then
    if p_locks then
      update ${s}.key k set job = i.id, fingerprint = i.fingerprint, expires_at = null, state = null
      from ${ITEMS} where k.queue = i.queue and k.key = i.key and i.kind = 0 and k.job = v_holders[i.ord];
    end if;
    insert into ${s}.key (queue, key, job, fingerprint)
    select i.queue, i.key, i.id, i.fingerprint from ${ITEMS} where i.kind = 0 and i.key is not null order by i.queue, i.key
    on conflict do nothing;
    -- A key that somebody else inserted a moment ago: its insert was waited for, and now it can be seen.
    select array_agg((case when i.kind = 0 and i.key is not null and k.job is distinct from i.id then 6 else i.kind end)::smallint order by i.ord)
    into v_kinds from ${ITEMS} left join ${s}.key k on k.queue = i.queue and k.key = i.key;
  end if;

  with item as materialized (
    select nextval('${s}.job_seq_seq') as seq, greatest(v_now, coalesce(i.run_at, v_now + i.delay)) as due_at, i.* from ${ITEMS} where i.kind = 0
  ), body as (
    insert into ${s}.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags, extra, payload)
    select seq, id, lane, v_now, max_retries, max_lost, retry_delay, timeout, key, key_ttl, tags::text[], extra, payload from item
  ), now_ready as (
    insert into ${s}.ready (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 2, v_now, v_now from item where due_at = v_now
  ), later as (
    insert into ${s}.due (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, 0, due_at, v_now from item where due_at > v_now
  )
  ${addDeltas(
    s,
    `select i.queue, c.metric, 1 as amount from item i
     cross join lateral (values ((case when i.due_at > v_now then 0 else 8 end) + ${level("i.priority")}), (32)) c(metric)`,
  )};

  return query
    select i.ord::int, i.kind,
      (case when i.kind = 0 then (case when i.due_at > v_now then 0 else 2 end) when i.kind = 1 then st.state else v_states[i.ord] end)::smallint,
      (case when i.kind = 1 then j.created_at else v_now end),
      (case when i.kind = 1 then st.run_at when i.kind = 5 then (select capacity from ${s}.queue where id = i.queue) else i.due_at end),
      v_holders[i.ord]
    from (select i.*, greatest(v_now, coalesce(i.run_at, v_now + i.delay)) as due_at from ${ITEMS}) i
    left join ${s}.job j on i.kind = 1 and j.id = i.id
    left join lateral (select state, run_at from ${s}.state where id = i.id) st on i.kind = 1
    order by i.ord;
end $$;`;

/** Drops keys whose time is over, so that a caller's transaction finds them gone and has nothing to update. */
export const freeKeys = (s: string): string => `
create function ${s}.free_keys(p_now bigint, p_queues int[], p_keys text[]) returns void ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
begin
  ${impatiently};
  perform from ${s}.key k join unnest(p_queues, p_keys) i(queue, key) on k.queue = i.queue and k.key = i.key
    order by k.queue, k.key for update of k;
  v_now := ${NOW};
  delete from ${s}.key k using unnest(p_queues, p_keys) i(queue, key)
  where k.queue = i.queue and k.key = i.key and (case when k.expires_at is not null then k.expires_at <= v_now
    else not exists (select from ${s}.job where id = k.job) or exists (
      select from ${s}.ended e join ${s}.job j on j.id = e.id where e.id = k.job and e.state in (4, 5) and e.ended_at + j.key_ttl <= v_now) end);
end $$;`;
