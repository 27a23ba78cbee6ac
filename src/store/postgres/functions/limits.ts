/** How much queues and limit keys use of their limits. */
import { STATE, LEVELS, tallyMetric } from "../../numbers.ts";
import { MAX_COUNTED_OF_KEY, MAX_HOLDERS } from "../../store.ts";
import { NO_KEY } from "../lines.ts";
import { NOW, PLANNED } from "./snippets.ts";
import { keyIn } from "./turns.ts";

const RUNNING = LEVELS.map((_, level) => tallyMetric(STATE.running, level)).join();

/**
 * In: name of the queue, keys (null: the busiest), how many of these. Out: first the queue (key ''), then each key: how many run and wait,
 * until when it is held (null: never was), what its rate remembers, its own limits, some that run, and the charges that are not added up yet, as JSON; and
 * the time. No row: no such queue.
 * Cost: the jobs of these keys, up to MAX_COUNTED_OF_KEY each; for the busiest also what runs in the queue. Without a running limit per key, or while
 * claims still count what ran before it, leases are not noted by key: then also what runs in all queues.
 */
export const keyUse = (s: string, digest: string): string => `
create or replace function ${s}.key_use_${digest}(p_now bigint, p_queue text, p_keys text[], p_limit int)
  returns table (out_key text, out_running int, out_waiting int, out_held_until bigint, out_busy float8, out_interval float8, out_own text, out_holders uuid[],
    out_charges json, out_now bigint) stable ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_queue int;
  v_keys text[] := p_keys;
  v_lanes int[];
  v_is_noted boolean;
begin
  select id, limits::json -> 'perKey' ->> 'running' is not null and exists (select from ${s}.limit_key where queue = q.id and key = '${NO_KEY}' and recount_since is null)
  into v_queue, v_is_noted from ${s}.queue q where name = p_queue;
  if not found then return; end if;
  v_lanes := array(select id from ${s}.lane where queue = v_queue and id < 0);
  if v_keys is null then
    v_keys := array(select key from (${leasesOf(s)}) h where key <> '${NO_KEY}' group by key order by count(*) desc, key limit p_limit);
    if cardinality(v_keys) < p_limit then
      v_keys := v_keys || array(select w.key from unnest(v_lanes) l(id) cross join lateral (${waitingKeys(s)}) w where w.key <> all(v_keys)
        group by w.key limit p_limit - cardinality(v_keys));
    end if;
  end if;
  return query
    with unnoted as materialized (select id, key from (${unnotedLeases(s)}) r where key = any(v_keys))
    select n.key, case when n.ord = 1 then (select coalesce(sum(amount), 0)::int from (
          select amount from ${s}.tally where queue = v_queue and metric in (${RUNNING})
          union all select amount from ${s}.cell where queue = v_queue and metric in (${RUNNING})) t)
        else (select count(*)::int from (${leasesOfKey(s)} limit ${MAX_COUNTED_OF_KEY}) h) end,
      (select count(*)::int from (select from unnest(v_lanes) l(id) cross join lateral (
        select from ${s}.limit_lined d where d.lane = l.id and d.key = n.key union all select from ${s}.limit_due d where d.lane = l.id and d.key = n.key) w
        limit ${MAX_COUNTED_OF_KEY}) w),
      k.held_until, k.busy_until, k.interval_ms, k.own,
      array(select id from (${leasesOfKey(s)} limit ${MAX_HOLDERS}) h),
      (select json_agg(json_build_array(c.at, c.units, c.interval_ms, c.held_until) order by c.at) from ${s}.limit_charge c where c.queue = v_queue and c.key = n.key),
      v_now
    from unnest(array['${NO_KEY}'] || v_keys) with ordinality n(key, ord)
    left join ${s}.limit_key k on k.queue = v_queue and k.key = n.key order by n.ord;
end $$;`;

/** The leases of jobs with limit keys, if they are not noted by key: with their keys, from the jobs themselves. */
const unnotedLeases = (s: string): string => `
      select r.id, j.key from ${s}.running r cross join lateral (select ${keyIn("extra")} as key from ${s}.job where id = r.id offset 0) j
      where not v_is_noted and r.lane = any(v_lanes)`;

const leasesOf = (s: string): string =>
  `select id, key from ${s}.limit_holding where queue = v_queue and v_is_noted union all ${unnotedLeases(s)}`;

const leasesOfKey = (s: string): string =>
  `select id from ${s}.limit_holding where queue = v_queue and key = n.key and v_is_noted union all select id from unnoted where key = n.key`;

/** Jumps from one key of the lane to the next. Twice as many as wanted, because some may be known. */
const waitingKeys = (s: string): string => `
        with recursive k(key) as (
          (select d.key from ${s}.limit_lined d where d.lane = l.id order by d.key limit 1)
          union all select (select d.key from ${s}.limit_lined d where d.lane = l.id and d.key > k.key order by d.key limit 1) from k where k.key is not null
        ), due(key) as (
          (select d.key from ${s}.limit_due d where d.lane = l.id order by d.key limit 1)
          union all select (select d.key from ${s}.limit_due d where d.lane = l.id and d.key > due.key order by d.key limit 1) from due where due.key is not null
        ) (select key from k where key is not null limit 2 * p_limit) union (select key from due where key is not null limit 2 * p_limit)`;
