/** Packed histograms of hours (see packed-times.ts), and those of the minutes that `sweep` has not moved yet. */
import { HOUR_MS } from "../../../core/time-units.ts";
import { BUCKETS_PER_TYPE, MOVED_STEP, STEP } from "../../numbers.ts";
import { WHOLE_QUEUE } from "../../packed-times.ts";
import { freshTypes, isBucket, NOW, PLANNED_FREELY, typeIn, untyped } from "./snippets.ts";

const PACKED = "string_agg(metric || ':' || amount, ' ')";

/**
 * Adds moved cells (at, queue, metric, amount) to their hours: of their type, and of their whole queue.
 * Cost: one row for each type and hour that has moved cells, and one for each queue and hour.
 */
export const packTimes = (s: string, moved: string): string => `
  insert into ${s}.hour_times (queue, type, at, times)
  select queue, type, at, ${PACKED} from (
    select m.queue, t.type, m.at - m.at % ${HOUR_MS} as at, ${untyped("m.metric")} as metric, sum(m.amount)::bigint as amount
    from ${moved} m cross join lateral (values (${typeIn("m.metric")}), (${WHOLE_QUEUE})) t(type) group by 1, 2, 3, 4
  ) cells group by 1, 2, 3 order by 1, 2, 3
  on conflict (queue, type, at) do update set times = (select ${PACKED} from (
    select split_part(pair, ':', 1) as metric, sum(split_part(pair, ':', 2)::bigint)::bigint as amount
    from unnest(string_to_array(hour_times.times || ' ' || excluded.times, ' ')) p(pair) group by 1
  ) cells)`;

/**
 * In: queue (null: all), whether by type, only this type (null: all), from, to.
 * Out: queue, type (null: not by type), start of the hour, packed histograms; and a row without a queue whose start is the time.
 * Cost: one row for each hour and type, or for each hour alone; and the cells of the minutes that are not moved yet.
 */
export const hourTimes = (s: string, digest: string): string => `
create or replace function ${s}.hour_times_${digest}(p_now bigint, p_queue text, p_by_type boolean, p_type text, p_from bigint, p_to bigint)
  returns table (out_queue text, out_type text, out_at bigint, out_times text) ${PLANNED_FREELY} as $$
#variable_conflict use_column
declare
  v_queues int[] := array(select id from ${s}.queue where p_queue is null or name = p_queue);
  -- The numbers of the wanted types; 0: types that are not counted on their own.
  v_types int[] := case when not p_by_type then array[${WHOLE_QUEUE}] else array(select distinct l.counted_as from ${s}.typed_lane l
    where l.queue = any(v_queues) and l.counted_as > 0 and (p_type is null or l.type = p_type)) || case when p_type is null then 0 end end;
  -- In one queue, a type has one number.
  v_low int := case when p_queue is not null and p_type is not null then coalesce(v_types[1], 0) * ${BUCKETS_PER_TYPE} else 0 end;
  v_high int := case when p_queue is not null and p_type is not null then v_low + ${BUCKETS_PER_TYPE - 1} else 32767 end;
  v_since bigint := greatest(p_from, coalesce((select amount from ${s}.count where step = ${MOVED_STEP}), 0));
begin
  return query
    with ${freshTypes(s)}
    , cell as (
      select queue, null::text as type, ${typeIn("metric")} as number, at - at % ${HOUR_MS} as at, ${untyped("metric")} as metric, amount
      from ${s}.count where step = ${STEP.minute} and at >= v_since and queue = any(v_queues) and metric between v_low and v_high and ${isBucket("metric")}
      union all
      select c.queue, case when f.number > 0 then l.type end, coalesce(l.counted_as, 0), c.at - c.at % ${HOUR_MS}, c.metric, c.amount
      from ${s}.cell c left join ${s}.typed_lane l on l.id = c.lane
        left join fresh_type f on l.counted_as is null and f.queue = l.queue and f.type = l.type where c.queue = any(v_queues) and ${isBucket("c.metric")}
    ), sums as (
      select queue, case when p_by_type then type end as type, case when p_by_type then number end as number, at, metric, sum(amount)::bigint as amount
      from cell where at >= p_from and at < p_to group by 1, 2, 3, 4, 5
    ), hour as (
      select queue, type, number, at, ${PACKED} as times from sums group by 1, 2, 3, 4
      union all
      select queue, null, type, at, times from ${s}.hour_times where queue = any(v_queues) and type = any(v_types) and at >= p_from and at < p_to
    )
    select q.name, coalesce(h.type, n.type), h.at, h.times
    from hour h join ${s}.queue q on q.id = h.queue
      left join (select distinct queue, counted_as, type from ${s}.typed_lane where p_by_type and counted_as > 0 and queue = any(v_queues)) n
        on n.queue = h.queue and n.counted_as = h.number
    where p_type is null or coalesce(h.type, n.type) = p_type;
  out_at := ${NOW};
  return next;
end $$;`;
