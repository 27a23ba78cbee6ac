/** What is kept beside flows. See "Jobs run after each other" in store.ts, and flow-tables.ts. */
import { MAX_STEPS_READ_BYTES } from "../../../core/steps.ts";
import { ADMITTED, flowAnswer } from "../answers.ts";
import { ADMIT_PARAMETERS } from "./insert.ts";
import { byKey, NOW, PLANNED, SHORT_LOCK_TIMEOUT } from "./snippets.ts";

const ADMIT_ARGUMENTS = ADMIT_PARAMETERS.split(",")
  .map((parameter) => parameter.trim().split(" ")[0]!)
  .join(", ");

/** Members and notices, each with the number of its flow in the call. */
const MEMBER_PARAMETERS = "p_members int[], p_names text[], p_plans text[], p_states text[]";
const NOTICE_PARAMETERS = "p_notices int[], p_notice_kinds smallint[], p_notice_texts text[]";

/**
 * Stores members and notices of flows. `flow`: the id of the one with that number; null if it stores nothing. In the order of names, so that the
 * index grows at one place. A name that is there stays: to fail would have the call repeated for nothing.
 */
const addMembersAndNotices = (s: string, flow: (ord: string) => string): string => `
  insert into ${s}.member (flow, name, plan, state)
  select ${flow("i.ord")}, i.name, i.plan, i.state from unnest(p_members, p_names, p_plans, p_states) i(ord, name, plan, state)
  where ${flow("i.ord")} is not null order by 1, 2 on conflict do nothing;
  insert into ${s}.notice (kind, notice)
  select i.kind, i.notice from unnest(p_notices, p_notice_kinds, p_notice_texts) with ordinality i(ord, kind, notice, nth)
  where ${flow("i.ord")} is not null order by i.nth`;

/**
 * Inserts jobs as `admit` does, and with those that it creates and that are flows (p_flows has their numbers) what is kept beside them.
 * Apart from `admit`, so that other inserts send and look at none of it.
 */
export const admitFlows = (s: string, digest: string): string => `
create or replace function ${s}.admit_flows_${digest}(p_now bigint, p_locks boolean, p_careful boolean, ${ADMIT_PARAMETERS}, p_flows int[], p_heads text[],
  ${MEMBER_PARAMETERS}, ${NOTICE_PARAMETERS})
  returns table (out_ord int, out_kind smallint, out_state smallint, out_created_at bigint, out_run_at bigint, out_holder uuid) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_made uuid[] := '{}';
begin
  for out_ord, out_kind, out_state, out_created_at, out_run_at, out_holder in
    select * from ${s}.admit_${digest}(p_now, p_locks, p_careful, ${ADMIT_ARGUMENTS})
  loop
    if out_kind = ${ADMITTED.created} and out_ord = any(p_flows) then v_made[out_ord] := p_ids[out_ord]; end if;
    return next;
  end loop;
  insert into ${s}.flow (job, version, head)
  select v_made[i.ord], 1, i.head from unnest(p_flows, p_heads) i(ord, head) where v_made[i.ord] is not null;
  ${addMembersAndNotices(s, (ord) => `v_made[${ord}]`)};
end $$;`;

/**
 * Changes flows, no id twice. `p_careful`: leaves out those whose row others hold. Flows come in the order of their ids, so that two calls never wait
 * for each other. Out: an answer for each, as in FLOW_ANSWERS.
 * Cost: what is changed, however many members a flow has.
 */
export const changeFlows = (s: string, digest: string): string => `
create or replace function ${s}.change_flows_${digest}(p_careful boolean, p_ids uuid[], p_versions bigint[], p_heads text[],
  p_changed int[], p_changed_names text[], p_changed_states text[], ${MEMBER_PARAMETERS}, ${NOTICE_PARAMETERS}) returns smallint[] ${PLANNED} as $$
#variable_conflict use_column
declare
  v_change record;
  v_answers smallint[] := array_fill(${flowAnswer("ok")}::smallint, array[cardinality(p_ids)]);
  v_flows uuid[] := '{}';
begin
  ${SHORT_LOCK_TIMEOUT};
  for v_change in select i.ord, i.id, i.version, i.head from unnest(p_ids, p_versions, p_heads) with ordinality i(id, version, head, ord) order by i.id loop
    if p_careful then
      perform from ${s}.flow where job = v_change.id for update skip locked;
      if not found then
        v_answers[v_change.ord] := case when exists (select from ${s}.flow where job = v_change.id) then ${flowAnswer("locked")} else ${flowAnswer("missing")} end;
        continue;
      end if;
    end if;
    update ${s}.flow set version = version + 1, head = v_change.head where job = v_change.id and version = v_change.version;
    if found then
      v_flows[v_change.ord] := v_change.id;
    else
      v_answers[v_change.ord] := case when exists (select from ${s}.flow where job = v_change.id) then ${flowAnswer("stale")} else ${flowAnswer("missing")} end;
    end if;
  end loop;
  update ${s}.member m set state = i.state from unnest(p_changed, p_changed_names, p_changed_states) i(ord, name, state)
  where ${byKey("m.flow", "v_flows[i.ord]")} and ${byKey("m.name", "i.name")};
  ${addMembersAndNotices(s, (ord) => `v_flows[${ord}]`)};
  return v_answers;
end $$;`;

/** How many members one page has at most: the server counts the bytes of all that it finds before it chooses. */
const MOST_IN_PAGE = 10_000;

/**
 * In: ids; names, each with the number of its id; pages, each with the number of its id, the name after which it begins ('': at the first), and how
 * many members it has at most (null: any number).
 * Out: for each flow that is there a row without a name: its head as plan, its version as number, the time; and rows of members, those of a page in order,
 * each with how many of the members that were found follow it.
 * Cost: the named members and those of the pages, however many a flow has. The server knows lengths without reading texts.
 */
export const readFlows = (s: string, digest: string): string => `
create or replace function ${s}.read_flows_${digest}(p_now bigint, p_ids uuid[], p_members int[], p_names text[], p_pages int[], p_afters text[], p_limits int[])
  returns table (out_ord int, out_name text, out_plan text, out_state text, out_number bigint, out_now bigint) stable ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
begin
  return query
    select i.ord::int, null::text, f.head, null::text, f.version, v_now from unnest(p_ids) with ordinality i(id, ord)
    cross join lateral (select head, version from ${s}.flow where job = i.id offset 0) f;
  return query
    select i.ord, m.name, m.plan, m.state, 0::bigint, null::bigint from unnest(p_members, p_names) i(ord, name)
    cross join lateral (select name, plan, state from ${s}.member where flow = p_ids[i.ord] and name = i.name offset 0) m;
  return query
    select i.ord, m.name, m.plan, m.state, m.found - m.nth, null::bigint
    from unnest(p_pages, p_afters, p_limits) i(ord, after, most) cross join lateral (
      select *, count(*) over () as found, row_number() over (order by name) as nth, sum(octet_length(plan) + octet_length(state)) over (order by name) as bytes
      from (select name, plan, state from ${s}.member where flow = p_ids[i.ord] and name > i.after order by name limit least(i.most, ${MOST_IN_PAGE}) + 1) n
      order by name) m
    where m.nth = 1 or (m.nth <= least(i.most, ${MOST_IN_PAGE}) and m.bytes <= ${MAX_STEPS_READ_BYTES});
end $$;`;
