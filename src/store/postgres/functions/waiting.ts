/** Positions of pending jobs. Read from the heads of lanes, or counted up to a limit. */
import { NOW, PLANNED } from "./snippets.ts";

/**
 * Out: each queue and type with pending jobs, and when the longest due of them was due; and a row without a queue that has the time. Jumps
 * from lane to lane in the index, however many jobs each has.
 */
export const oldest = (s: string, digest: string): string => `
create or replace function ${s}.oldest_${digest}(p_now bigint) returns table (out_queue text, out_type text, out_run_at bigint) stable ${PLANNED} as $$
#variable_conflict use_column
begin
  return query
    with recursive head (lane, run_at) as (
      (select r.lane, r.run_at from ${s}.ready r order by r.lane, r.run_at limit 1)
      union all
      select n.lane, n.run_at from head h cross join lateral (
        select r.lane, r.run_at from ${s}.ready r where r.lane > h.lane order by r.lane, r.run_at limit 1) n
    ) select q.name, l.type, min(h.run_at) from head h join ${s}.typed_lane l on l.id = h.lane join ${s}.queue q on q.id = l.queue
      group by q.name, l.type;
  out_run_at := ${NOW};
  return next;
end $$;`;

/**
 * In: id, types (null: any), most. Out: how many pending jobs of its queue and these types would be claimed before it; null if it is not
 * pending. In a lane of another priority, a job of the same rank is where that priority's head start puts it.
 */
export const ahead = (s: string, digest: string): string => `
create or replace function ${s}.ahead_${digest}(p_id uuid, p_types text[], p_most int) returns int stable ${PLANNED} as $$
#variable_conflict use_column
declare
  v_job record;
  v_count int;
begin
  select r.seq, r.queue, q.head_start, r.run_at - r.priority * q.head_start as rank into v_job
    from ${s}.ready r join ${s}.queue q on q.id = r.queue where r.id = p_id;
  if not found then return null; end if;
  select count(*) into v_count from (
    select from ${s}.typed_lane l cross join lateral (
      select from ${s}.ready r where r.lane = l.id and (r.run_at, r.seq) < (v_job.rank + l.priority * v_job.head_start, v_job.seq)
      order by r.run_at, r.seq limit p_most) earlier
    where l.queue = v_job.queue and (p_types is null or l.type = any(p_types)) limit p_most) counted;
  return v_count;
end $$;`;
