/** Inserting jobs. */
import { STATE, tallyMetric } from "../../numbers.ts";
import { ADMITTED } from "../answers.ts";
import { IN_LINE } from "../lines.ts";
import { ownOr } from "./rates.ts";
import { columnsOf, indexFacets, insertItems, isKeptForATime, newState, NOW, PLANNED, SHORT_LOCK_TIMEOUT, waitAtMost } from "./snippets.ts";
import { hasParent } from "./step-marks.ts";
import { costIn, keyIn } from "./turns.ts";

/** A column with equal values may be given as its first value alone: `unnest` fills up with nulls. */
const alike = (...names: string[]): string => names.map((name) => `coalesce(i.${name}, p_${name}s[1]) as ${name}`).join(", ");

/**
 * The fast way, for jobs that need no lookup: no key, no fixed time, no id twice. Inserts all or none: a known id fails the statement
 * (23505), and the caller takes the careful way.
 * Answers the time; or null, having done nothing, if one of the queues has a capacity.
 * The caller has added up the deltas, because all jobs come in.
 */
export const enqueue = (s: string, digest: string): string => `
create or replace function ${s}.enqueue_${digest}(p_now bigint, p_ids uuid[], p_queues int[], p_lanes int[], p_prioritys smallint[], p_delays bigint[],
  p_max_retriess smallint[], p_max_losts smallint[], p_retry_delays bigint[], p_timeouts bigint[], p_tags text[], p_extras text[],
  p_payloads text[], p_facets text[], p_delta_queues int[], p_delta_lanes int[], p_delta_metrics smallint[], p_delta_amounts int[])
  returns bigint ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
begin
  if exists (select from ${s}.queue where id = any(p_delta_queues) and capacity is not null) then return null; end if;
  with item as materialized (
    select nextval('${s}.job_seq_seq') as seq, i.id, i.tags, i.extra, i.payload, i.facets, coalesce(i.delay, 0) as delay,
      ${alike("queue", "lane", "priority", "max_retries", "max_lost", "retry_delay", "timeout")}
    from ${columnsOf({
      id: "p_ids",
      queue: "p_queues",
      lane: "p_lanes",
      priority: "p_prioritys",
      delay: "p_delays",
      max_retries: "p_max_retriess",
      max_lost: "p_max_losts",
      retry_delay: "p_retry_delays",
      timeout: "p_timeouts",
      tags: "p_tags",
      extra: "p_extras",
      payload: "p_payloads",
      facets: "p_facets",
    })} i
  ), body as (
    insert into ${s}.job (seq, id, lane, created_at, max_retries, max_lost, retry_delay, timeout, tags, extra, payload, facets)
    select seq, id, lane, v_now, max_retries, max_lost, retry_delay, timeout, tags::text[], extra, payload, facets from item
  ), now_ready as (
    insert into ${s}.ready (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, ${STATE.pending}, v_now, v_now from item where delay = 0
  ), later as (
    insert into ${s}.due (id, seq, queue, lane, priority, state, run_at, updated_at)
    select id, seq, queue, lane, priority, ${STATE.scheduled}, v_now + delay, v_now from item where p_delays is not null and delay > 0
  )
  insert into ${s}.delta (at, queue, lane, metrics, amounts)
  select v_now, d.queue, d.lane, array_agg(d.metric), array_agg(d.amount)
  from unnest(p_delta_queues, p_delta_lanes, p_delta_metrics, p_delta_amounts) d(queue, lane, metric, amount) group by d.queue, d.lane;
  if p_facets is not null then
    ${indexFacets(s, "p_ids")};
  end if;
  return v_now;
end $$;`;

/** The items of a careful insert, numbered from 1 in the caller's order, each with the decision so far. */
export const ITEMS = `unnest(p_ids, p_queues, p_lanes, p_priorities, p_delays, p_run_ats, p_max_retries, p_max_losts, p_retry_delays, p_timeouts, p_tags,
  p_extras, p_payloads, p_keys, p_key_ttls, p_fingerprints, p_blocked, p_facets, v_kinds) with ordinality
  i(id, queue, lane, priority, delay, run_at, max_retries, max_lost, retry_delay, timeout, tags, extra, payload, key, key_ttl, fingerprint,
    blocked, facets, kind, ord)`;

/** When an item is due. A blocked one says now. */
export const DUE_AT = "(case when i.blocked then v_now else greatest(v_now, coalesce(i.run_at, v_now + i.delay)) end)";
/** Whether an item counts against a capacity. */
const COUNTS = `i.kind = ${ADMITTED.created} and i.blocked is not true`;
/** Whether an item always fits, because another job calls it; and whether it may be refused. */
const FITS = `${hasParent("i.extra")} is true as fits`;
const MAY_BE_REFUSED = `${COUNTS} and not i.fits`;

export const ADMIT_PARAMETERS = `p_ids uuid[], p_queues int[], p_lanes int[], p_priorities smallint[], p_delays bigint[], p_run_ats bigint[],
  p_max_retries smallint[], p_max_losts smallint[], p_retry_delays bigint[], p_timeouts bigint[], p_tags text[], p_extras text[],
  p_payloads text[], p_keys text[], p_key_ttls bigint[], p_fingerprints text[], p_blocked boolean[], p_facets text[]`;

/** Finds the items with a known key whose row others hold. The keys of all other items are locked for what follows. */
const leaveItemsOfHeldKeysOut = (s: string): string => `
  with free_key as materialized (
    select k.queue, k.key from ${s}.key k join ${ITEMS} on k.queue = i.queue and k.key = i.key order by k.queue, k.key for update of k skip locked
  )
  select coalesce(array_agg(i.ord), '{}') into v_held from ${ITEMS}
  where exists (select from ${s}.key k where k.queue = i.queue and k.key = i.key
    and not exists (select from free_key f where f.queue = k.queue and f.key = k.key))`;

/**
 * How long to wait for a key that is not committed yet. Not less, because waiting for a page of the table counts, too. But after
 * MOST_PATIENT_WAITS held keys the others are probably held as well, and all together must not take long.
 */
const KEY_PATIENCE_MS = 10;
const MOST_PATIENT_WAITS = 20;

/**
 * A key that another transaction has inserted and not committed is invisible and only found by inserting: one at a time, each in its own
 * subtransaction, which is rolled back if it would have to wait.
 */
const insertFreeKeys = (s: string): string => `
  ${waitAtMost(KEY_PATIENCE_MS)};
  for v_item in select i.* from ${ITEMS} where i.kind = ${ADMITTED.created} and i.key is not null order by i.queue, i.key loop
    begin
      insert into ${s}.key (queue, key, job, fingerprint) values (v_item.queue, v_item.key, v_item.id, v_item.fingerprint) on conflict do nothing;
    exception when lock_not_available then
      v_kinds[v_item.ord] := ${ADMITTED.leftOut};
      v_waits := v_waits + 1;
      if v_waits = ${MOST_PATIENT_WAITS} then ${waitAtMost(1)}; end if;
    end;
  end loop;
  ${SHORT_LOCK_TIMEOUT}`;

/** The items with a limit key, and how many jobs of it may wait: `most`, null if any number may. */
const keyedItems = (s: string): string => `(
    select i.ord, i.kind, i.blocked, ${FITS}, i.queue, i.id, i.lane, ${costIn("i.extra")} as cost, ${keyIn("i.extra")} as limit_key,
      ${ownOr(`(select k.own::jsonb from ${s}.limit_key k where k.queue = i.queue and k.key = ${keyIn("i.extra")})`, "waiting", "int", "(q.limits::jsonb -> 'perKey' ->> 'waiting')::int")} as most
    from ${ITEMS} join ${s}.queue q on q.id = i.queue where i.lane < 0) i`;

/** Only one insert at a time counts what waits of a limit key that has a bound. */
const lockBoundKeys = (s: string): string => `
  insert into ${s}.limit_key (queue, key) select distinct i.queue, i.limit_key from ${keyedItems(s)}
    where i.most is not null and not exists (select from ${s}.limit_key k where k.queue = i.queue and k.key = i.limit_key) order by 1, 2 on conflict do nothing;
  perform from ${s}.limit_key k join (select distinct i.queue, i.limit_key from ${keyedItems(s)} where i.most is not null) i on k.queue = i.queue and k.key = i.limit_key
    order by k.queue, k.key for update of k`;

/** Refuses the items whose limit key has as many waiting jobs as it may have. Cost: the jobs of these keys, up to their bound. */
const refuseOfFullKeys = (s: string): string => `
  with item as materialized (select * from ${keyedItems(s)} where i.most is not null)
  , room as materialized (
    select i.queue, i.limit_key, i.most - (select count(*) from (
      select from ${s}.lane l cross join lateral (
        select from ${s}.limit_lined d where d.lane = l.id and d.key = i.limit_key union all select from ${s}.limit_due d where d.lane = l.id and d.key = i.limit_key) w
      where l.queue = i.queue and l.id < 0 limit i.most) c) as places
    from (select distinct queue, limit_key, most from item) i
  ), full_item as (
    select i.ord, i.most from (
      select i.*, r.places, count(*) filter (where ${COUNTS}) over (partition by i.queue, i.limit_key order by i.ord) as nth
      from item i join room r on r.queue = i.queue and r.limit_key = i.limit_key) i where ${MAY_BE_REFUSED} and i.nth > i.places
  )
  select array_agg((case when f.ord is null then i.kind else ${ADMITTED.fullKey} end)::smallint order by i.ord), array_agg(f.most order by i.ord) into v_kinds, v_mosts
  from ${ITEMS} left join full_item f on f.ord = i.ord`;

/** Puts new pending jobs in line, and asks once for a recheck of each line. */
const lineUp = (s: string): string => `
  with item as materialized (
    select i.queue, i.lane, i.limit_key, i.cost, i.id, r.run_at, r.seq from ${keyedItems(s)}
    cross join lateral (select run_at, seq from ${s}.ready where id = i.id offset 0) r where i.kind = ${ADMITTED.created}
  ), lined as (insert into ${s}.limit_lined (lane, key, run_at, seq, id, cost) select lane, limit_key, run_at, seq, id, cost from item)
  insert into ${s}.limit_recheck (queue, lane, key) select distinct queue, lane, limit_key from item`;

/** Stores the items whose kind is `created`, by the time `v_now`. `v_keyed`: some have a limit key. */
export const storeCreated = (s: string): string => `
  with item as materialized (
    select nextval('${s}.job_seq_seq') as seq, ${DUE_AT} as due_at, ${newState(DUE_AT)} as new_state, i.* from ${ITEMS} where i.kind = ${ADMITTED.created}
  )${insertItems(s, `case when lane < 0 then ${IN_LINE} end`)};
  if v_keyed then
    ${lineUp(s)};
  end if;
  if p_facets is not null then
    ${indexFacets(s, `array(select i.id from ${ITEMS} where i.kind = ${ADMITTED.created})`)};
  end if`;

/**
 * The careful way: checks ids, keys and capacities. No id and no key may be in one call twice.
 *
 * `p_locks`: rows that others may change are locked first, each kind in one order: queues with a capacity, so that their inserts come one
 * after the other, and existing keys, so that an expired one changes hands once. Without it (inside a caller's transaction) only new rows
 * are written: an expired key must be gone before, and the capacity is checked against what is committed.
 *
 * `p_careful`: does not wait for keys that others hold, but leaves out those items. It still waits for queues: their rows are held by calls
 * like this one, for a moment each; leaving them out would split a batch into single calls, which hold them longer.
 *
 * Answers each item (ord) with its kind, one of ADMITTED, and details: created and knownId have state, created_at and run_at; knownKey,
 * pruned and conflict the holder of the key, pruned also its state; full and fullKey the capacity in run_at.
 */
export const admit = (s: string, digest: string): string => `
create or replace function ${s}.admit_${digest}(p_now bigint, p_locks boolean, p_careful boolean, ${ADMIT_PARAMETERS})
  returns table (out_ord int, out_kind smallint, out_state smallint, out_created_at bigint, out_run_at bigint, out_holder uuid)
  ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_kinds smallint[] := array_fill(${ADMITTED.created}::smallint, array[cardinality(p_ids)]);
  v_holders uuid[];
  v_states smallint[];
  v_held bigint[] := '{}';
  v_item record;
  v_waits int := 0;
  v_mosts int[];
  v_keyed boolean := 0 > any(p_lanes);
begin
  if p_locks then
    ${SHORT_LOCK_TIMEOUT};
    perform from ${s}.queue where id = any(p_queues) and capacity is not null order by id for update;
    if v_keyed then
      ${lockBoundKeys(s)};
    end if;
    if p_careful then
      ${leaveItemsOfHeldKeysOut(s)};
    else
      perform from ${s}.key k join ${ITEMS} on k.queue = i.queue and k.key = i.key order by k.queue, k.key for update of k;
    end if;
  end if;
  v_now := ${NOW};

  select array_agg(kind order by ord), array_agg(holder order by ord), array_agg(state order by ord) into v_kinds, v_holders, v_states
  from (
    -- A caller's transaction may be in REPEATABLE READ: then it sees both a key that was freed since it began and the one that it took itself.
    -- (offset 0: otherwise the server relies on the key being unique, and looks at only one of the two.)
    select distinct on (i.ord) i.ord, k.job as holder, k.state,
      (case when j.id is not null then ${ADMITTED.knownId}
        when i.ord = any(v_held) then ${ADMITTED.leftOut}
        when k.job is null or (case when k.expires_at is not null then k.expires_at <= v_now
          else holder.id is null or coalesce(${isKeptForATime("e.state")} and e.ended_at + holder.key_ttl <= v_now, false) end) then ${ADMITTED.created}
        when k.fingerprint <> i.fingerprint then ${ADMITTED.conflict}
        when k.expires_at is null then ${ADMITTED.knownKey}
        else ${ADMITTED.pruned} end)::smallint as kind
    from ${ITEMS}
    left join ${s}.job j on j.id = i.id
    left join lateral (select * from ${s}.key where queue = i.queue and key = i.key offset 0) k on true
    left join ${s}.job holder on holder.id = k.job
    left join ${s}.ended e on e.id = k.job
    order by i.ord, kind desc
  ) looked;

  if v_keyed then
    ${refuseOfFullKeys(s)};
  end if;
  if exists (select from ${s}.queue where id = any(p_queues) and capacity is not null) then
    -- Added up once per queue, not per job: there may be thousands of unfolded deltas.
    with bounded as materialized (select id, capacity from ${s}.queue where id = any(p_queues) and capacity is not null)
    , waiting as materialized (
      select queue, sum(amount) as amount from (
        select queue, amount from ${s}.tally where queue in (select id from bounded) and metric < ${tallyMetric(STATE.running, 0)}
        union all select queue, amount from ${s}.cell where queue in (select id from bounded) and metric < ${tallyMetric(STATE.running, 0)}
      ) cells group by queue
    ), room as materialized (
      select b.id as queue, b.capacity - coalesce(w.amount, 0) as places from bounded b left join waiting w on w.queue = b.id
    )
    select array_agg((case when (${MAY_BE_REFUSED} and i.nth > i.places) or (i.kind = ${ADMITTED.fullKey} and i.nth >= i.places) then ${ADMITTED.full} else i.kind end)::smallint order by i.ord) into v_kinds
    from (
      select i.ord, i.kind, i.blocked, i.fits, count(*) filter (where ${COUNTS}) over (partition by i.queue order by i.ord) as nth, r.places
      from (select i.ord, i.kind, i.blocked, i.queue, ${FITS} from ${ITEMS}) i left join room r on r.queue = i.queue
    ) i;
  end if;

  if exists (select from unnest(p_keys) k(key) where key is not null) then
    if p_locks then
      update ${s}.key k set job = i.id, fingerprint = i.fingerprint, expires_at = null, state = null
      from ${ITEMS} where k.queue = i.queue and k.key = i.key and i.kind = ${ADMITTED.created} and k.job = v_holders[i.ord];
    end if;
    if p_careful then
      ${insertFreeKeys(s)};
    else
      insert into ${s}.key (queue, key, job, fingerprint)
      select i.queue, i.key, i.id, i.fingerprint from ${ITEMS} where i.kind = ${ADMITTED.created} and i.key is not null order by i.queue, i.key
      on conflict do nothing;
    end if;
    -- A key that another call inserted a moment ago: we waited for that insert, and can see it now.
    select array_agg((case when i.kind = ${ADMITTED.created} and i.key is not null and k.job is null then ${ADMITTED.overtaken} else i.kind end)::smallint order by i.ord)
    into v_kinds from ${ITEMS} left join ${s}.key k on k.queue = i.queue and k.key = i.key and k.job = i.id;
  end if;

  ${storeCreated(s)};

  return query
    select i.ord::int, i.kind,
      (case when i.kind = ${ADMITTED.created} then ${newState("i.due_at")} when i.kind = ${ADMITTED.knownId} then st.state else v_states[i.ord] end)::smallint,
      (case when i.kind = ${ADMITTED.knownId} then j.created_at else v_now end),
      (case when i.kind = ${ADMITTED.knownId} then st.run_at when i.kind = ${ADMITTED.full} then (select capacity from ${s}.queue where id = i.queue)
        when i.kind = ${ADMITTED.fullKey} then v_mosts[i.ord] else i.due_at end),
      v_holders[i.ord]
    from (select i.*, ${DUE_AT} as due_at from ${ITEMS}) i
    left join ${s}.job j on i.kind = ${ADMITTED.knownId} and j.id = i.id
    left join lateral (select state, run_at from ${s}.state where id = i.id) st on i.kind = ${ADMITTED.knownId}
    order by i.ord;
end $$;`;

/** Whether a key has expired at `v_now`. */
export const isFreeKey = (s: string, k: string): string => `(case when ${k}.expires_at is not null then ${k}.expires_at <= v_now
    else not exists (select from ${s}.job where id = ${k}.job) or exists (
      select from ${s}.ended e join ${s}.job j on j.id = e.id where e.id = ${k}.job and ${isKeptForATime("e.state")} and e.ended_at + j.key_ttl <= v_now) end)`;

/** Drops expired keys, so that a caller's transaction has nothing to update. */
export const freeKeys = (s: string, digest: string): string => `
create or replace function ${s}.free_keys_${digest}(p_now bigint, p_queues int[], p_keys text[]) returns void ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
begin
  ${SHORT_LOCK_TIMEOUT};
  perform from ${s}.key k join unnest(p_queues, p_keys) i(queue, key) on k.queue = i.queue and k.key = i.key
    order by k.queue, k.key for update of k;
  v_now := ${NOW};
  delete from ${s}.key k using unnest(p_queues, p_keys) i(queue, key)
  where k.queue = i.queue and k.key = i.key and ${isFreeKey(s, "k")};
end $$;`;
