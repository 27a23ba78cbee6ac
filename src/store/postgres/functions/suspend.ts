/**
 * SUSPEND (see store.ts), and the ends of called jobs: what a settlement with waits, calls or a notice does beside its transition. All of it is
 * one JSON object, which is null in an exchange without any, and so is each of its parts. Its waits are stored before their settlements are applied, because they decide what
 * these become; calls and notices follow, of those that were applied.
 */
import { NOTICE, STATE, STEP_STATE } from "../../numbers.ts";
import { markSteps } from "./step-marks.ts";
import { byKey, hasEnded, insertItems, isNewJob, newState } from "./snippets.ts";

/** The waits, each with the lease of its settlement. */
const WAITS = `json_to_recordset(p_durable -> 'waits') as w(ord int, id uuid, fence int, if_expired boolean, name text, kind smallint, state smallint,
  value text, until bigint, detail text)`;

/** Called jobs with the number of their settlement. They have no key. `notice`: their fields but the payload, for a notice. */
const CALLS = `json_to_recordset(p_durable -> 'calls') as i(ord int, id uuid, queue int, lane int, priority smallint, delay bigint, run_at bigint,
  blocked boolean, max_retries smallint, max_lost smallint, retry_delay bigint, timeout bigint, tags text, extra text, payload text, facets text, notice text)`;

const NOTICES = "json_to_recordset(p_durable -> 'notices') as i(ord int, kind smallint, notice text)";

/** The variables of these parts. */
export const SUSPENDED = `v_suspended uuid[];
  v_attempts int[];
  v_due_in bigint;
  v_notices int := 0;
  v_more int;`;

/**
 * Stores the waits of leases that hold. Their rows are locked first, and steps are looked at in a later statement: whoever ends a step holds the
 * row of its job, so each end is either seen here, or finds the job suspended. (A caller's transaction in REPEATABLE READ fails at a step
 * that somebody has stored since it began.) Then writes into `p_others` what the settlements become, and into `v_due_in` when the first job is due.
 */
export const storeWaits = (s: string): string => `
    with held as materialized (
      select r.id, r.attempt from (select distinct w.id, w.fence, w.if_expired from ${WAITS}) w
      join ${s}.running r on ${byKey("r.id", "w.id")} and r.fence = w.fence and r.id <> all(v_held) and (not w.if_expired or r.lease_until <= v_now)
      order by w.id for update of r
    ) select coalesce(array_agg(id), '{}'), array_agg(attempt) into v_suspended, v_attempts from held;
    insert into ${s}.step (job, name, kind, state, value, until, started_at, ended_at, attempt, detail)
    select w.id, w.name, w.kind, w.state, w.value, v_now + w.until, v_now, case when w.state <> ${STEP_STATE.open} then v_now end, h.attempt, w.detail
    from ${WAITS} join unnest(v_suspended, v_attempts) h(id, attempt) on h.id = w.id
    on conflict do nothing;
    ${markSteps(s, "v_suspended")};
    with found as materialized (
      select w.ord, bool_or(t.state <> ${STEP_STATE.open}) as goes_on, min(greatest(0, t.until - v_now)) filter (where t.until is not null) as due_in
      from ${WAITS} cross join lateral (select state, until from ${s}.step where job = w.id and name = w.name offset 0) t
      where w.id = any(v_suspended) group by w.ord
    )
    select json_agg(case when f.goes_on then (o.item::jsonb || '{"to_state": ${STATE.pending}, "delay": 0, "counter": null}')::json
        when f.due_in is not null then (o.item::jsonb || jsonb_build_object('delay', f.due_in))::json else o.item end order by o.nth),
      min(f.due_in) filter (where not f.goes_on)
    into p_others, v_due_in
    from json_array_elements(p_others) with ordinality o(item, nth) left join found f on f.ord = (o.item ->> 'ord')::int`;

const DUE_AT = "(case when i.blocked then v_now else greatest(v_now, coalesce(i.run_at, v_now + i.delay)) end)";

/**
 * Leaves the notices of settlements that were applied now (`v_others`), and one for each called job that has ended. Then inserts those that are
 * not known. `v_notices`: how many notices.
 */
export const leaveNoticesAndCall = (s: string): string => `
    insert into ${s}.notice (kind, notice) select i.kind, i.notice from ${NOTICES} where i.ord = any(v_others);
    get diagnostics v_notices = row_count;
    if (p_durable -> 'calls') is not null then
      insert into ${s}.notice (kind, notice)
      select ${NOTICE.insert}, '{"kind":"insert","job":{"payload":' || to_json(i.payload)::text || ',' || substr(i.notice, 2) || '}'
      from ${CALLS} cross join lateral (select state from ${s}.state where id = i.id offset 0) st where i.ord = any(v_others) and ${hasEnded("st.state")};
      get diagnostics v_more = row_count;
      v_notices := v_notices + v_more;
      with item as materialized (
        select nextval('${s}.job_seq_seq') as seq, ${DUE_AT} as due_at, ${newState(DUE_AT)} as new_state, null::text as key, null::bigint as key_ttl, i.* from ${CALLS}
        where i.ord = any(v_others) and ${isNewJob(s)}
      )${insertItems(s)};
    end if`;
