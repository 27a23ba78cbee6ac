/** Calls of a lease's holder: extend it, write progress and log lines. */
import { MAX_LOG_LINES } from "../../../core/job.ts";
import { leaveHeldLeasesOut, refusals } from "./exchange.ts";
import { byKey, NOW, PLANNED, SHORT_LOCK_TIMEOUT } from "./snippets.ts";

/** In: leases as columns. Out: an answer for each, as in `refusals`; null: all were extended. `p_careful`: leaves out, as in `exchange`. */
export const extend = (s: string, digest: string): string => `
create or replace function ${s}.extend_${digest}(p_now bigint, p_careful boolean, p_ids uuid[], p_fences int[], p_leases bigint[]) returns smallint[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_done int[];
  v_held uuid[] := '{}';
begin
  ${SHORT_LOCK_TIMEOUT};
  if p_careful then
    ${leaveHeldLeasesOut(s, "select id, fence from unnest(p_ids, p_fences) i(id, fence)")};
  end if;
  with extended as (
    update ${s}.running r set lease_until = v_now + i.lease
    from unnest(p_ids, p_fences, p_leases) with ordinality i(id, fence, lease, ord)
    where ${byKey("r.id", "i.id")} and r.fence = i.fence and r.id <> all(v_held)
    returning i.ord
  ) select array_agg(ord) into v_done from extended;
  if cardinality(v_done) = cardinality(p_ids) then return null; end if;
  return (${refusals(
    s,
    `select ord, id, fence, null::bigint as mark, coalesce(ord = any(v_done), false) as done, false as if_expired
     from unnest(p_ids, p_fences) with ordinality i(id, fence, ord)`,
  )});
end $$;`;

const NOTES = "json_to_recordset(p_notes) as i(ord int, id uuid, fence int, new_progress text, lines json)";

/**
 * In: `p_ours`: false in a caller's transaction, which waits for rows as the caller says; notes as JSON, no lease twice. Out: as `extend`.
 * Lines beyond the limit of a job are dropped.
 */
export const note = (s: string, digest: string): string => `
create or replace function ${s}.note_${digest}(p_now bigint, p_ours boolean, p_careful boolean, p_notes json) returns smallint[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_done int[];
  v_held uuid[] := '{}';
begin
  if p_ours then ${SHORT_LOCK_TIMEOUT}; end if;
  if p_careful then
    ${leaveHeldLeasesOut(s, `select id, fence from ${NOTES}`)};
  end if;
  with held as materialized (
    select i.ord, i.new_progress, i.lines, r.id, r.attempt, r.log_count
    from ${NOTES} join ${s}.running r on ${byKey("r.id", "i.id")} and r.fence = i.fence and r.id <> all(v_held) order by i.id for update of r
  ), line as materialized (
    select h.id, h.attempt, h.log_count + l.nth as number, l.text
    from held h cross join lateral json_array_elements_text(h.lines) with ordinality l(text, nth)
    where h.log_count + l.nth <= ${MAX_LOG_LINES}
  ), written as (
    insert into ${s}.log (job, number, at, attempt, text) select id, number, v_now, attempt, text from line
  ), said as (
    update ${s}.running r set log_count = least(${MAX_LOG_LINES}, h.log_count + json_array_length(h.lines)),
      progress = coalesce(h.new_progress, r.progress), updated_at = case when h.new_progress is null then r.updated_at else v_now end
    from held h where ${byKey("r.id", "h.id")}
  )
  select array_agg(ord) into v_done from held;
  if cardinality(v_done) = json_array_length(p_notes) then return null; end if;
  return (${refusals(s, `select ord, id, fence, null::bigint as mark, coalesce(ord = any(v_done), false) as done, false as if_expired from ${NOTES}`)});
end $$;`;
