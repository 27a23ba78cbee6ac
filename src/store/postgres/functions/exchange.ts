/** Settlements, then claims, in one call and one commit. */
import { counterMetric, STATE } from "../../numbers.ts";
import { BUSY_MS, freeTurn, NO_KEY, PLACE, RESUMED } from "../lines.ts";
import { REPEAT_REMEMBERED_MS } from "../../store.ts";
import { ASK_AGAIN, CLOGGED, HEAD, leaseAnswer } from "../answers.ts";
import { JOB_COLUMNS, JOB_RETURNS, jobColumnsWith } from "../codec.ts";
import {
  addDeltas,
  addMoves,
  applied,
  bucket,
  changed,
  columnsOf,
  hasEnded,
  byKey,
  indexFacets,
  insertByState,
  insertItems,
  isNewJob,
  keptColumns,
  newState,
  NOW,
  PLANNED,
  SHORT_LOCK_TIMEOUT,
  tallyOf,
  TRANSITION,
} from "./snippets.ts";
import { charge, LIMIT_USES } from "./charges.ts";
import { leaveNoticesAndCall, storeWaits, SUSPENDED } from "./suspend.ts";
import { anyLimits, FREED, freeHoldings, nextAwake } from "./turns.ts";

/** What the plain end changes of a job. */
const ENDED = {
  updated_at: "v_now",
  settled: "g.mark",
  started_at: "g.handled_at",
  state: `${STATE.completed}`,
  ended_at: "v_now",
  lease_until: "null",
  turn: "null",
  run_ms: "g.new_run_ms",
  error: "null",
  result: "g.new_result",
};

/** As startedAfter in core/lifecycle.ts. */
const startedAfter = (job: string, held: string): string =>
  `greatest(${job}.started_at, least(${job}.started_at + coalesce(${held}, 0), v_now))`;

/**
 * The plain end (see core/lifecycle.ts), which is hot. Counts how many were applied.
 * Cost: the settlements, however many jobs run. Each column of `gone` is written and read again, so it has only those that are kept.
 */
const complete = (s: string): string => `
  with gone as (
    delete from ${s}.running r using ${columnsOf({ id: "p_ids", fence: "p_fences", mark: "p_marks", new_result: "p_results", new_run_ms: "p_runs", held: "p_held" })} i
    where ${byKey("r.id", "i.id")} and r.fence = i.fence and r.id <> all(v_held)
    returning ${keptColumns("r", ENDED)}, i.mark, i.new_result, i.new_run_ms, ${startedAfter("r", "i.held")} as handled_at
  ), counted as (${addMoves(
    s,
    { moved: "gone", queue: "min(queue)", from: STATE.running, to: STATE.completed },
    {
      counter: "completed",
      ones: `array_agg(${bucket("run", "new_run_ms")}::smallint) || array_agg(${bucket("wait", "handled_at - run_at")}::smallint)`,
    },
  )})
  insert into ${s}.ended select ${changed("g", ENDED)} from gone g;
  get diagnostics v_done = row_count`;

/** The other settlements, one JSON object each: the transition that the core decided. */
const OTHERS = `json_to_recordset(p_others) as i(ord int, id uuid, fence int, mark bigint, if_expired boolean, held bigint, unstarted boolean, hold bigint, spend float8, suspended boolean, ${TRANSITION})`;

/** What any settlement changes of a job, beside its transition. */
const SETTLED = {
  settled: "g.mark",
  started_at: "g.handled_at",
  turn: `case when g.suspended then ${RESUMED} end`,
  run_ms: "case when g.ends then g.ran_ms else (g.r).run_ms end",
};

/** Applies transitions of any kind. An attempt that ends without ending the job goes into the history. */
const settleOthers = (s: string): string => `
  with gone as (
    delete from ${s}.running r using ${OTHERS}
    where ${byKey("r.id", "i.id")} and r.fence = i.fence and r.id <> all(v_held) and (not i.if_expired or r.lease_until <= v_now)
    returning r, i.*, ${startedAfter("r", "i.held")} as handled_at, coalesce(i.new_run_ms, v_now - ${startedAfter("r", "i.held")}) as ran_ms
  ), after as materialized (
    select g.ord, g.to_state, g.ends, g.counter, g.loss, g.timed, g.ran_ms, (g.r).attempt as number, (g.r).run_at as was_due, (g.r).turn as was_turn, row(${applied("(g.r)", "g", SETTLED)})::${s}.ready as p
    from gone g
  ), ${insertByState(s, "to_state")}
  , history as (
    insert into ${s}.attempt (job, number, worker, started_at, ended_at, run_ms, outcome, error)
    select (p).id, number, (p).worker, (p).started_at, v_now, ran_ms, 'failed', (p).error from after where ends and not ${hasEnded("to_state")}
    on conflict do nothing
  ), counted as (${addDeltas(
    s,
    `select (a.p).queue, (a.p).lane, c.metric, c.amount from after a cross join lateral (values
      (${tallyOf(STATE.running, "(a.p).priority")}, -1), (${tallyOf("a.to_state", "(a.p).priority")}, 1), (a.counter, 1),
      (case when a.loss = 1 then ${counterMetric("lost")} end, 1), (case when a.timed then ${bucket("run", "a.ran_ms")} end, 1),
      (case when a.timed then ${bucket("wait", "(a.p).started_at - a.was_due")} end, 1)) c(metric, amount) where c.metric is not null`,
  )})
  select v_done + count(*), coalesce(array_agg(ord), '{}'), array_agg(distinct (p).queue) filter (where to_state = ${STATE.pending}),
    coalesce(array_agg(ord) filter (where was_turn < ${RESUMED}), '{}')
  into v_done, v_others, v_woken, v_free from after`;

/** The leases of a call, each with whether it is settled only if it has run out. */
const LEASES = `select i.ord, i.id, i.fence, i.mark, false as done, false as if_expired
    from unnest(p_ids, p_fences, p_marks) with ordinality i(id, fence, mark, ord)
  union all select i.ord, i.id, i.fence, case when not i.if_expired then i.mark end, i.ord = any(v_others), i.if_expired from ${OTHERS}`;

/**
 * Finds which of these leases (id, fence) have rows that others hold, without waiting, and leaves them out. All others are locked for what
 * follows.
 */
export const leaveHeldLeasesOut = (s: string, leases: string): string => `
  with free as materialized (
    select r.id from (${leases}) i join ${s}.running r on ${byKey("r.id", "i.id")} and r.fence = i.fence order by i.id for update of r skip locked
  )
  select coalesce(array_agg(r.id), '{}') into v_held from (${leases}) i join ${s}.running r on ${byKey("r.id", "i.id")} and r.fence = i.fence
  where not exists (select from free f where f.id = r.id)`;

/**
 * If not all settlements were applied: the answer to each, in the order of their numbers, as in LEASE_ANSWERS: ok if it was applied, or
 * repeats one that was; locked if the lease holds, but another transaction holds its row. A cancel that ended a lease keeps its time and
 * raises the fence by one. With `ifExpired`, a locked lease is answered stale: a reclaim must not wait (see `exchange` in store.ts).
 */
export const refusals = (s: string, items: string): string => `
  select array_agg((case when i.done or st.settled = i.mark then ${leaseAnswer("ok")}
    when st.state = ${STATE.cancelled} and st.lease_until is not null and st.fence - 1 = i.fence then ${leaseAnswer("cancelled")}
    when st.state = ${STATE.running} and st.fence = i.fence and not i.if_expired then ${leaseAnswer("locked")} else ${leaseAnswer("stale")} end)::smallint order by i.ord)
  from (${items}) i left join lateral (select settled, state, fence, lease_until from ${s}.state where id = i.id offset 0) st on not i.done`;

/** The follow-up jobs, one JSON object each, with the number of their settlement. */
const FOLLOWING = `json_to_recordset(p_following) as i(ord int, id uuid, queue int, lane int, priority smallint, delay bigint, blocked boolean, max_retries smallint,
  max_lost smallint, retry_delay bigint, timeout bigint, tags text, extra text, payload text, facets text)`;

const DUE_AT = "(case when i.blocked then v_now else v_now + i.delay end)";

/** Inserts the follow-up jobs of applied settlements. A known id was inserted by the first try of this call. */
const follow = (s: string): string => `
  with item as materialized (
    select nextval('${s}.job_seq_seq') as seq, ${DUE_AT} as due_at, ${newState(DUE_AT)} as new_state, null::text as key, null::bigint as key_ttl, i.* from ${FOLLOWING}
    where (out_settled is null or out_settled[i.ord] = ${leaseAnswer("ok")}) and ${isNewJob(s)}
  )${insertItems(s)}`;

/**
 * Whether a claim repeats another, and whether it is late: a repeat came before it, so nobody waits for its answer.
 *
 * A repeat must not overtake its first try while that one commits: it would not see the granted jobs, and take more. So they take turns by
 * a lock. (Turn 0 never repeats.) And a try that the network delivers late must not take jobs after its repeat. So the repeat leaves a
 * mark: for the whole turn if its worker repeats it, otherwise for the tries that this store gave up, because other looks of the same turn
 * may follow (a long poll makes several). Cost for all others: two lookups in the index of a nearly empty table.
 */
const knowRepeats = (s: string): string => `
    if v_claim.turn > 0 then perform pg_advisory_xact_lock(hashtextextended('${s}.claim ' || v_claim.worker, v_claim.turn)); end if;
    v_turn := 'claim ' || v_claim.worker || ' ' || v_claim.turn;
    v_repeats := v_claim.turn > 0 and (v_claim.again or v_claim.given_up is not null);
    v_late := exists (select from ${s}.mark where name = any(array[v_turn, v_claim.nth_try]) and expires_at > v_now)`;

const leaveMarks = (s: string): string => `
      insert into ${s}.mark (name, expires_at)
      select name, v_now + ${REPEAT_REMEMBERED_MS} from unnest(v_claim.given_up || case when v_claim.again then v_turn end) m(name)
      where name is not null
      on conflict (name) do update set expires_at = excluded.expires_at`;

/** Lower than any rank, and far enough from the smallest number to add a head start. */
const BEFORE_ALL = "(-4e18)::bigint";

/** The most rows of a lane that one look reads. */
const LONGEST_STEP = 4000;

/** With more lanes than this, only those with a job are looked at. */
const MANY_LANES = 64;

/** Jumps from one lane with jobs to the next, however many lanes there ever were. */
const lanesWithJobs = (s: string): string => `
  with recursive held(lane) as (
    (select lane from ${s}.ready order by lane limit 1)
    union all
    select (select r.lane from ${s}.ready r where r.lane > h.lane order by r.lane limit 1) from held h where h.lane is not null
  )
  select array_agg(l.id), array_agg(l.lead), array_agg(l.floor) into v_lanes, v_leads, v_floors
  from held h join unnest(v_lanes, v_leads, v_floors) l(id, lead, floor) on l.id = h.lane`;

/** Reads one lane in order, and skips rows that others are taking. */
const takeFromLane = (s: string, holds: boolean): string => `
  return query with gone as (
    delete from ${s}.ready where ctid = any(array(
      select ctid from ${s}.ready where lane = v_lanes[1] and run_at >= v_floors[1] order by run_at, seq limit v_want for update skip locked))
    returning ${TAKEN}
  )${grant(s, holds)}`;

/**
 * Merges several lanes. First it looks at the heads of each without locks, from where the last look ended. In a lane that was not read to
 * its end, the rows after the last one are unknown, so the look ends at the lowest of these last rows (v_rank, v_seq; null: all lanes were
 * read to their end). Cost: the rows looked at, which are four for each wanted one, and those that others are taking.
 */
const lookAtLanes = (s: string): string => `
  with peek as materialized (
    select p.tid, p.run_at - l.lead as rank, p.seq, p.nth from (
      select id, lead, greatest(floor, v_rank + lead) as from_at, case when v_rank + lead >= floor then v_seq else 0 end as from_seq
      from unnest(v_lanes, v_leads, v_floors) u(id, lead, floor)) l
    cross join lateral (
      select ctid as tid, run_at, seq, row_number() over (order by run_at, seq) as nth
      from ${s}.ready where lane = l.id and (run_at, seq) > (l.from_at, l.from_seq) order by run_at, seq limit v_depth) p
  ), bound as materialized (select rank, seq from peek where nth = v_depth order by rank, seq limit 1)
  select array(select tid from peek where not exists (select from bound b where (peek.rank, peek.seq) > (b.rank, b.seq)) order by rank, seq),
    (select rank from bound), (select seq from bound) into v_seen, v_rank, v_seq`;

/**
 * Then it locks the first rows of all lanes by their ctid, and skips those that others are taking. A row of `ready` never changes, and its
 * ctid is not reused before this call has ended.
 */
const takeSeen = (s: string, holds: boolean): string => `
  return query with gone as (
    delete from ${s}.ready where ctid = any(array(
      select r.ctid from unnest(v_seen) with ordinality c(tid, nth) join ${s}.ready r on r.ctid = c.tid
      order by c.nth limit v_want for update of r skip locked))
    returning ${TAKEN}
  )${grant(s, holds)}`;

/** `v_now` is when the call began. If it then waited for a lock, it may find a newer job, and must not start it before it was due. */
const CLAIMED_AT = "greatest(v_now, s.run_at)";

/** What a claim changes of a job. */
export const GRANTED = {
  updated_at: CLAIMED_AT,
  attempt: "s.attempt + 1",
  fence: "s.fence + 1",
  state: `${STATE.running}`,
  started_at: CLAIMED_AT,
  ended_at: "null",
  lease_until: `${CLAIMED_AT} + v_claim.lease`,
  turn: `case when s.turn = ${RESUMED} then ${freeTurn("v_claim.turn")} else v_claim.turn end`,
  worker: "v_claim.worker",
  progress: "null",
};

/** What a claim reads of a row of `ready`: only what it keeps, because each of these columns is written and read again. */
export const TAKEN = `run_at - priority * v_queue.head_start as rank, ${keptColumns("ready", GRANTED)}, ready.attempt, ready.fence, ready.turn`;

/**
 * The columns of a claimed job. What the claim itself tells is null, and so is what most jobs have: see readGranted in codec.ts. Each value
 * that is left out saves the server and the client more than the comparison costs.
 */
export const ANSWERED = jobColumnsWith({
  state: "null::smallint",
  run_at: "nullif(s.run_at, j.created_at)",
  attempt: `nullif(${GRANTED.attempt}, 1)`,
  fence: `nullif(${GRANTED.fence}, ${GRANTED.attempt})`,
  retry_count: "nullif(s.retry_count, 0::smallint)",
  lost_count: "nullif(s.lost_count, 0::smallint)",
  snoozes: "nullif(s.snoozes, 0::smallint)",
  worker: "null::text",
  updated_at: "null::bigint",
  started_at: GRANTED.started_at,
  ended_at: "null::bigint",
  progress: "null::text",
  lease_until: "null::bigint",
});

/**
 * Notes what these jobs hold. A version before may have left a row of one behind. (Nobody else can insert one now, and with `on conflict` each row
 * would take a lock of its own.)
 */
export const hold = (s: string, jobs: string, key: string, isCounted = "true"): string =>
  `insert into ${s}.limit_holding (id, queue, key) select g.id, g.queue, ${key} from ${jobs} g
      left join lateral (select true as is_known from ${s}.limit_holding where id = g.id offset 0) h on true where h.is_known is null and ${isCounted}`;

/**
 * Grants a lease on each row removed from `ready`, and answers the jobs in order: that of `s`, because a lateral join keeps it. Sorting whole
 * answers would cost more, and so would a plain join, if the server believes that there are no jobs (see `byKey`). `holds`: the queue has a
 * running limit, so what runs is counted.
 */
const grant = (s: string, holds: boolean): string => `, moved as (
    insert into ${s}.running select ${changed("s", GRANTED)} from gone s
  ),${holds ? ` held as (${hold(s, "gone", `'${NO_KEY}'`)}),` : ""} counted as (${addMoves(s, { moved: "gone", queue: "v_queue.id", from: STATE.pending, to: STATE.running })})
  select v_claims, null::smallint[], null::int[], v_queue.dead_letters, ${ANSWERED}
  from (select * from gone order by rank, seq offset 0) s cross join lateral (select * from ${s}.job where id = s.id offset 0) j`;

/**
 * In: whether the transaction is ours (not a caller's); whether to leave out leases whose rows others hold, instead of waiting for them;
 * plain ends as columns (ids, fences, marks, results, run times, and times held or null); other settlements and follow-up jobs as JSON, which of these have facets
 * (null: none), waits, calls and notices as JSON (see suspend.ts; null: none), and claims as JSON.
 * Out: first, unless all is well, a row with claim -1: the answer to each settlement (null: all ok), the queues that have work now, as run_at in
 * how many milliseconds the first suspended job is due, and as attempt how many notices were left; then
 * the claimed jobs, in order, each with the number of its claim and whether its queue keeps dead letters, and without what its claim tells
 * (but the repeat of a claim has all columns); among them, with claim -2, a row that says that a look from the bottom of the lanes was slow
 * (see read-starts.ts), and with claim -3 rows that say when to ask again (see take.ts).
 */
export const exchange = (s: string, digest: string): string => `
create or replace function ${s}.exchange_${digest}(p_now bigint, p_ours boolean, p_careful boolean, p_ids uuid[], p_fences int[], p_marks bigint[], p_results text[], p_runs float8[], p_held bigint[],
  p_others json, p_following json, p_faceted uuid[], p_durable json, p_claims json)
  returns table (out_claim int, out_settled smallint[], out_woken int[], out_dead_letters boolean, ${JOB_RETURNS}) ${PLANNED} as $$
#variable_conflict use_column
declare
  v_now bigint := ${NOW};
  v_asked int := coalesce(cardinality(p_ids), 0) + coalesce(json_array_length(p_others), 0);
  v_done int := 0;
  v_others int[] := '{}';
  v_free int[];
  v_woken int[];
  v_held uuid[] := '{}';
  v_claim record;
  v_claims int := -1;
  v_turn text;
  v_late boolean;
  v_repeats boolean;
  v_queue record;
  v_lanes int[];
  v_leads bigint[];
  v_floors bigint[];
  v_lifted boolean;
  v_began timestamptz;
  v_want int;
  v_got int;
  v_depth int;
  v_rank bigint;
  v_seq bigint;
  v_seen tid[];
  v_keyed int[];
  ${FREED}
  ${SUSPENDED}
  v_running int;
  v_beyond int;
  v_may_wait boolean := not p_careful;
  v_folded boolean;
begin
  if p_ours then ${SHORT_LOCK_TIMEOUT}; end if;
  if p_careful then
    ${leaveHeldLeasesOut(s, LEASES)};
  end if;
  if p_ids is not null then
    ${complete(s)};
  end if;
  if (p_durable -> 'waits') is not null then
    ${storeWaits(s)};
  end if;
  if p_others is not null then
    ${settleOthers(s)};
    if strpos(p_others::text, '${LIMIT_USES}') > 0 then
      ${charge(s, OTHERS)};
    end if;
  end if;
  if v_asked > 0 and ${anyLimits(s)} then
    ${freeHoldings(s, `(p_ids || array(select i.id from ${OTHERS}))`, { ours: "p_ours", ended: "v_done = v_asked" })};
    v_may_wait := v_may_wait and not v_freed_holds;
    v_woken := nullif(v_woken || v_freed, '{}');
  end if;
  if v_asked > v_done then
    out_settled := (${refusals(s, LEASES)});
  end if;
  if p_following is not null then
    ${follow(s)};
  end if;
  if p_durable is not null then
    ${leaveNoticesAndCall(s)};
  end if;
  if p_faceted is not null then
    ${indexFacets(s, "p_faceted")} on conflict do nothing;
  end if;
  if out_settled is not null or v_woken is not null or p_durable is not null then
    out_claim := ${HEAD};
    out_woken := v_woken;
    out_run_at := v_due_in;
    out_attempt := v_notices;
    return next;
    out_run_at := null;
    out_attempt := null;
  end if;
  if p_claims is null then return; end if;

  for v_claim in select * from json_to_recordset(p_claims)
    as c(worker text, queues text[], types text[], lim int, lease bigint, turn bigint, again boolean, nth_try text, given_up text[],
      lanes int[], floors bigint[]) loop
    v_claims := v_claims + 1;
    v_want := v_claim.lim;
    ${knowRepeats(s)};
    if v_repeats then
      return query
        with s as (
          update ${s}.running set lease_until = v_now + v_claim.lease where worker = v_claim.worker and turn in (v_claim.turn, ${freeTurn("v_claim.turn")}) returning *
        ) select v_claims, null::smallint[], null::int[], q.dead_letters, ${JOB_COLUMNS}
        from s join ${s}.job j on j.id = s.id join ${s}.queue q on q.id = s.queue order by s.seq;
      get diagnostics v_got = row_count;
      ${leaveMarks(s)};
      continue when v_got > 0;
    end if;
    continue when v_late;

    v_lifted := v_claim.lanes is not null;
    for v_queue in select q.id, q.head_start, q.dead_letters, q.limits from unnest(v_claim.queues) with ordinality n(name, ord)
      join ${s}.queue q on q.name = n.name where not q.paused order by n.ord loop
      exit when v_want <= 0;
      v_running := null;
      v_beyond := 0;
      select array_agg(l.id) filter (where l.id > 0), array_agg(l.priority * v_queue.head_start) filter (where l.id > 0),
        array_agg(coalesce(f.floor, 0)) filter (where l.id > 0), array_agg(l.id) filter (where l.id < 0) into v_lanes, v_leads, v_floors, v_keyed
      from ${s}.lane l left join unnest(v_claim.lanes, v_claim.floors) f(lane, floor) on f.lane = l.id
      where l.queue = v_queue.id and (v_claim.types is null or l.type = any(v_claim.types));
      if v_keyed is not null or v_queue.limits is not null then
        v_folded := v_keyed is null or ${s}.fold_turns_${digest}(v_queue.id, v_now);
        if v_queue.limits::json -> 'rate' ->> 'units' is not null or exists (select from ${s}.limit_line where lane = any(v_keyed) and place = ${PLACE.ring}) then
          return query select * from ${s}.take_${digest}(v_now, v_claims, v_queue.id, v_lanes, v_keyed, v_want, v_claim.lease, v_claim.turn, v_claim.worker, v_may_wait, v_folded) t;
          get diagnostics v_got = row_count;
          v_want := v_want - (v_got - 1);
          v_may_wait := v_may_wait and v_got = 1 and v_queue.limits is null;
          continue;
        end if;
        -- No line may start, and there is no rate: jobs without a key are taken as ever, as many as have room.
        out_claim := ${ASK_AGAIN};
        out_settled := null;
        out_woken := array[v_claims];
        out_run_at := case when v_keyed is not null then ${nextAwake(s, "v_queue.id")} end;
        if not v_folded then out_run_at := least(out_run_at, ${BUSY_MS}); end if;
        v_running := (v_queue.limits::json ->> 'running')::int;
        if v_running is not null then
          v_got := ${s}.room_${digest}(v_queue.id, v_running, v_want, v_may_wait);
          v_may_wait := false;
          if v_got is null then out_run_at := least(out_run_at, ${BUSY_MS}); end if;
          v_beyond := v_want - least(v_want, coalesce(v_got, 0));
          v_want := v_want - v_beyond;
        end if;
        return next;
        if v_want = 0 then
          v_want := v_beyond;
          v_beyond := 0;
          continue;
        end if;
      end if;
      if v_lanes is null then
        v_want := v_want + v_beyond;
        continue;
      end if;
      if cardinality(v_lanes) > ${MANY_LANES} then
        ${lanesWithJobs(s)};
        if v_lanes is null then
          v_want := v_want + v_beyond;
          continue;
        end if;
      end if;
      v_depth := greatest(8, v_want * 4 / cardinality(v_lanes));
      v_rank := ${BEFORE_ALL};
      v_began := clock_timestamp();
      loop
        if cardinality(v_lanes) = 1 then
          if v_running is null then
            ${takeFromLane(s, false)};
          else
            ${takeFromLane(s, true)};
          end if;
          get diagnostics v_got = row_count;
          v_rank := null;
        else
          ${lookAtLanes(s)};
          if v_running is null then
            ${takeSeen(s, false)};
          else
            ${takeSeen(s, true)};
          end if;
          get diagnostics v_got = row_count;
        end if;
        v_want := v_want - v_got;
        exit when v_want <= 0;
        -- What was seen and not taken is being taken by others: go on after it, with longer steps.
        v_depth := least(v_depth * 2, ${LONGEST_STEP});
        continue when v_rank is not null;
        exit when not v_lifted;
        -- Too few above the floors: others may be below.
        v_floors := array_fill(0::bigint, array[cardinality(v_lanes)]);
        v_lifted := false;
        v_rank := ${BEFORE_ALL};
      end loop;
      if not v_lifted and clock_timestamp() - v_began > interval '2 ms' + interval '30 us' * v_claim.lim then
        out_claim := ${CLOGGED};
        out_settled := null;
        return next;
      end if;
      v_lifted := v_claim.lanes is not null;
      v_want := v_want + v_beyond;
    end loop;
  end loop;
end $$;`;
