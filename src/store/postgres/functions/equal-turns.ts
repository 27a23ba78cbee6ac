/**
 * TAKING JOBS OF LINES THAT ARE EQUAL: all of the round are of one type, with limit keys, the usual weight, and no rate, hold or limits of their own. This is the
 * usual case, and hot: it chooses and takes as take.ts does, with less work for each job. What take.ts does for all lines decides what is right.
 *
 * Jobs are read from their lines alone. Whether they are still pending shows when they are taken: a row that a version before left behind, or a job
 * that somebody holds, to cancel it, is not taken. Its line then stays in the ring, and the next round is a careful one.
 */
import { STATE } from "../../numbers.ts";
import { PLACE } from "../lines.ts";
import { ANSWERED, GRANTED, hold, TAKEN } from "./exchange.ts";
import { addMoves, changed } from "./snippets.ts";

/** The variables of these statements, beside those of `take`. */
export const EQUAL = `t_runs bigint[]; t_seqs bigint[];
  m_lines bigint[]; m_tids tid[]; m_tags float8[]; m_places smallint[];`;

/** How many more jobs of a key may run; null: any number. */
const roomOf = (s: string): string =>
  `case when v_key_running is not null then greatest(0, v_key_running - (select count(*) from (
          select from ${s}.limit_holding where queue = p_queue and key = e.key limit v_key_running) c))::int end`;

/**
 * Chooses jobs in order, and where each line stands afterwards. One job more than a line may give is read: it tells whether the line is empty then.
 * Cost: the lines and the jobs that they may give; of a limited key also what it holds.
 */
export const chooseEqually = (s: string): string => `
        with line as materialized (
          select ord, key, start, room, case when room = 0 then 0 else least(v_per, room, floor(top + case when free < v_per then v_per::float8 / free else 0 end - start) + 1)::int end as most
          from (
            select *, max(start) filter (where room is distinct from 0) over () as top, count(*) filter (where room is distinct from 0) over () as free
            from (
              select e.ord, e.key, greatest(e.tag, v_clocks[1]) as start, ${roomOf(s)} as room
              from unnest(v_keys, v_tags) with ordinality e(key, tag, ord) where v_passed = '{}' or e.key <> all(v_passed) offset 0) e) e
        ), head as (
          select ord, room, start + nth - 1 as at, id is not null and nth <= most as may, lined, id, run_at, seq from (
            select l.ord, l.start, l.room, l.most, x.*, row_number() over (partition by l.ord order by x.run_at, x.seq) as nth
            from line l left join lateral (
              select ctid as lined, id, run_at, seq from ${s}.limit_lined where lane = v_keyed[1] and key = l.key order by run_at, seq limit l.most + 1) x on true) h
        ), numbered as materialized (
          select *, may and row_number() over (order by may desc, at, seq) <= v_want as is_taken from head
        ), taken as (
          select array_agg(lined) as lined, array_agg(id) as ids, array_agg(ord) as lines, array_agg(run_at) as runs, array_agg(seq) as seqs
          from (select lined, id, ord, run_at, seq from numbered where is_taken order by at, seq) t
        ), placed as (
          select array_agg(ord) as ords, array_agg(v_tids[ord]) as tids, array_agg(tag) as tags, array_agg(place) as places from (
            select ord, case when taken > 0 then start + taken end as tag,
              (case when found <= taken then ${PLACE.idle} when room <= taken then ${PLACE.parked} else ${PLACE.ring} end)::smallint as place
            from (
              select ord, min(at) as start, min(room) as room, count(*) filter (where is_taken) as taken, count(id) as found from numbered group by ord) n
          ) p where tag is not null or place <> ${PLACE.ring}
        )
        select lined, ids, lines, runs, seqs, ords, tids, tags, places into t_lined, t_ids, t_lines, t_runs, t_seqs, m_lines, m_tids, m_tags, m_places from taken cross join placed`;

/** Moves the chosen jobs, notes what they hold, and answers them in order. */
const takeChosen = (s: string): string => `
          return query with chosen as materialized (
            select u.n, u.lined, v_keys[u.line] as key, r.tid from unnest(t_runs, t_seqs, t_lined, t_lines) with ordinality u(run_at, seq, lined, line, n)
              cross join lateral (select ctid as tid from ${s}.ready where lane = v_keyed[1] and run_at = u.run_at and seq = u.seq for update skip locked) r
          ), gone as (
            delete from ${s}.ready using chosen c where ready.ctid = c.tid returning c.n, c.lined, c.key as limit_key, ${TAKEN}
          ), moved as (
            insert into ${s}.running select ${changed("s", GRANTED)} from gone s
          ), unlined as (
            delete from ${s}.limit_lined d using gone g where d.ctid = g.lined
          ), held as (
            ${hold(s, "gone", "limit_key", "(v_running is not null or v_key_running is not null)")}
          ), counted as (${addMoves(s, { moved: "gone", queue: "v_queue.id", from: STATE.pending, to: STATE.running })})
          select p_claim, null::smallint[], null::int[], v_queue.dead_letters, ${ANSWERED}
          from (select * from gone order by n offset 0) s cross join lateral (select * from ${s}.job where id = s.id offset 0) j;
          get diagnostics v_got = row_count`;

/** Some of the chosen jobs were not taken: each line only gets the tag of what it gave, and stays in the ring. */
const keepTaken = (s: string): string => `
            v_careful := true;
            select array_agg(m.line), array_agg(m.tid), array_agg(m.tag - coalesce(l.lost, 0)), array_agg(${PLACE.ring}) into m_lines, m_tids, m_tags, m_places
            from unnest(m_lines, m_tids, m_tags) m(line, tid, tag) left join (
              select u.line, count(*) as lost from unnest(t_ids, t_lines) u(id, line)
              where not exists (select from ${s}.running r where r.id = u.id and r.worker = p_worker) group by u.line) l on l.line = m.line
            where m.tag is not null`;

/** Takes what was chosen, and puts the lines where they stand now. The time of a ring is its last start: a line started last one before its tag. */
export const takeEqually = (s: string): string => `
        if t_ids is not null then
          ${takeChosen(s)};
          if v_got < cardinality(t_ids) then
            ${keepTaken(s)};
          end if;
          update ${s}.limit_line set clock = greatest(clock, (select max(tag) - 1 from unnest(m_tags) m(tag))) where ctid = any(v_ring_tids);
        end if;
        update ${s}.limit_line x set tag = coalesce(m.tag, x.tag), place = m.place from unnest(m_tids, m_tags, m_places) m(tid, tag, place) where x.ctid = m.tid;
        get diagnostics v_moved = row_count`;
