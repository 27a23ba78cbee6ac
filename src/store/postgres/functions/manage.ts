/** Managing jobs: moves that somebody asked for, and removal. */
import { MAX_MANUAL_CHANGES } from "../../../core/manual-change.ts";
import { counterMetric, NOTICE, STATE, STEP_STATE } from "../../numbers.ts";
import { changeText } from "../../stored-manual-change.ts";
import { PLACES } from "../tables.ts";
import { CHANGED, FORGET } from "../answers.ts";
import { SUMMARY_COLUMNS, SUMMARY_RETURNS } from "../codec.ts";
import {
  addDeltas,
  applied,
  attemptOutcome,
  bucket,
  byKey,
  hasEnded,
  indexFacets,
  insertByState,
  isKeptForATime,
  NOW,
  PLANNED,
  SHORT_LOCK_TIMEOUT,
  tallyOf,
  TRANSITION,
  unindexFacets,
} from "./snippets.ts";
import { hasParent, hasSteps, withNextLife } from "./step-marks.ts";
import { anyLimits, FREED, freeHoldings, keyIn } from "./turns.ts";

/** How often to look for jobs that move meanwhile. */
export const MOST_LOOKS = 5;

/** Whether a row has one of the wanted states. Not by a plain `=`: jobs are found by their ids, never by the index of an end state. */
const IS_WANTED = "(state = any(p_from)) is true";

/** The remaining jobs that have a key, each with the key's row. */
const keysOfLeft = (
  s: string,
): string => `unnest(v_left) i(id) join ${s}.job j on ${byKey("j.id", "i.id")} join ${s}.lane l on l.id = j.lane
  join ${s}.key k on k.queue = l.queue and k.key = j.key`;

/** The remaining jobs whose key (if it meets the condition) nobody else holds; these keys are locked for what follows. */
const leaveJobsOfHeldKeysOut = (s: string, condition: string): string => `
  with free_key as materialized (
    select k.queue, k.key from ${keysOfLeft(s)} where ${condition} order by k.queue, k.key for update of k skip locked
  ), held as materialized (
    select j.id from ${keysOfLeft(s)} where ${condition} and not exists (select from free_key f where f.queue = k.queue and f.key = k.key)
  )
  select array_agg(i.id) into v_free from unnest(v_left) i(id) where not exists (select from held h where h.id = i.id)`;

/** Of these jobs, those in these tables whose rows nobody else holds; they are locked for what follows. */
const leaveHeldJobsOut = (s: string, places: readonly string[]): string => `
  with ${places
    .map((place) => `free_${place} as (select id from ${s}.${place} where id = any(v_free) and ${IS_WANTED} for update skip locked)`)
    .join(", ")}
  select array_agg(id) into v_free from (${places.map((place) => `select id from free_${place}`).join(" union all ")}) free`;

const answerLeftOut = (s: string): string => `
  return query
    select i.ord::int, ${CHANGED.leftOut}::smallint, null::smallint, ${SUMMARY_COLUMNS}
    from unnest(v_left) m(id) join unnest(p_ids) with ordinality i(id, ord) on i.id = m.id
    left join ${s}.job j on false left join ${s}.state s on false`;

/** Takes those of these jobs that were pending out of the lines of their limit keys. `was` and `due`: their state and due time before. */
export const leaveLines = (
  s: string,
  from: string,
  { job, was, due }: Readonly<Record<"job" | "was" | "due", string>>,
): string => `unlined as (
      delete from ${s}.limit_lined d using ${from}, ${s}.job j where ${was} = ${STATE.pending} and ${job}.lane < 0 and ${byKey("j.id", `${job}.id`)}
        and d.lane = ${job}.lane and d.key = ${keyIn("j.extra")} and d.run_at = ${due} and d.seq = ${job}.seq returning ${job}.queue, d.lane, d.key
    ), rechecked as (insert into ${s}.limit_recheck (queue, lane, key) select distinct queue, lane, key from unlined)`;

/** Forgets steps of moved jobs. */
const forgetSteps = (s: string): string => `
      v_with_steps := array(select j.id from unnest(v_moved) m(id)
        cross join lateral (select id from ${s}.job where id = m.id and ${hasSteps("extra")} offset 0) j);
      if v_with_steps <> '{}' then
        delete from ${s}.step where job = any(v_with_steps) and (p_steps = ${FORGET.forget} or state = ${STEP_STATE.failed});
        if p_steps = ${FORGET.forget} then
          update ${s}.job set extra = ${withNextLife("extra")} where id = any(v_with_steps);
        end if;
      end if`;

/** Leaves a notice for each moved job that was cancelled and has steps, and for each that another job called. */
const leaveNotices = (s: string): string => `
      insert into ${s}.notice (kind, notice)
      select n.kind, n.notice from unnest(v_moved) m(id)
      cross join lateral (select id, extra from ${s}.job where id = m.id and (${hasSteps("extra")} or ${hasParent("extra")}) offset 0) j
      cross join lateral (
        select ${NOTICE.cancel}, '{"kind":"cancel","id":"' || j.id || '"}' where t.to_state = ${STATE.cancelled} and ${hasSteps("j.extra")}
        union all
        select ${NOTICE.end}, '{"kind":"end","end":{"id":' || (j.extra::json -> 'parent' -> 'id')::text || ',"name":' || (j.extra::json -> 'parent' -> 'step')::text
          || ',"life":' || (j.extra::json -> 'parent' ->> 'life') || ',"by":"' || j.id || ' ' || (select st.fence from ${s}.state st where st.id = j.id) || '",' || p_ending || '}}'
        where p_ending is not null and ${hasParent("j.extra")}) n(kind, notice)`;

/**
 * Applies one transition to each job (no id twice) whose state is one of p_from.
 *
 * A job may move meanwhile: it was just claimed and is no longer where it was seen. So jobs that were not found in a wanted state are
 * looked at again, until each was moved, or seen in a state that forbids it, or is gone.
 * A job that leaves a terminal state locks its key's row first, so that only one call decides whether the key has expired.
 *
 * `p_careful`: does not wait for rows of jobs or keys that others hold; after a few looks they are left out.
 * `p_manual`: the caller's part of a change by hand; null: it is none.
 * `p_payload`: the new payload, which has the facets `p_facets`; null: the present one stays.
 * `p_steps`: which steps are forgotten, one of FORGET; null: none.
 * `p_ending`: how the jobs end for those that called them, as the last fields of a notice `end`; null: they do not end.
 *
 * Out: the kind, one of CHANGED; done: was, and the job after; refused: was is the state that forbids it.
 */
export const change = (s: string, digest: string): string => `
create or replace function ${s}.change_${digest}(p_now bigint, p_careful boolean, p_ids uuid[], p_from smallint[], p_transition json,
  p_manual text, p_payload text, p_facets text, p_steps int, p_ending text) returns table (out_ord int, out_kind smallint, out_was smallint, ${SUMMARY_RETURNS}) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_left uuid[] := p_ids;
  v_free uuid[];
  v_moved uuid[];
  v_was smallint[];
  v_keyless uuid[] := '{}';
  v_with_steps uuid[];
  ${FREED}
  t record;
begin
  select * into t from json_to_record(p_transition) as r(${TRANSITION});
  ${SHORT_LOCK_TIMEOUT};
  for look in 1..${MOST_LOOKS} loop
    v_free := v_left;
    if not ${hasEnded("t.to_state")} and p_from && '{${PLACES.ended.join()}}'::smallint[] then
      if p_careful then
        ${leaveJobsOfHeldKeysOut(s, "true")};
      else
        perform from ${keysOfLeft(s)} order by k.queue, k.key for update of k;
      end if;
      v_now := ${NOW};
      select coalesce(array_agg(j.id), '{}') into v_keyless
      from unnest(v_left) i(id) join ${s}.job j on ${byKey("j.id", "i.id")} join ${s}.lane l on l.id = j.lane join ${s}.ended e on ${byKey("e.id", "i.id")}
        left join ${s}.key k on k.queue = l.queue and k.key = j.key
      where j.key is not null and (k.job is distinct from j.id or (${isKeptForATime("e.state")} and e.ended_at + j.key_ttl <= v_now));
    end if;
    if p_careful then
      ${leaveHeldJobsOut(s, Object.keys(PLACES))};
    end if;
    v_now := ${NOW};

    with ${Object.entries(PLACES)
      .map(
        ([place, states]) =>
          `left_${place} as (delete from ${s}.${place} where id = any(v_free) and p_from && '{${states.join()}}'::smallint[] and ${IS_WANTED} returning *)`,
      )
      .join(", ")},
    gone as (${Object.keys(PLACES)
      .map((place) => `select * from left_${place}`)
      .join(" union all ")}),
    after as materialized (
      select g.state as was, g.attempt as number, g.started_at as was_started, g.ended_at as was_ended, g.run_ms as was_run_ms, g.error as was_error,
        g.run_at as was_due, t.timed and g.state = ${STATE.running} as timed,
        row(${applied("g", "t")})::${s}.ready as p
      from gone g
    ), ${insertByState(s, "t.to_state")}
    , history as (
      insert into ${s}.attempt (job, number, worker, started_at, ended_at, run_ms, outcome, error)
      select (p).id, number, (p).worker, was_started, coalesce(was_ended, v_now), case when was = ${STATE.running} then (p).run_ms else was_run_ms end,
        case when was = ${STATE.running} then 'failed' else ${attemptOutcome("was")} end, case when was = ${STATE.running} then (p).error else was_error end
      from after where number > 0 and (${hasEnded("was")} or (was = ${STATE.running} and t.ends and not ${hasEnded("t.to_state")}))
      on conflict do nothing
    ), counted as (${addDeltas(
      s,
      `select (a.p).queue, (a.p).lane, c.metric, c.amount from after a cross join lateral (values
        (${tallyOf("a.was", "(a.p).priority")}, -1), (${tallyOf("t.to_state", "(a.p).priority")}, 1), (t.counter, 1),
        (case when t.loss = 1 then ${counterMetric("lost")} end, 1), (case when a.timed then ${bucket("run", "t.new_run_ms")} end, 1),
        (case when a.timed then ${bucket("wait", "a.was_started - a.was_due")} end, 1)) c(metric, amount)
        where c.metric is not null`,
    )}), ${leaveLines(s, "after a", { job: "(a.p)", was: "a.was", due: "a.was_due" })}, numbered as (
      select (p).id, was, number as attempt, (select coalesce(max(c.number), 0) + 1 from ${s}.manual_change c where c.job = (p).id) as number
      from after where p_manual is not null
    ), dropped as (
      delete from ${s}.manual_change c using numbered n where c.job = n.id and c.number <= n.number - ${MAX_MANUAL_CHANGES}
    ), noted as (
      insert into ${s}.manual_change (job, number, change)
      select id, number, ${changeText("||", "v_now", "was", "attempt", "p_manual")} from numbered
    )
    select coalesce(array_agg((p).id), '{}'), coalesce(array_agg(was), '{}') into v_moved, v_was from after;

    if ${STATE.running} = any(v_was) and ${anyLimits(s)} then
      ${freeHoldings(s, "v_moved", { ours: "false", ended: "false" })};
    end if;
    if v_keyless && v_moved then
      delete from ${s}.key k using ${s}.job j, ${s}.lane l
        where j.id = any(v_keyless) and j.id = any(v_moved) and l.id = j.lane and k.queue = l.queue and k.key = j.key and k.job = j.id;
      update ${s}.job set key = null where id = any(v_keyless) and id = any(v_moved);
    end if;

    if p_payload is not null then
      with j as (select * from ${s}.job where id = any(v_moved)) ${unindexFacets(s)};
      update ${s}.job set payload = p_payload, facets = p_facets where id = any(v_moved);
      ${indexFacets(s, "v_moved")};
    end if;

    if p_steps is not null then
      ${forgetSteps(s)};
    end if;
    if p_ending is not null or t.to_state = ${STATE.cancelled} then
      ${leaveNotices(s)};
    end if;

    return query
      select i.ord::int, ${CHANGED.done}::smallint, m.was, ${SUMMARY_COLUMNS}
      from unnest(v_moved, v_was) m(id, was) join unnest(p_ids) with ordinality i(id, ord) on i.id = m.id
      join ${s}.job j on ${byKey("j.id", "m.id")} cross join lateral (select * from ${s}.state where id = m.id offset 0) s;
    v_left := array(select id from unnest(v_left) i(id) where id <> all(v_moved));
    exit when v_left = '{}';

    select array_agg(i.id) filter (where st.state = any(p_from)), array_agg(i.id) filter (where st.state = any(p_from) is not true),
      array_agg(st.state) filter (where st.state = any(p_from) is not true) into v_left, v_moved, v_was
    from unnest(v_left) i(id) left join lateral (select state from ${s}.state where id = i.id offset 0) st on true;
    return query
      select i.ord::int, (case when m.was is null then ${CHANGED.missing} else ${CHANGED.refused} end)::smallint, m.was, ${SUMMARY_COLUMNS}
      from unnest(v_moved, v_was) m(id, was) join unnest(p_ids) with ordinality i(id, ord) on i.id = m.id
      left join ${s}.job j on false left join ${s}.state s on false;
    exit when v_left is null;
  end loop;
  ${answerLeftOut(s)};
end $$;`;

/** Deletes jobs in one of the terminal states p_from with all their data; a key only if still theirs. Out: as `change`, with the job before. */
export const remove = (s: string, digest: string): string => `
create or replace function ${s}.remove_${digest}(p_now bigint, p_careful boolean, p_ids uuid[], p_from smallint[])
  returns table (out_ord int, out_kind smallint, out_was smallint, ${SUMMARY_RETURNS}) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_left uuid[] := p_ids;
  v_free uuid[];
  v_seen uuid[];
  v_states smallint[];
begin
  ${SHORT_LOCK_TIMEOUT};
  for look in 1..${MOST_LOOKS} loop
    v_free := v_left;
    if p_careful then
      ${leaveJobsOfHeldKeysOut(s, "k.job = j.id")};
      ${leaveHeldJobsOut(s, ["ended"])};
    end if;
    return query
      with s as (delete from ${s}.ended where id = any(v_free) and state = any(p_from) returning *)
      , j as (delete from ${s}.job using s where job.id = s.id returning job.*)
      , attempts as (delete from ${s}.attempt a using s where a.job = s.id)
      , logs as (delete from ${s}.log l using s where l.job = s.id)
      , manual_changes as (delete from ${s}.manual_change c using s where c.job = s.id)
      , facets as (${unindexFacets(s)})
      , keys as (delete from ${s}.key k using j join s on s.id = j.id where k.queue = s.queue and k.key = j.key and k.job = j.id)
      , counted as (${addDeltas(s, `select s.queue, null::int as lane, ${tallyOf("s.state", "s.priority")} as metric, -1 as amount from s`)})
      select i.ord::int, ${CHANGED.done}::smallint, s.state, ${SUMMARY_COLUMNS}
      from unnest(p_ids) with ordinality i(id, ord) join s on s.id = i.id join j on j.id = i.id;
    -- A job that still exists is in another state; one that entered a wanted state meanwhile is deleted in the next turn.
    select array_agg(i.id) filter (where st.state = any(p_from)), array_agg(i.id) filter (where st.state <> all(p_from)),
      array_agg(st.state) filter (where st.state <> all(p_from))
    into v_left, v_seen, v_states
    from unnest(p_ids) i(id) join lateral (select state from ${s}.state where id = i.id offset 0) st on true where i.id = any(v_left);
    return query
      select i.ord::int, ${CHANGED.refused}::smallint, m.was, ${SUMMARY_COLUMNS}
      from unnest(v_seen, v_states) m(id, was) join unnest(p_ids) with ordinality i(id, ord) on i.id = m.id
      left join ${s}.job j on false left join ${s}.state s on false;
    exit when v_left is null;
  end loop;
  ${answerLeftOut(s)};
end $$;`;
