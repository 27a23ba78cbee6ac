/** Forgetting limit keys that have nothing to remember. */
import { KEYED_MARK, NO_KEY, PLACE } from "../lines.ts";
import { NOW, PLANNED } from "./snippets.ts";

/** Whether a key has no jobs, limits, hold or rate, and its tags no longer matter. */
const isIdle = (
  s: string,
): string => `k.key <> '${NO_KEY}' and k.own is null and coalesce(k.held_until, 0) <= v_now and coalesce(k.busy_until, 0) <= v_now
    and not exists (select from ${s}.limit_holding h where h.queue = k.queue and h.key = k.key)
    and not exists (select from ${s}.limit_charge c where c.queue = k.queue and c.key = k.key)
    and not exists (select from ${s}.limit_recheck n where n.queue = k.queue)
    and not exists (select from ${s}.lane l join ${s}.limit_line x on x.lane = l.id and x.key = k.key where l.queue = k.queue and l.id < 0
      and (x.place <> ${PLACE.idle} or x.tag > (select r.clock from ${s}.limit_line r where r.lane = l.id and r.key = '${NO_KEY}')
        and (exists (select from ${s}.limit_line r where r.lane = l.id and r.place <> ${PLACE.idle}) or exists (
          select from ${s}.lane p join ${s}.ready r on r.lane = p.id where p.queue = l.queue and p.priority = l.priority and p.type || '${KEYED_MARK}' = l.type))))
    and not exists (select from ${s}.lane l where l.queue = k.queue and l.id < 0 and (exists (select from ${s}.limit_lined d where d.lane = l.id and d.key = k.key)
      or exists (select from ${s}.limit_due d where d.lane = l.id and d.key = k.key)))`;

/** A call looks at so many pages of a table that may be large, from a random one on. */
const SWEPT_PAGES = 100;

const somePages = (table: string): string => `
  v_page := floor(random() * greatest(1, pg_relation_size('${table}') / current_setting('block_size')::int - ${SWEPT_PAGES - 1}))::bigint`;
const inSomePages = (row: string): string =>
  `${row}.ctid >= format('(%s,0)', v_page)::tid and ${row}.ctid < format('(%s,0)', v_page + ${SWEPT_PAGES})::tid`;

/**
 * Out: how many rows were dropped. Cost: SWEPT_PAGES of the keys and of the pending jobs with keys, and what is held.
 *
 * Idle keys are looked for without a lock, and looked at again under the lock of folds, in a statement of its own: a fold that came between may
 * have put a line of the key into its ring, and a line must not lose the row of its key. So folds wait only for the few keys that are dropped.
 */
export const sweepLimits = (s: string, digest: string): string => `
create or replace function ${s}.sweep_limits_${digest}(p_now bigint, p_limit int) returns bigint ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_idle_queues int[];
  v_idle_keys text[];
  v_queues int[];
  v_page bigint;
  v_count bigint := 0;
  v_more bigint;
begin
  ${somePages(`${s}.limit_key`)};
  select array_agg(queue), array_agg(key) into v_idle_queues, v_idle_keys from (
    select k.queue, k.key from ${s}.limit_key k where ${inSomePages("k")} and ${isIdle(s)} limit p_limit) i;
  if v_idle_queues is not null then
    v_queues := array(select q from (select distinct u.q from unnest(v_idle_queues) u(q)) d where pg_try_advisory_xact_lock(hashtext('${s}.turns'), q));
    with idle as materialized (
      select k.queue, k.key from unnest(v_idle_queues, v_idle_keys) i(queue, key) join ${s}.limit_key k on k.queue = i.queue and k.key = i.key
      where k.queue = any(v_queues) and ${isIdle(s)} for update of k skip locked
    ), lines as (
      delete from ${s}.limit_line where ctid = any(array(select x.ctid from idle i join ${s}.lane l on l.queue = i.queue and l.id < 0
        join ${s}.limit_line x on x.lane = l.id and x.key = i.key where x.place = ${PLACE.idle} for update of x skip locked)) returning 1
    ), keys as (
      delete from ${s}.limit_key k using idle i where k.queue = i.queue and k.key = i.key returning 1
    ) select count(*) into v_count from keys;
  end if;
  ${somePages(`${s}.limit_lined`)};
  with spare as (
    delete from ${s}.limit_holding where id = any(array(select h.id from ${s}.limit_holding h where not exists (select from ${s}.running r where r.id = h.id) limit p_limit)) returning queue, key
  ), rechecked as (insert into ${s}.limit_recheck (queue, key) select distinct queue, key from (
      select queue, key from spare where key <> '${NO_KEY}'
      union all (select x.queue, x.key from ${s}.limit_line x where x.place = ${PLACE.parked}
        and not exists (select from ${s}.limit_holding h where h.queue = x.queue and h.key = x.key) limit p_limit)) k
  ), over as (
    delete from ${s}.limit_charge where ctid = any(array(select ctid from ${s}.limit_charge where units = 0 and held_until <= v_now limit p_limit for update skip locked)) returning 1
  ), stale as (
    delete from ${s}.limit_lined where ctid = any(array(select d.ctid from ${s}.limit_lined d
      where ${inSomePages("d")} and not exists (select from ${s}.ready r where r.id = d.id and r.run_at = d.run_at) limit p_limit for update of d skip locked)) returning 1
  ) select (select count(*) from spare) + (select count(*) from over) + (select count(*) from stale) into v_more;
  return v_count + v_more;
end $$;`;
