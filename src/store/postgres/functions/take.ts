/**
 * TAKING JOBS OF A QUEUE THAT HAS LIMITS OR LIMIT KEYS. See LIMITS and TURNS in store.ts, and limit-tables.ts.
 *
 * A claim goes through the priorities, and in each one through rounds. A round locks the first lines of the ring, then the limited keys of
 * these lines, and only in a later statement counts and looks, so that it sees what others committed before it had the locks. Lines and keys
 * that others hold are passed over, so nothing waits while it holds a line. What a line may give is known before its jobs are read: all
 * lines together give `want` jobs at the level to which their tags rise.
 *
 * Cost: the lines of the round, at most as many as jobs are wanted, and the jobs taken; of a limited key also what it holds. Not how many keys
 * there are, nor how many jobs wait behind a limit.
 */
import { STRICT_HEAD_START_MS } from "../../../core/rank.ts";
import { STATE } from "../../numbers.ts";
import { ASK_AGAIN } from "../answers.ts";
import { JOB_COLUMNS, JOB_RETURNS } from "../codec.ts";
import { BUSY_MS, NO_KEY, PLACE, RESUMED } from "../lines.ts";
import { chooseEqually, EQUAL, takeEqually } from "./equal-turns.ts";
import { GRANTED, TAKEN } from "./exchange.ts";
import { burstOf, busyBy, freeAt, intervalOf, ownOr, waitFor } from "./rates.ts";
import { addMoves, changed, SERVER_TIME } from "./snippets.ts";
import { costIn, keyIn, nextAwake } from "./turns.ts";

/** How many rounds a claim makes at most, and how often it waits for lines that others hold. */
const MOST_ROUNDS = 50;
const MOST_WAITS = 3;
/** With a head start that is not strict, so many lines are looked at. */
const MOST_LINES_BY_RANK = 10_000;
/** For so long after a running limit was set, claims that began before may still start jobs that are not counted. */
const RECOUNT_MS = 1000;

/** Adds charges to the state of a key, in order, under the lock of its row. */
export const absorb = (s: string, digest: string): string => `
create or replace function ${s}.absorb_${digest}(p_queue int, p_key text) returns void language plpgsql as $$
#variable_conflict use_column
declare
  v_charge record;
  v_key record;
  v_done tid[] := '{}';
begin
  select busy_until, interval_ms, held_until into v_key from ${s}.limit_key where queue = p_queue and key = p_key;
  for v_charge in select ctid as tid, at, units, interval_ms, held_until from ${s}.limit_charge where queue = p_queue and key = p_key order by at loop
    if v_charge.interval_ms is not null and v_charge.units <> 0 then
      v_key.busy_until := ${busyBy("v_key.busy_until", "v_key.interval_ms", "v_charge.interval_ms", "v_charge.at")} + v_charge.units * v_charge.interval_ms;
      v_key.interval_ms := v_charge.interval_ms;
    end if;
    v_key.held_until := greatest(v_key.held_until, v_charge.held_until);
    v_done := v_done || v_charge.tid;
  end loop;
  update ${s}.limit_key set busy_until = v_key.busy_until, interval_ms = v_key.interval_ms, held_until = v_key.held_until where queue = p_queue and key = p_key;
  delete from ${s}.limit_charge where ctid = any(v_done);
end $$;`;

/** Locks the row of a queue. False: another call has it, and this one must not wait. A queue that has no row yet gets one, and its leases are counted. */
const lockQueue = (s: string): string => `
  if not exists (select from ${s}.limit_key where queue = p_queue and key = '${NO_KEY}') then
    insert into ${s}.limit_key (queue, key, recount_since) values (p_queue, '${NO_KEY}', ${SERVER_TIME}) on conflict do nothing;
  end if;
  if p_may_wait then
    perform from ${s}.limit_key where queue = p_queue and key = '${NO_KEY}' for update;
  else
    perform from ${s}.limit_key where queue = p_queue and key = '${NO_KEY}' for update skip locked;
  end if`;

const NOT_COUNTED = (s: string): string => `r.queue = p_queue and not exists (select from ${s}.limit_holding h where h.id = r.id)`;

/**
 * Counts the leases that were granted before there was a limit, under the lock of their queue. Their rows are locked first: an end that began before
 * would not see that its lease is counted now, and leave the count behind. If such ends are under way, the next claim drops what they left.
 */
export const recount = (s: string, digest: string): string => `
create or replace function ${s}.recount_${digest}(p_queue int) returns void language plpgsql as $$
#variable_conflict use_column
declare
  v_locked int;
  v_counted int;
begin
  select count(*) into v_locked from (select from ${s}.running r where ${NOT_COUNTED(s)} for update skip locked) l;
  insert into ${s}.limit_holding (id, queue, key) select r.id, p_queue, coalesce(j.key, '${NO_KEY}') from ${s}.running r
    left join lateral (select ${keyIn("extra")} as key from ${s}.job where id = r.id and r.lane < 0 offset 0) j on true where ${NOT_COUNTED(s)} on conflict do nothing;
  get diagnostics v_counted = row_count;
  with spare as (
    delete from ${s}.limit_holding h where h.queue = p_queue and not exists (select from ${s}.running r where r.id = h.id) returning h.key
  ) insert into ${s}.limit_recheck (queue, key) select distinct p_queue, key from spare where key <> '${NO_KEY}';
  if v_counted <= v_locked then
    update ${s}.limit_key set recount_since = null
      where queue = p_queue and key = '${NO_KEY}' and recount_since < extract(epoch from clock_timestamp()) * 1000 - ${RECOUNT_MS};
  end if;
end $$;`;

/**
 * Locks a queue with a running limit until the commit, so that its claims come one after the other. Out: how many more leases it may have; null:
 * another call has it.
 */
export const room = (s: string, digest: string): string => `
create or replace function ${s}.room_${digest}(p_queue int, p_running int, p_want int, p_may_wait boolean) returns int language plpgsql as $$
#variable_conflict use_column
declare
  v_room int;
  v_key record;
begin
  ${lockQueue(s)};
  if not found then return null; end if;
  select recount_since, full_up into v_key from ${s}.limit_key where queue = p_queue and key = '${NO_KEY}';
  if v_key.recount_since is not null then
    perform ${s}.recount_${digest}(p_queue);
  end if;
  v_room := greatest(0, p_running - (select count(*) from (select from ${s}.limit_holding where queue = p_queue limit p_running) h));
  if v_key.full_up <> (v_room < p_want) then
    update ${s}.limit_key set full_up = not v_key.full_up where queue = p_queue and key = '${NO_KEY}';
  end if;
  return v_room;
end $$;`;

/** Locks a queue with limits, and finds how much may start. */
const lookAtQueue = (s: string, digest: string): string => `
  if v_running is not null then
    v_room := ${s}.room_${digest}(p_queue, v_running, v_want, p_may_wait);
    v_want := least(v_want, v_room);
  else
    ${lockQueue(s)};
    v_room := case when found then v_want end;
    if found and v_recounts then perform ${s}.recount_${digest}(p_queue); end if;
  end if;
  if v_room is null then
    out_claim := ${ASK_AGAIN};
    out_woken := array[p_claim];
    out_run_at := ${BUSY_MS};
    return next;
    return;
  end if;
  if v_interval is not null then
    if exists (select from ${s}.limit_charge where queue = p_queue and key = '${NO_KEY}') then perform ${s}.absorb_${digest}(p_queue, '${NO_KEY}'); end if;
    select ${busyBy("k.busy_until", "k.interval_ms", "v_interval", "v_now")} into v_busy from ${s}.limit_key k where k.queue = p_queue and k.key = '${NO_KEY}';
    -- A debt of another rate is counted by the new one from now on.
    update ${s}.limit_key set busy_until = v_busy, interval_ms = v_interval where queue = p_queue and key = '${NO_KEY}' and interval_ms <> v_interval;
  end if`;

/** The types with lanes at this priority (null: any), each with its lane without keys, its lane with keys, and its head start. */
const sourcesAt = (s: string): string => `
    select array_agg(plain), array_agg(keyed), array_agg(lead) into v_plain, v_keyed, v_leads from (
      select max(id) filter (where id > 0) as plain, min(id) filter (where id < 0) as keyed, min(priority) * v_queue.head_start as lead
      from ${s}.typed_lane where id = any(p_lanes || p_keyed) and (v_level is null or priority = v_level) group by type, priority order by random()) t;
      if v_turns then
        v_plain := array(select case when exists (select from ${s}.ready where lane = u.lane) then u.lane end from unnest(v_plain) with ordinality u(lane, n) order by n);
      end if`;

/** Locks the first lines of each ring. The jobs without a key are a line, too. */
const lockLines = (s: string): string => `
      select array_agg(lane), array_agg(tid) into v_ring_lanes, v_ring_tids from (
        select lane, ctid as tid from ${s}.limit_line where lane = any(v_keyed) and key = '${NO_KEY}' for update skip locked) r;
      select array_agg(src), array_agg(lane), array_agg(key), array_agg(tag), array_agg(tid), array_agg(plain), array_agg(lead)
      into v_srcs, v_line_lanes, v_keys, v_tags, v_tids, v_line_plain, v_line_leads from (
        select u.src, x.lane, x.key, x.tag, x.tid, null::int as plain, u.lead from unnest(v_keyed, v_leads) with ordinality u(lane, lead, src)
          cross join lateral (select lane, key, tag, ctid as tid from ${s}.limit_line where lane = u.lane and place = ${PLACE.ring} and key <> all(v_passed)
            order by tag limit case when v_strict then v_per else ${MOST_LINES_BY_RANK} end for update skip locked) x
        union all
        select u.src, u.lane, '${NO_KEY}', coalesce(x.tag, 0), null, u.plain, u.lead
        from unnest(v_keyed, v_plain, v_leads) with ordinality u(lane, plain, lead, src)
          left join lateral (select tag from ${s}.limit_line where lane = u.lane and key = '${NO_KEY}') x on true
        where u.plain is not null and (x.tag is null or u.lane = any(v_ring_lanes))
      ) e;
      v_clocks := array(select coalesce((select clock from ${s}.limit_line where lane = u.lane and key = '${NO_KEY}'), 0) from unnest(v_keyed) with ordinality u(lane, src) order by src)`;

/**
 * Locks the rows of limited keys. Lines whose keys others hold are passed over. Tells whether the lines are equal: see equal-turns.ts. What a
 * row says is read as it is locked, or if it is not locked, after the look for charges: a hold is a charge until a claim has added it up.
 */
const lockKeys = (s: string, digest: string): string => `
      v_charged := exists (select from ${s}.limit_charge where queue = p_queue);
      v_equal := v_turns and not v_careful and not v_charged and v_interval is null and v_key_rate is null
        and cardinality(v_keyed) = 1 and array_position(v_keys, '${NO_KEY}') is null;
      if v_key_limited then
        select array_agg(key), coalesce(bool_and(${isUsual("l")}), true) and v_equal into v_locked, v_equal from (
          select key, own, held_until from ${s}.limit_key where queue = p_queue and key = any(v_keys) and key <> '${NO_KEY}' for update skip locked) l;
        v_limited := array_remove(v_keys, '${NO_KEY}');
      else
        select array_agg(k.key) filter (where k.own is not null or (v_charged and exists (select from ${s}.limit_charge c where c.queue = p_queue and c.key = k.key))),
          coalesce(bool_and(${isUsual("k")}), true) and v_equal into v_limited, v_equal
        from ${s}.limit_key k where k.queue = p_queue and k.key = any(v_keys) and k.key <> '${NO_KEY}';
        if v_limited is not null then
          select array_agg(key) into v_locked from (
            select key from ${s}.limit_key where queue = p_queue and key = any(v_limited) for update skip locked) l;
        end if;
      end if;
      if v_limited is not null then
        v_locked := coalesce(v_locked, '{}');
        -- A key may have several lines.
        if cardinality(v_locked) < cardinality(v_limited) and exists (select unnest(v_limited) except select unnest(v_locked)) then
          v_busy_keys := true;
          v_passed := v_passed || array(select unnest(v_limited) except select unnest(v_locked));
        end if;
        if v_charged then
          perform ${s}.absorb_${digest}(p_queue, k.key)
          from ${s}.limit_key k where k.queue = p_queue and k.key = any(v_locked) and exists (select from ${s}.limit_charge c where c.queue = p_queue and c.key = k.key);
        end if;
      end if`;

/** Whether a key has neither limits of its own nor a hold. */
const isUsual = (key: string): string => `${key}.own is null and coalesce(${key}.held_until, 0) <= v_now`;

/** What a line may give, in the columns of `base`: weight, room (null: any), hold, and of its rate when all is back, interval and burst. */
const limitsOfLines = (s: string): string => `
        select e.*, coalesce((k.own::json ->> 'weight')::float8, 1) as weight, greatest(e.tag, v_clocks[e.src]) as start, h.room, h.hold, r.ivl, r.burst,
          ${busyBy("k.busy_until", "k.interval_ms", "r.ivl", "v_now")} as busy
        from unnest(v_srcs, v_line_lanes, v_keys, v_tags, v_line_plain, v_line_leads) with ordinality e(src, lane, key, tag, plain, lead, ord)
        left join lateral (select * from ${s}.limit_key where queue = p_queue and key = e.key offset 0) k on true
        cross join lateral (select case when e.key <> '${NO_KEY}' then ${ownOr("k.own::jsonb", "running", "int", "v_key_running")} end as cap,
          case when e.key <> '${NO_KEY}' then ${ownOr("k.own::jsonb", "rate", "jsonb", "v_key_rate")} end as rate offset 0) l
        cross join lateral (select ${intervalOf("l.rate")} as ivl, ${burstOf("l.rate")} as burst offset 0) r
        cross join lateral (select
          case when l.cap is not null then greatest(0, l.cap - (select count(*) from (select from ${s}.limit_holding where queue = p_queue and key = e.key limit l.cap) c))::int end as room,
          case when e.key <> '${NO_KEY}' then nullif(greatest(k.held_until, case when v_charged then (select max(held_until) from ${s}.limit_charge where queue = p_queue and key = e.key) end, v_now), v_now) end as hold
          offset 0) h
        where e.key <> all(v_passed)`;

/** Chooses jobs in order, and cuts them to what keys and queue let start. */
const choose = (s: string): string => `
      with base as materialized (${limitsOfLines(s)}
      ), share as materialized (
        select b.*, case when b.room = 0 or b.hold is not null then 0 else least(v_per, b.room,
          case when v_turns then least(v_per, floor((b.top + case when b.free < v_per then v_per / b.weights else 0 end - b.start) * b.weight) + 1)::int end) end as most
        from (
          select *, max(start) filter (where is_free) over w as top, count(*) filter (where is_free) over w as free, sum(weight) filter (where is_free) over w as weights
          from (select *, coalesce(room, 1) > 0 and hold is null as is_free from base) f window w as (partition by src)
        ) b
      ), head as materialized (
        select s.ord, s.src, s.key, s.lead, s.room, s.ivl, s.burst, s.busy, s.start + (x.nth - 1) / s.weight as at, x.tid, x.lined, x.id, x.run_at, x.seq, x.cost
        from share s cross join lateral (
          select d.*, row_number() over (order by d.run_at, d.seq) as nth from (
            select r.tid, d.ctid as lined, d.id, d.run_at, d.seq, d.cost from ${s}.limit_lined d
              cross join lateral (select ctid as tid from ${s}.ready where lane = d.lane and run_at = d.run_at and seq = d.seq offset 0) r
            where d.lane = s.lane and d.key = s.key order by d.run_at, d.seq limit s.most) d
        ) x where s.plain is null and s.most > 0
        union all
        select s.ord, s.src, s.key, s.lead, null, null, null, null, s.start + (x.nth - 1) / s.weight, x.tid, null, x.id, x.run_at, x.seq,
          case when v_interval is null then 1 when x.turn = ${RESUMED} then 0 else (select ${costIn("j.extra")} from ${s}.job j where j.id = x.id) end
        from share s cross join lateral (
          select r.*, row_number() over (order by r.run_at, r.seq) as nth from (
            select ctid as tid, id, run_at, seq, turn from ${s}.ready where lane = s.plain order by run_at, seq limit s.most for update skip locked) r
        ) x where s.plain is not null
      ), ordered as (
        select *, row_number() over (order by case when v_turns then nth_of_type else run_at - lead end, case when v_turns then src else seq end) as o
        from (select *, row_number() over (partition by src order by at, seq) as nth_of_type from head) h
      ), by_key as (
        select *, coalesce(row_number() over k <= room, true) as has_room, ${freeAt("busy + (sum(cost) over k - cost) * ivl", "ivl", "burst", "cost")} <= v_now as has_rate
        from ordered window k as (partition by key order by o)
      ), kept as (
        select *, row_number() over w as n, ${freeAt("v_busy + (sum(cost) over w - cost) * v_interval", "v_interval", "v_burst", "cost")} as free_at
        from (select *, bool_and(coalesce(has_rate, true)) over (partition by key order by o) as in_rate from by_key) b
        where has_room and in_rate window w as (order by o)
      ), final as (
        select *, coalesce(bool_and(free_at <= v_now) over (order by n), true) as is_ok from kept where n <= v_want
      )
      select array_agg(tid order by n) filter (where is_ok), array_agg(lined order by n) filter (where is_ok), array_agg(id order by n) filter (where is_ok),
        array_agg(ord order by n) filter (where is_ok), array_agg(key order by n) filter (where is_ok), array_agg(cost order by n) filter (where is_ok),
        array_agg(at order by n) filter (where is_ok), (array_agg(${waitFor("free_at", "v_now")} order by n) filter (where not is_ok))[1],
        (select array_agg(ord order by ord) from base), (select array_agg(start order by ord) from base), (select array_agg(weight order by ord) from base),
        (select array_agg(room order by ord) from base), (select array_agg(hold order by ord) from base), (select array_agg(busy order by ord) from base),
        (select array_agg(ivl order by ord) from base), (select array_agg(burst order by ord) from base)
      into t_tids, t_lined, t_ids, t_lines, t_keys, t_costs, t_starts, v_wait, b_ords, b_starts, b_weights, b_rooms, b_holds, b_busy, b_ivls, b_bursts
      from final`;

/** Moves the chosen jobs. One that somebody holds, to cancel it, stays. */
const move = (s: string): string => `
        with gone as (
          delete from ${s}.ready where ctid = any(array(select ctid from ${s}.ready where ctid = any(t_tids) for update skip locked)) returning ${TAKEN}
        ), counted as (${addMoves(s, { moved: "gone", queue: "v_queue.id", from: STATE.pending, to: STATE.running })})
        insert into ${s}.running select ${changed("s", GRANTED)} from gone s;
        get diagnostics v_got = row_count;
        if v_got < cardinality(t_ids) then
          select array_agg(lined order by n), array_agg(id order by n), array_agg(line order by n), array_agg(key order by n), array_agg(cost order by n), array_agg(start order by n)
          into t_lined, t_ids, t_lines, t_keys, t_costs, t_starts
          from unnest(t_lined, t_ids, t_lines, t_keys, t_costs, t_starts) with ordinality u(lined, id, line, key, cost, start, n)
          where exists (select from ${s}.running r where r.id = u.id and r.worker = p_worker);
        end if`;

/** Writes what the chosen jobs hold and take, and answers them in order. */
const keepAccounts = (s: string): string => `
          delete from ${s}.limit_lined where ctid = any(t_lined);
          insert into ${s}.limit_holding (id, queue, key) select id, p_queue, key from unnest(t_ids, t_keys, t_lines) u(id, key, line)
            where v_running is not null or (key <> '${NO_KEY}' and (v_key_running is not null or b_rooms[array_position(b_ords, line::bigint)] is not null)) on conflict do nothing;
          if v_turns then
            update ${s}.limit_line x set clock = greatest(x.clock, c.start), tag = coalesce(c.tag, x.tag) from (
              select v_line_lanes[line] as lane, max(start) as start, max(start + 1 / b_weights[array_position(b_ords, line::bigint)]) filter (where key = '${NO_KEY}') as tag
              from unnest(t_lines, t_keys, t_starts) u(line, key, start) group by 1) c
            where x.lane = c.lane and x.key = '${NO_KEY}' and x.ctid = any(v_ring_tids);
          end if;
          if v_interval is not null then
            v_busy := v_busy + (select sum(cost) from unnest(t_costs) u(cost)) * v_interval;
            update ${s}.limit_key set busy_until = v_busy, interval_ms = v_interval where queue = p_queue and key = '${NO_KEY}';
          end if;
          return query select p_claim, null::smallint[], null::int[], v_queue.dead_letters, ${JOB_COLUMNS}
            from unnest(t_ids) u(id) cross join lateral (select * from ${s}.running where id = u.id offset 0) s
            cross join lateral (select * from ${s}.job where id = u.id offset 0) j`;

/** Where each line of the round stands now, and what the rates of its keys remember. */
const placeLines = (s: string): string => `
        with given as materialized (
          select ord, sum(taken) as taken, sum(spent) as spent from (
            select ord, 0 as taken, 0 as spent from unnest(b_ords) b(ord)
            union all select line, 1, cost from unnest(t_lines, t_costs) u(line, cost)) g group by ord
        ), of_key as materialized (
          select ord, taken, nth, v_line_lanes[ord] as lane, v_keys[ord] as key, sum(taken) over k as key_taken, sum(spent) over k as key_spent
          from (select *, row_number() over (order by ord) as nth from given) g where v_keys[ord] <> '${NO_KEY}' window k as (partition by v_keys[ord])
        ), now_at as materialized (
          select o.*, h.cost as next, b_rooms[nth] as room, b_holds[nth] as hold,
            ${waitFor(freeAt("(b_busy[nth] + key_spent * b_ivls[nth])", "b_ivls[nth]", "b_bursts[nth]", "h.cost"), "v_now")} as wait
          from of_key o left join lateral (select d.cost from ${s}.limit_lined d
            where d.lane = o.lane and d.key = o.key and (o.taken > 0 or exists (select from ${s}.ready r where r.id = d.id)) order by d.run_at, d.seq limit 1) h on true
        ), rated as (
          update ${s}.limit_key k set busy_until = r.busy, interval_ms = r.ivl
          from (
            select l.tid, b_busy[o.nth] + o.key_spent * b_ivls[o.nth] as busy, b_ivls[o.nth] as ivl, o.key_spent
            from (select distinct on (key) key, nth, key_spent from of_key where b_ivls[nth] is not null) o
              cross join lateral (select ctid as tid from ${s}.limit_key where queue = p_queue and key = o.key offset 0) l) r
          where k.ctid = r.tid and (r.key_spent > 0 or k.interval_ms <> r.ivl)
        ), moved as (
          update ${s}.limit_line x set tag = coalesce(m.tag, x.tag), place = m.place, until = m.until
          from (
            select v_tids[ord] as tid, case when v_turns and taken > 0 then b_starts[nth] + taken / b_weights[nth] end as tag,
              case when next is null then ${PLACE.idle} when hold is not null then ${PLACE.asleep} when room - key_taken <= 0 then ${PLACE.parked}
                when wait > 0 then ${PLACE.asleep} else ${PLACE.ring} end as place,
              case when next is null then null when hold is not null then hold when room - key_taken <= 0 then null when wait > 0 then v_now + wait end as until
            from now_at) m
          where x.ctid = m.tid and (m.place <> ${PLACE.ring} or m.tag is not null)
          returning 1
        ) select count(*) into v_moved from moved`;

/**
 * Takes up to p_want jobs of a queue with limits or limit keys, from lanes without keys (p_lanes) and with keys (p_keyed, or null). `p_may_wait`:
 * the call holds no line and no queue yet. `p_folded`: it has folded the rechecks of the queue. Out: as `exchange`; and one row with claim -3 that has the number of the claim, and as
 * run_at in how many milliseconds to ask again, or null.
 */
export const take = (s: string, digest: string): string => `
create or replace function ${s}.take_${digest}(p_now bigint, p_claim int, p_queue int, p_lanes int[], p_keyed int[], p_want int, p_lease bigint, p_turn bigint, p_worker text, p_may_wait boolean, p_folded boolean)
  returns table (out_claim int, out_settled smallint[], out_woken int[], out_dead_letters boolean, ${JOB_RETURNS}) language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := p_now;
  v_queue record;
  v_claim record;
  v_limits jsonb;
  v_want int := p_want;
  v_running int;
  v_room int;
  v_interval float8;
  v_burst float8;
  v_busy float8;
  v_key_running int;
  v_key_rate jsonb;
  v_key_limited boolean;
  v_recounts boolean;
  v_strict boolean;
  v_turns boolean;
  v_folded boolean := p_folded;
  v_busy_keys boolean := false;
  v_waits int := 0;
  v_holds boolean := false;
  v_rounds int := 0;
  v_total int := 0;
  v_level int;
  v_per int;
  v_wait bigint;
  v_again bigint;
  v_got int;
  v_moved int;
  v_charged boolean;
  v_equal boolean;
  v_careful boolean := false;
  v_plain int[]; v_keyed int[]; v_leads bigint[]; v_clocks float8[];
  v_ring_lanes int[]; v_ring_tids tid[];
  v_srcs bigint[]; v_line_lanes int[]; v_keys text[]; v_tags float8[]; v_tids tid[]; v_line_plain int[]; v_line_leads bigint[];
  v_limited text[]; v_locked text[]; v_passed text[] := '{}';
  t_tids tid[]; t_lined tid[]; t_ids uuid[]; t_lines bigint[]; t_keys text[]; t_costs int[]; t_starts float8[];
  b_ords bigint[]; b_starts float8[]; b_weights float8[]; b_rooms int[]; b_holds bigint[]; b_busy float8[]; b_ivls float8[]; b_bursts float8[];
  ${EQUAL}
begin
  select p_lease as lease, p_turn as turn, p_worker as worker into v_claim;
  select id, head_start, dead_letters, limits into v_queue from ${s}.queue where id = p_queue;
  v_limits := v_queue.limits::jsonb;
  v_running := (v_limits ->> 'running')::int;
  v_interval := ${intervalOf("(v_limits -> 'rate')")};
  v_burst := ${burstOf("(v_limits -> 'rate')")};
  v_key_running := (v_limits -> 'perKey' ->> 'running')::int;
  v_key_rate := nullif(v_limits -> 'perKey' -> 'rate', 'null');
  v_key_limited := v_key_running is not null or v_key_rate is not null;
  v_strict := v_queue.head_start = ${STRICT_HEAD_START_MS};
  -- A limit was set: leases that were granted without it are counted first.
  v_recounts := coalesce((select recount_since is not null from ${s}.limit_key where queue = p_queue and key = '${NO_KEY}'), v_limits is not null);
  if v_running is not null or v_interval is not null or v_recounts then
    ${lookAtQueue(s, digest)};
  end if;

  loop
    if p_keyed is not null and v_waits > 0 then v_folded := ${s}.fold_turns_${digest}(p_queue, v_now); end if;
    v_turns := v_strict and exists (select from ${s}.limit_line where lane = any(p_keyed) and place = ${PLACE.ring});
    for v_level in select distinct case when v_turns then priority end from ${s}.lane where id = any(p_lanes || p_keyed) order by 1 desc loop
      ${sourcesAt(s)};
      loop
        exit when v_want <= 0 or v_wait is not null or v_rounds >= ${MOST_ROUNDS};
        v_rounds := v_rounds + 1;
        v_per := case when v_turns then (v_want + cardinality(v_plain) - 1) / cardinality(v_plain) else v_want end;
        ${lockLines(s)};
        exit when v_keys is null;
        v_holds := v_holds or cardinality(array_remove(v_tids, null)) > 0;
        -- Others have the row of a ring, and with it the turn of its jobs without a key.
        if cardinality(array_remove(v_plain, null)) > 0 and (select count(*) from ${s}.limit_line where lane = any(v_keyed) and key = '${NO_KEY}') > coalesce(cardinality(v_ring_lanes), 0) then
          v_busy_keys := true;
        end if;
        ${lockKeys(s, digest)};
        v_got := 0;
        v_moved := 0;
        if v_equal then
          ${chooseEqually(s)};
          ${takeEqually(s)};
        else
          ${choose(s)};
          if t_ids is not null then
            ${move(s)};
            if v_got > 0 then
              ${keepAccounts(s)};
            end if;
          end if;
          if v_tids is not null and b_ords is not null then
            ${placeLines(s)};
          end if;
        end if;
        v_want := v_want - v_got;
        v_total := v_total + v_got;
        exit when v_got = 0 and v_moved = 0;
      end loop;
    end loop;
    exit when v_want <= 0 or v_total > 0 or v_wait is not null or not p_may_wait or v_holds or v_waits >= ${MOST_WAITS};
    exit when v_folded and not v_busy_keys and not exists (select from ${s}.limit_line where lane = any(p_keyed) and place = ${PLACE.ring} and key <> all(v_passed));
    -- Others hold what may start, and end in a moment. Not while this call holds lines: two such calls would wait for each other.
    v_waits := v_waits + 1;
    v_passed := '{}';
    v_busy_keys := false;
    perform from ${s}.limit_line where lane = any(p_keyed) and place = ${PLACE.ring} order by lane, tag limit 1 for update;
  end loop;

  v_again := coalesce(v_wait, case when p_keyed is not null then ${nextAwake(s, "p_queue")} end);
  if v_want > 0 and v_wait is null and p_keyed is not null and (not v_folded or v_busy_keys or v_rounds >= ${MOST_ROUNDS} or exists (
    select from ${s}.limit_line where lane = any(p_keyed) and place = ${PLACE.ring} and key <> all(v_passed))) then
    v_again := least(v_again, ${BUSY_MS});
  end if;
  out_claim := ${ASK_AGAIN};
  out_settled := null;
  out_woken := array[p_claim];
  out_run_at := v_again;
  return next;
end $$;`;
