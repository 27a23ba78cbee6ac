/** Steps of jobs: their holders keep and read them, others end them. See "Jobs do durable work" in store.ts, and step-tables.ts. */
import { MAX_STEPS, MAX_STEPS_BYTES, MAX_STEPS_READ_BYTES } from "../../../core/steps.ts";
import { STATE, STEP_KIND, STEP_STATE } from "../../numbers.ts";
import { KEPT_FULL, STEP_ENDED } from "../answers.ts";
import { PLACES } from "../tables.ts";
import { leaveHeldLeasesOut, refusals } from "./exchange.ts";
import { lifeIn, markSteps } from "./step-marks.ts";
import { addDeltas, byKey, changed, NOW, PLANNED, SHORT_LOCK_TIMEOUT, tallyOf } from "./snippets.ts";

const LEASES = "unnest(p_ids, p_fences) with ordinality i(id, fence, ord)";
/** The steps to keep, each with the number of its lease. No lease has a name twice. */
const KEPT = "unnest(p_ords, p_names, p_kinds, p_states, p_untils, p_values, p_details) k(ord, name, kind, state, until, value, detail)";

/** The bytes of a value. The server knows them without reading it. */
const bytesOf = (value: string): string => `coalesce(octet_length(${value}), 0)`;

/**
 * In: whether to leave out leases whose rows others hold; leases as columns, none twice; steps as columns.
 * Out: an answer for each lease, as in `refusals`, or KEPT_FULL; null: all were kept.
 * Cost: all steps of these jobs are counted, but their values are not read.
 */
export const keepSteps = (s: string, digest: string): string => `
create or replace function ${s}.keep_steps_${digest}(p_now bigint, p_careful boolean, p_ids uuid[], p_fences int[], p_ords int[], p_names text[], p_kinds smallint[],
  p_states smallint[], p_untils bigint[], p_values text[], p_details text[]) returns smallint[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_held uuid[] := '{}';
  v_ids uuid[];
  v_ords int[];
  v_attempts int[];
  v_full int[];
begin
  ${SHORT_LOCK_TIMEOUT};
  if p_careful then
    ${leaveHeldLeasesOut(s, "select id, fence from unnest(p_ids, p_fences) i(id, fence)")};
  end if;
  with held as materialized (
    select i.ord, r.id, r.attempt from ${LEASES} join ${s}.running r on ${byKey("r.id", "i.id")} and r.fence = i.fence and r.id <> all(v_held)
    order by i.id for update of r
  ) select coalesce(array_agg(id), '{}'), coalesce(array_agg(ord), '{}'), array_agg(attempt) into v_ids, v_ords, v_attempts from held;
  v_full := array(
    select h.ord from unnest(v_ids, v_ords) h(id, ord)
    cross join lateral (select count(*) as steps, sum(${bytesOf("k.value")}) as bytes from ${KEPT} where k.ord = h.ord) n
    cross join lateral (select count(*) as all_steps, count(*) filter (where is_other) as steps, coalesce(sum(bytes) filter (where is_other), 0) as bytes
      from (select ${bytesOf("t.value")} as bytes, not exists (select from ${KEPT} where k.ord = h.ord and k.name = t.name) as is_other
        from ${s}.step t where t.job = h.id) t) t
    where n.steps + t.steps > greatest(${MAX_STEPS}, t.all_steps) or n.bytes + t.bytes > ${MAX_STEPS_BYTES});
  insert into ${s}.step (job, name, kind, state, value, until, started_at, ended_at, attempt, detail)
  select h.id, k.name, k.kind, k.state, k.value, v_now + k.until, v_now, case when k.state <> ${STEP_STATE.open} then v_now end, h.attempt, k.detail
  from unnest(v_ids, v_ords, v_attempts) h(id, ord, attempt) join ${KEPT} on k.ord = h.ord where h.ord <> all(v_full)
  on conflict (job, name) do update set kind = excluded.kind, state = excluded.state, value = excluded.value, ended_at = excluded.ended_at, ended_by = null,
    detail = excluded.detail, until = case when excluded.state = ${STEP_STATE.open} and step.state = ${STEP_STATE.open} then step.until else excluded.until end;
  v_ids := array(select h.id from unnest(v_ids, v_ords) h(id, ord) where h.ord <> all(v_full));
  ${markSteps(s, "v_ids")};
  update ${s}.running set retry_count = 0, lost_count = 0, updated_at = v_now where id = any(v_ids);
  if cardinality(v_ids) = cardinality(p_ids) then return null; end if;
  return array(select (case when n.ord = any(v_full) then ${KEPT_FULL} else n.answer end)::smallint from unnest((${refusals(
    s,
    `select ord, id, fence, null::bigint as mark, ord = any(v_ords) as done, false as if_expired from ${LEASES}`,
  )})) with ordinality n(answer, ord) order by n.ord);
end $$;`;

const IS_OVERDUE = `job = p_id and state = ${STEP_STATE.open} and until <= v_now`;

/**
 * In: id, fence (null: any), name after which to begin (null: at the first). Out: first a row without a name: as rest the life, and as started_at
 * the time; then the steps in order, each with how many there are from the first of them on. No row: there is no such job or lease.
 * With a fence it first ends open steps whose time has come. Only then it locks the lease, because somebody else may end them, too.
 */
export const readSteps = (s: string, digest: string): string => `
create or replace function ${s}.read_steps_${digest}(p_now bigint, p_id uuid, p_fence int, p_after text) returns table (out_name text, out_rest int, out_kind smallint,
  out_state smallint, out_until bigint, out_started_at bigint, out_ended_at bigint, out_attempt int, out_by text, out_detail text, out_value text) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
begin
  if p_fence is not null then
    if exists (select from ${s}.step where ${IS_OVERDUE}) then
      ${SHORT_LOCK_TIMEOUT};
      perform from ${s}.running where id = p_id and fence = p_fence for update;
      if not found then return; end if;
      update ${s}.step set ended_at = v_now, state = case when kind = ${STEP_KIND.sleep} then ${STEP_STATE.done} else ${STEP_STATE.timeout} end where ${IS_OVERDUE};
    else
      perform from ${s}.running where id = p_id and fence = p_fence;
      if not found then return; end if;
    end if;
  end if;
  select ${lifeIn("extra")} into out_rest from ${s}.job where id = p_id;
  if not found then return; end if;
  out_started_at := v_now;
  return next;
  return query
    select name, rest::int, kind, state, until, started_at, ended_at, attempt, ended_by, detail, value from (
      select *, count(*) over () as rest, row_number() over (order by name) as nth, sum(${bytesOf("value")}) over (order by name) as bytes
      from ${s}.step where job = p_id and (p_after is null or name > p_after)) t
    where nth = 1 or bytes <= ${MAX_STEPS_READ_BYTES} order by name;
end $$;`;

/** How often to look for a job that moves meanwhile. */
const MOST_LOOKS = 5;

/** Locks the row of the job where it was seen. */
const lockJob = (s: string, how: string): string =>
  `case ${Object.entries(PLACES)
    .map(
      ([place, states]) => `when v_job.state in (${states.join()}) then perform from ${s}.${place} where id = v_end.id for update${how};`,
    )
    .join("\n            ")} end case`;

/** Makes the blocked job pending, as OPEN in core/lifecycle.ts. */
const wake = (s: string): string => `
        with gone as (delete from ${s}.blocked where id = v_end.id returning *)
        , moved as (insert into ${s}.ready select ${changed("g", { run_at: "v_now", updated_at: "v_now", state: `${STATE.pending}`, lease_until: "null" })} from gone g)
        ${addDeltas(
          s,
          `select g.queue, null::int as lane, c.metric, c.amount from gone g
           cross join lateral (values (${tallyOf(STATE.blocked, "g.priority")}, -1), (${tallyOf(STATE.pending, "g.priority")}, 1)) c(metric, amount)`,
        )}`;

/**
 * Ends steps, one after the other: each end sees what those before it did to its job. `p_careful`: leaves out those of jobs that others hold.
 * `p_froms`: for each the states in which its job may be, as bits.
 * A job may move meanwhile, as in `change`: it is looked at again. Jobs come in the order of their ids, so that two calls never wait for each other.
 * Out, in any order: the kind, one of STEP_ENDED, and the lane of the job; ok: whether it woke the job; late: the state of the step; refused: that of the job.
 * Cost: the ends; and once for each job that its steps are counted, but their values are not read.
 */
export const endSteps = (s: string, digest: string): string => `
create or replace function ${s}.end_steps_${digest}(p_now bigint, p_careful boolean, p_ids uuid[], p_names text[], p_kinds smallint[], p_states smallint[], p_values text[],
  p_bys text[], p_lives int[], p_froms int[]) returns table (out_ord int, out_kind smallint, out_lane int, out_state smallint, out_woke boolean) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_end record;
  v_last uuid;
  v_job record;
  v_step record;
  v_locked boolean;
  v_steps int;
  v_bytes bigint;
begin
  ${SHORT_LOCK_TIMEOUT};
  for v_end in select i.ord, i.id, i.name, i.kind, i.state, i.value, i.ended_by, i.life, i.from_states
    from unnest(p_ids, p_names, p_kinds, p_states, p_values, p_bys, p_lives, p_froms) with ordinality i(id, name, kind, state, value, ended_by, life, from_states, ord) order by i.id, i.ord
  loop
    out_ord := v_end.ord;
    out_woke := false;
    if v_end.id is distinct from v_last then
      v_last := v_end.id;
      v_locked := false;
      for look in 1..${MOST_LOOKS} loop
        select state, attempt, lane into v_job from ${s}.state where id = v_end.id;
        exit when not found;
        if p_careful then
          ${lockJob(s, " skip locked")};
        else
          ${lockJob(s, "")};
        end if;
        v_locked := found;
        exit when v_locked;
      end loop;
      if v_locked then
        -- What was seen before the lock may be old: read again, under the lock.
        select state, attempt, lane into v_job from ${s}.state where id = v_end.id;
        v_now := ${NOW};
        select count(*), coalesce(sum(${bytesOf("value")}), 0) into v_steps, v_bytes from ${s}.step where job = v_end.id;
      end if;
    end if;
    out_lane := v_job.lane;
    out_state := v_job.state;
    if v_job.state is null then
      out_kind := ${STEP_ENDED.missing};
    elsif (v_end.from_states >> v_job.state) & 1 = 0 then
      out_kind := ${STEP_ENDED.refused};
    elsif not v_locked then
      out_kind := ${STEP_ENDED.leftOut};
    else
      select state, kind, ended_by, ${bytesOf("value")} as bytes into v_step from ${s}.step where job = v_end.id and name = v_end.name;
      out_state := v_step.state;
      if (v_end.life is not null and v_end.life <> (select ${lifeIn("extra")} from ${s}.job where id = v_end.id)) or v_step.kind <> v_end.kind then
        out_kind := ${STEP_ENDED.late};
        out_state := coalesce(v_step.state, ${STEP_STATE.open});
      elsif v_step.state <> ${STEP_STATE.open} and v_step.ended_by = v_end.ended_by then
        out_kind := ${STEP_ENDED.ok};
      elsif v_step.state in (${STEP_STATE.done}, ${STEP_STATE.timeout}) then
        out_kind := ${STEP_ENDED.late};
      elsif v_end.state <> ${STEP_STATE.failed} and (v_step.state is null and v_steps >= ${MAX_STEPS}
        or v_bytes - coalesce(v_step.bytes, 0) + ${bytesOf("v_end.value")} > ${MAX_STEPS_BYTES}) then
        out_kind := ${STEP_ENDED.full};
      else
        out_kind := ${STEP_ENDED.ok};
        insert into ${s}.step (job, name, kind, state, value, started_at, ended_at, attempt, ended_by)
        values (v_end.id, v_end.name, v_end.kind, v_end.state, v_end.value, v_now, v_now, v_job.attempt, v_end.ended_by)
        on conflict (job, name) do update set kind = excluded.kind, state = excluded.state, value = excluded.value, ended_at = excluded.ended_at, ended_by = excluded.ended_by;
        if v_steps = 0 then
          ${markSteps(s, "array[v_end.id]")};
        end if;
        v_steps := v_steps + case when v_step.state is null then 1 else 0 end;
        v_bytes := v_bytes - coalesce(v_step.bytes, 0) + ${bytesOf("v_end.value")};
        if v_step.state = ${STEP_STATE.open} and v_job.state = ${STATE.blocked} then
          ${wake(s)};
          v_job.state := ${STATE.pending};
          out_woke := true;
        end if;
      end if;
    end if;
    return next;
  end loop;
end $$;`;
