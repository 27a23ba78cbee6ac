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
  v_freed_queue int;
  v_freed_of_queue text[];
  v_freed_known text[];
  v_freed_lanes int[];
  v_freed_clocks float8[];
  v_freed_lines tid[];
  v_freed_locked tid[];
  v_freed_holds boolean := false;`;

/**
 * Frees what these jobs hold, unless they still run (`ended`: none of them does). Puts their limited keys into `v_freed_keys`, and into `v_freed` the
 * queues that were at their limit.
 */
const endHoldings = (s: string, ids: string, ended: string): string => `
  with gone as (
    delete from ${s}.limit_holding h where h.id = any(${ids}) and (${ended} or not exists (select from ${s}.running r where r.id = h.id)) returning h.queue, h.key
  )
  select array_agg(f.queue) filter (where f.is_limited), array_agg(f.key) filter (where f.is_limited), array_agg(distinct f.queue) into v_freed_queues, v_freed_keys, v_freed from (
    select d.queue, d.key, d.key <> '${NO_KEY}' and (d.queue = any(array(select q.id from ${s}.queue q where q.limits::json -> 'perKey' ->> 'running' is not null))
      or (select k.own from ${s}.limit_key k where k.queue = d.queue and k.key = d.key) is not null) as is_limited
    from (select distinct queue, key from gone) d) f;
  if v_freed is not null then
    v_freed := array(select k.queue from ${s}.limit_key k where k.queue = any(v_freed) and k.key = '${NO_KEY}' and k.full_up);
  end if`;

/** Puts these lines back into their rings. Those that others hold, or have changed since, get a recheck. */
const putBack = (s: string): string => `
      v_freed_locked := array(select ctid from ${s}.limit_line where ctid = any(v_freed_lines) for update skip locked);
      v_freed_holds := v_freed_holds or v_freed_locked <> '{}';
      if cardinality(v_freed_locked) < cardinality(v_freed_lines) then
        insert into ${s}.limit_recheck (queue, key) select distinct queue, key from ${s}.limit_line where ctid = any(v_freed_lines) and ctid <> all(v_freed_locked);
      end if;
      v_freed_clocks := array(${clocksOf(s, "v_freed_lanes")});
      update ${s}.limit_line x set place = ${PLACE.ring}, until = null, tag = greatest(x.tag, v_freed_clocks[array_position(v_freed_lanes, x.lane)]) where ctid = any(v_freed_locked)`;

/**
 * Frees what these jobs hold, if they no longer run, and puts the lines of limited keys that stand aside back into their rings. Puts the queues
 * in which something waits for it into `v_freed`, and into `v_freed_holds` whether it holds lines. Cost: the jobs, if any limit or key is in use at all.
 *
 * A claim that counts what a key holds, and may take its line out of the ring, has the row of that key. If nobody has, a look at the lines
 * tells which ones stand aside. In a caller's transaction (not `ours`) nothing is locked, and each limited key has a recheck.
 */
export const freeHoldings = (s: string, ids: string, { ours, ended }: { readonly ours: string; readonly ended: string }): string =>
  `${endHoldings(s, ids, ended)};
  for v_freed_queue in select distinct q from unnest(v_freed_queues) u(q) loop
    v_freed_of_queue := array(select key from unnest(v_freed_queues, v_freed_keys) f(queue, key) where queue = v_freed_queue);
    v_freed_known := null;
    if ${ours} then
      v_freed_known := array(select key from ${s}.limit_key where queue = v_freed_queue and key = any(v_freed_of_queue) for update skip locked);
    end if;
    if v_freed_known is null or cardinality(v_freed_known) < cardinality(v_freed_of_queue) then
      insert into ${s}.limit_recheck (queue, key) select v_freed_queue, key from unnest(v_freed_of_queue) u(key) where (key = any(v_freed_known)) is not true;
    end if;
    v_freed_lanes := array(select id from ${s}.lane where queue = v_freed_queue and id < 0);
    v_freed_lines := array(select ctid from ${s}.limit_line where lane = any(v_freed_lanes) and key = any(v_freed_of_queue) and place in (${PLACE.parked}, ${PLACE.asleep}));
    continue when v_freed_lines = '{}';
    v_freed := v_freed || v_freed_queue;
    if v_freed_known is not null then
      ${putBack(s)};
    end if;
  end loop`;

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
  v_clocks float8[];
  v_idle_keys text[];
  v_missing_lanes int[];
  v_missing_keys text[];
  v_new_lanes int[];
  v_new_keys text[];
  v_tids tid[];
begin
  if exists (select from ${s}.limit_line where queue = p_queue and until <= p_now) then
    v_tids := array(select ctid from ${s}.limit_line where queue = p_queue and until <= p_now for update skip locked);
    update ${s}.limit_line x set place = ${PLACE.ring}, until = null, tag = greatest(x.tag, ${clockOf(s, "x.lane")}) where ctid = any(v_tids);
  end if;
  if not exists (select from ${s}.limit_recheck where queue = p_queue) then return true; end if;
  if not pg_try_advisory_xact_lock(hashtext('${s}.turns'), p_queue) then return false; end if;
  v_rechecks := array(select ctid from ${s}.limit_recheck where queue = p_queue limit ${MOST_RECHECKS});
  v_lanes := array(select id from ${s}.lane where queue = p_queue and id < 0);

  -- The lines that are meant; those of an ended lease are all lines of its key.
  with meant as materialized (
    select lane, key, bool_or(has_ended) as has_ended from (
      select lane, key, false as has_ended from ${s}.limit_recheck where ctid = any(v_rechecks) and lane is not null
      union all
      select x.lane, k.key, true from (select distinct key from ${s}.limit_recheck where ctid = any(v_rechecks) and lane is null) k
        cross join lateral (select lane from ${s}.limit_line where lane = any(v_lanes) and key = k.key offset 0) x
    ) w group by lane, key
  )
  select array_agg(x.tid) filter (where x.place in (${PLACE.idle}, ${PLACE.asleep}) or (x.place = ${PLACE.parked} and m.has_ended)),
    array_agg(m.key) filter (where x.place = ${PLACE.idle}), array_agg(m.lane) filter (where x.tid is null), array_agg(m.key) filter (where x.tid is null)
  into v_tids, v_idle_keys, v_missing_lanes, v_missing_keys
  from meant m left join lateral (select ctid as tid, place from ${s}.limit_line where lane = m.lane and key = m.key for update skip locked) x on true;

  if v_missing_lanes is not null then
    select array_agg(lane) filter (where is_new), array_agg(key) filter (where is_new), array_agg(lane) filter (where not is_new), array_agg(key) filter (where not is_new)
    into v_new_lanes, v_new_keys, v_missing_lanes, v_missing_keys from (
      select lane, key, not exists (select from ${s}.limit_line x where x.lane = w.lane and x.key = w.key offset 0) as is_new from unnest(v_missing_lanes, v_missing_keys) w(lane, key)) w;
    if v_new_lanes is not null then
      insert into ${s}.limit_line (queue, lane, key) select distinct p_queue, lane, '${NO_KEY}' from unnest(v_new_lanes) l(lane)
        where not exists (select from ${s}.limit_line x where x.lane = l.lane and x.key = '${NO_KEY}') on conflict do nothing;
      insert into ${s}.limit_line (queue, lane, key, place, tag) select p_queue, n.lane, n.key, ${PLACE.ring}, ${clockOf(s, "n.lane")}
        from unnest(v_new_lanes, v_new_keys) n(lane, key) on conflict do nothing;
      v_idle_keys := v_idle_keys || v_new_keys;
    end if;
  end if;
  if v_idle_keys is not null then
    -- Each line that is not idle has the row of its key: sweep drops only those of idle ones.
    insert into ${s}.limit_key (queue, key) select p_queue, n.key from (select distinct key from unnest(v_idle_keys) u(key)) n
      left join lateral (select true as is_known from ${s}.limit_key where queue = p_queue and key = n.key offset 0) k on true where k.is_known is null on conflict do nothing;
  end if;
  if v_tids is not null then
    v_clocks := array(${clocksOf(s, "v_lanes")});
    update ${s}.limit_line x set place = ${PLACE.ring}, until = null, tag = greatest(x.tag, v_clocks[array_position(v_lanes, x.lane)]) where ctid = any(v_tids);
  end if;

  if v_missing_lanes is null then
    delete from ${s}.limit_recheck where ctid = any(v_rechecks);
  else
    delete from ${s}.limit_recheck k where ctid = any(v_rechecks) and case when k.lane is null then k.key not in (select m.key from unnest(v_missing_keys) m(key))
      else (k.lane, k.key) not in (select m.lane, m.key from unnest(v_missing_lanes, v_missing_keys) m(lane, key)) end;
  end if;
  return v_missing_lanes is null;
end $$;`;

/** The time of a ring. */
const clockOf = (s: string, lane: string): string =>
  `coalesce((select clock from ${s}.limit_line ring where ring.lane = ${lane} and ring.key = '${NO_KEY}'), 0)`;

/** The times of the rings of these lanes, in order. */
const clocksOf = (s: string, lanes: string): string =>
  `select ${clockOf(s, "u.lane")} from unnest(${lanes}) with ordinality u(lane, n) order by n`;

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
