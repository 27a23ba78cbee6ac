/** Putting jobs in place of those that wait and were never claimed. */
import { STATE } from "../../numbers.ts";
import { REPLACEABLE } from "../../store.ts";
import { ADMITTED, CHANGED } from "../answers.ts";
import { PLACES } from "../tables.ts";
import { ADMIT_PARAMETERS, DUE_AT, ITEMS, storeCreated } from "./insert.ts";
import { leaveLines, MOST_LOOKS } from "./manage.ts";
import { addDeltas, newState, NOW, PLANNED, SHORT_LOCK_TIMEOUT, tallyOf, unindexFacets } from "./snippets.ts";

const STATES: readonly number[] = REPLACEABLE.map((status) => STATE[status]);
const IS_REPLACEABLE = `(fence = 0 and state in (${STATES.join()}))`;

/** The tables that have such jobs. */
const FROM = (Object.keys(PLACES) as (keyof typeof PLACES)[]).filter((place) => PLACES[place].some((state) => STATES.includes(state)));
const fromEach = (textOf: (place: string) => string, between: string): string => FROM.map(textOf).join(between);

/** Of the remaining jobs, those whose rows nobody else holds; they are locked for what follows. */
const leaveHeldJobsOut = (s: string): string => `
      with ${fromEach((place) => `free_${place} as (select id from ${s}.${place} where id = any(v_left) and ${IS_REPLACEABLE} for update skip locked)`, ", ")}
      select array_agg(id) into v_free from (${fromEach((place) => `select id from free_${place}`, " union all ")}) free`;

/**
 * Takes each job (no id twice) out of all that it is in, and stores the new one as `admit` does, but in any case: it takes the place of the
 * one before, and is blocked if that one was. Jobs that move meanwhile are looked at again, as by `change`. What was never claimed has
 * neither attempts nor logs; its steps go with its body, by a trigger.
 *
 * `p_careful`: does not wait for rows that others hold; after a few looks these jobs are left out.
 *
 * Answers each item (ord) with its kind, one of CHANGED; done has state, created_at and run_at.
 */
export const replace = (s: string, digest: string): string => `
create or replace function ${s}.replace_${digest}(p_now bigint, p_careful boolean, ${ADMIT_PARAMETERS})
  returns table (out_ord int, out_kind smallint, out_state smallint, out_created_at bigint, out_run_at bigint) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint;
  v_left uuid[] := p_ids;
  v_free uuid[];
  v_gone uuid[];
  v_seen uuid[];
  v_was_blocked uuid[];
  v_done uuid[] := '{}';
  v_blocked uuid[] := '{}';
  v_refused uuid[] := '{}';
  v_kinds smallint[];
  v_keyed boolean := 0 > any(p_lanes);
begin
  ${SHORT_LOCK_TIMEOUT};
  for look in 1..${MOST_LOOKS} loop
    v_free := v_left;
    if p_careful then
      ${leaveHeldJobsOut(s)};
    end if;
    v_now := ${NOW};
    with ${fromEach((place) => `left_${place} as (delete from ${s}.${place} where id = any(v_free) and ${IS_REPLACEABLE} returning *)`, ", ")}
    , gone as (${fromEach((place) => `select * from left_${place}`, " union all ")})
    , ${leaveLines(s, "gone g", { job: "g", was: "g.state", due: "g.run_at" })}
    , counted as (${addDeltas(s, `select queue, null::int as lane, ${tallyOf("state", "priority")} as metric, -1 as amount from gone`)})
    select coalesce(array_agg(id), '{}'), coalesce(array_agg(id) filter (where state = ${STATE.blocked}), '{}') into v_gone, v_was_blocked from gone;
    v_done := v_done || v_gone;
    v_blocked := v_blocked || v_was_blocked;

    -- One that is not gone is left if it moved meanwhile, or if others hold it.
    select coalesce(array_agg(i.id) filter (where st.free), '{}'), coalesce(array_agg(i.id) filter (where not st.free), '{}') into v_left, v_seen
    from unnest(v_left) i(id) join lateral (select ${IS_REPLACEABLE} as free from ${s}.state where id = i.id offset 0) st on true;
    v_refused := v_refused || v_seen;
    exit when v_left = '{}';
  end loop;

  delete from ${s}.manual_change where job = any(v_done);
  with j as (delete from ${s}.job where id = any(v_done) returning *) ${unindexFacets(s)};

  v_now := ${NOW};
  select array_agg((case when i.id = any(v_done) then ${ADMITTED.created} else ${ADMITTED.knownId} end)::smallint order by i.ord),
    array_agg(i.id = any(v_blocked) order by i.ord) into v_kinds, p_blocked
  from unnest(p_ids) with ordinality i(id, ord);
  ${storeCreated(s)};

  return query
    select i.ord::int, (case when i.kind = ${ADMITTED.created} then ${CHANGED.done} when i.id = any(v_left) then ${CHANGED.leftOut}
      when i.id = any(v_refused) then ${CHANGED.refused} else ${CHANGED.missing} end)::smallint, ${newState("i.due_at")}, v_now, i.due_at
    from (select i.*, ${DUE_AT} as due_at from ${ITEMS}) i order by i.ord;
end $$;`;
