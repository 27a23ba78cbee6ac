/** Lines of limit keys: how jobs and ends of leases reach them. The tables are told in limit-tables.ts. */
import { NO_KEY, PLACE } from "../lines.ts";
import { NOW, PLANNED } from "./snippets.ts";

/** How many rechecks one fold takes. */
const MOST_RECHECKS = 2000;

/** The limit key in the rare fields of a job, and its cost. */
export const keyIn = (extra: string): string => `(${extra}::json ->> 'limitKey')`;
export const costIn = (extra: string): string => `coalesce((${extra}::json ->> 'cost')::int, 1)`;

/** The variables of `freeHoldings`. */
export const FREED = `v_freed int[];
  v_freed_queues int[];
  v_freed_keys text[];
  v_freed_known text[];`;

/**
 * Frees what these jobs hold, if they no longer run, and asks for a recheck of the limited keys for which something stands aside, or may. Puts the queues
 * in which something waits for it into `v_freed`. Cost: the jobs, if any limit or key is in use at all.
 *
 * A claim that counts what a key holds, and may take its line out of the ring, has the row of that key. If nobody has, a look at the lines
 * tells whether there is anything to recheck (`ours`: the transaction is ours, and short). In a caller's transaction nothing is locked,
 * and each limited key has a recheck.
 */
export const freeHoldings = (s: string, ids: string, ours: string): string =>
  `
  with gone as (
    delete from ${s}.limit_holding h where h.id = any(${ids}) and not exists (select from ${s}.running r where r.id = h.id) returning h.queue, h.key
  )
  select array_agg(f.queue) filter (where f.is_limited), array_agg(f.key) filter (where f.is_limited), array_agg(distinct f.queue) filter (where f.was_full)
  into v_freed_queues, v_freed_keys, v_freed from (
    select d.queue, d.key, (select k.full_up from ${s}.limit_key k where k.queue = d.queue and k.key = '${NO_KEY}') as was_full,
      d.key = '${NO_KEY}' or d.queue = any(array(select q.id from ${s}.queue q where q.limits::json -> 'perKey' ->> 'running' is not null))
        or (select k.own from ${s}.limit_key k where k.queue = d.queue and k.key = d.key) is not null as is_limited
    from (select distinct queue, key from gone) d) f;
  if v_freed_keys is not null then
    if ${ours} then
      select array_agg(k.key) into v_freed_known from unnest(v_freed_queues, v_freed_keys) f(queue, key)
        cross join lateral (select key from ${s}.limit_key where queue = f.queue and key = f.key and key <> '${NO_KEY}' for update skip locked) k;
    end if;
    with freed as materialized (
      select f.queue, f.key, case when f.key = '${NO_KEY}' then (select k.full_up from ${s}.limit_key k where k.queue = f.queue and k.key = '${NO_KEY}')
        else exists (select from ${s}.lane l join ${s}.limit_line x on x.lane = l.id and x.key = f.key
          where l.queue = f.queue and l.id < 0 and x.place in (${PLACE.parked}, ${PLACE.asleep})) end as is_wanted
      from unnest(v_freed_queues, v_freed_keys) f(queue, key)
    ), rechecked as (
      insert into ${s}.limit_recheck (queue, key) select queue, key from freed where key <> '${NO_KEY}' and (is_wanted or (key = any(v_freed_known)) is not true)
    )
    select array_agg(distinct w.queue) into v_freed from (select queue from freed where is_wanted union all select unnest(v_freed)) w(queue);
  end if`;

/** In how many milliseconds the next line of a queue wakes that waits for a time; null if none does. Only for a claim that folds: it wakes those whose time has come. */
export const nextAwake = (s: string, queue: string): string =>
  `(select greatest(1, min(until) - v_now) from ${s}.limit_line where queue = ${queue} and until is not null having count(*) > 0)`;

/** Whether any limit or limit key is in use. All queues have positive numbers; asked so, the server uses the index. */
export const anyLimits = (s: string): string => `exists (select from ${s}.limit_key where queue > 0)`;

/**
 * Folds rechecks of a queue into its lines. Out: whether it did; false: another call does, or holds one of the lines. One at a time, so that no two make the same line.
 *
 * A line is locked before its recheck is dropped, even if it is in the ring: whoever holds it may have looked before the job came, and be
 * about to take it out of the ring. The recheck of a held line stays.
 * A line that waits for a time is looked at again, because its first job may be another one now. One that waits for a lease only when one ends.
 * Each step is a statement of its own: what is looked at must be seen after it was locked.
 * Cost: the rechecks, 2,000 at most.
 */
export const foldTurns = (s: string, digest: string): string => `
create or replace function ${s}.fold_turns_${digest}(p_queue int, p_now bigint) returns boolean language plpgsql as $$
#variable_conflict use_column
declare
  v_rechecks tid[];
  v_lanes int[];
  v_keys text[];
  v_new_lanes int[];
  v_new_keys text[];
  v_tids tid[];
  v_held_lanes int[];
  v_held_keys text[];
begin
  if exists (select from ${s}.limit_line where queue = p_queue and until <= p_now) then
    v_tids := array(select ctid from ${s}.limit_line where queue = p_queue and until <= p_now for update skip locked);
    update ${s}.limit_line x set place = ${PLACE.ring}, until = null, tag = greatest(x.tag, ${clockOf(s, "x.lane")}) where ctid = any(v_tids);
  end if;
  if not exists (select from ${s}.limit_recheck where queue = p_queue) then return true; end if;
  if not pg_try_advisory_xact_lock(hashtext('${s}.turns'), p_queue) then return false; end if;
  v_rechecks := array(select ctid from ${s}.limit_recheck where queue = p_queue limit ${MOST_RECHECKS});

  -- The lines that are meant; those of an ended lease are all lines of its key.
  select array_agg(w.lane), array_agg(w.key) into v_lanes, v_keys from (
    select lane, key from ${s}.limit_recheck where ctid = any(v_rechecks) and lane is not null
    union
    select l.id, k.key from (select distinct key from ${s}.limit_recheck where ctid = any(v_rechecks) and lane is null) k
      cross join (select id from ${s}.lane where queue = p_queue and id < 0) l
      cross join lateral (select from ${s}.limit_line x where x.lane = l.id and x.key = k.key offset 0) known
  ) w;

  select array_agg(w.lane), array_agg(w.key) into v_new_lanes, v_new_keys from unnest(v_lanes, v_keys) w(lane, key)
  where not exists (select from ${s}.limit_line x where x.lane = w.lane and x.key = w.key);
  if v_new_lanes is not null then
    insert into ${s}.limit_line (queue, lane, key) select distinct p_queue, lane, '${NO_KEY}' from unnest(v_new_lanes) l(lane)
      where not exists (select from ${s}.limit_line x where x.lane = l.lane and x.key = '${NO_KEY}') on conflict do nothing;
    insert into ${s}.limit_line (queue, lane, key, place, tag) select p_queue, n.lane, n.key, ${PLACE.ring}, ${clockOf(s, "n.lane")}
      from unnest(v_new_lanes, v_new_keys) n(lane, key) on conflict do nothing;
  end if;
  insert into ${s}.limit_key (queue, key) select distinct p_queue, n.key from unnest(v_keys) n(key)
    where not exists (select from ${s}.limit_key k where k.queue = p_queue and k.key = n.key) on conflict do nothing;

  select array_agg(x.tid), array_agg(w.lane) filter (where x.tid is null), array_agg(w.key) filter (where x.tid is null)
  into v_tids, v_held_lanes, v_held_keys
  from unnest(v_lanes, v_keys) w(lane, key)
    left join lateral (select ctid as tid from ${s}.limit_line where lane = w.lane and key = w.key for update skip locked) x on true;
  update ${s}.limit_line x set place = ${PLACE.ring}, until = null, tag = greatest(x.tag, ${clockOf(s, "x.lane")})
  where ctid = any(v_tids) and (place in (${PLACE.idle}, ${PLACE.asleep}) or (place = ${PLACE.parked} and key = any(array(select key from ${s}.limit_recheck where ctid = any(v_rechecks) and lane is null))));

  if v_held_lanes is null then
    delete from ${s}.limit_recheck where ctid = any(v_rechecks);
  else
    delete from ${s}.limit_recheck k where ctid = any(v_rechecks) and not (k.key = any(v_held_keys)
      and exists (select from unnest(v_held_lanes, v_held_keys) h(lane, key) where h.key = k.key and (k.lane is null or h.lane = k.lane)));
  end if;
  return v_held_lanes is null;
end $$;`;

/** The time of a ring. */
const clockOf = (s: string, lane: string): string =>
  `coalesce((select clock from ${s}.limit_line ring where ring.lane = ${lane} and ring.key = '${NO_KEY}'), 0)`;

/** How many queues one call of upkeep looks at. */
const MOST_QUEUES = 100;

/**
 * Folds what nobody folded because nobody claims, such as what a caller's transaction committed. Out: the queues in which a line may start now,
 * or a running limit has room again.
 */
export const tendTurns = (s: string, digest: string): string => `
create or replace function ${s}.tend_turns_${digest}(p_now bigint) returns int[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_queue int;
  v_woken int[];
begin
  for v_queue in with recursive q(id) as (
      (select queue from ${s}.limit_recheck order by queue limit 1)
      union all select (select k.queue from ${s}.limit_recheck k where k.queue > q.id order by k.queue limit 1) from q where q.id is not null
    ) select id from q where id is not null limit ${MOST_QUEUES} loop
    perform ${s}.fold_turns_${digest}(v_queue, v_now);
    v_woken := v_woken || v_queue;
  end loop;
  return v_woken || array(select k.queue from ${s}.limit_key k join ${s}.queue q on q.id = k.queue where k.key = '${NO_KEY}' and k.full_up
    and (select count(*) from ${s}.limit_holding h where h.queue = k.queue) < coalesce((q.limits::json ->> 'running')::int, 1000000));
end $$;`;
