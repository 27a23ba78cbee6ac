/**
 * Every SQL text of this engine except its functions, which are in functions/ and created by the migration (see function-set.ts). The
 * comment above each has its inputs, in order, and what an answer means. `now` is null, except in tests that set the time.
 */
import { AUDIT_KEPT_MS, MAX_AUDIT_ENTRIES } from "../../core/audit.ts";
import { TIMES_BY_MINUTE_MS } from "../../core/counters.ts";
import { TREND_HOURS } from "../../core/error-tally.ts";
import { MAX_MUTES } from "../../core/mute.ts";
import { QUEUE_SETTINGS } from "../../core/queue.ts";
import { INTERNAL_MARK } from "../../core/internal.ts";
import { SEARCHED_PAYLOAD_BYTES } from "../../core/search.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { FORMER_WORKERS_MS, MAX_FORMER_WORKERS, STOPPED } from "../../core/worker-entry.ts";
import { ENDED_STATES, MOVED_STEP, STATE, STEP } from "../numbers.ts";
import { GROUP_AT, GROUP_LENGTH } from "../stored-error.ts";
import { sayUsed, sweepFunctions } from "./function-set.ts";
import { isBucket, isTallyOf } from "./functions/snippets.ts";
import { PLACES } from "./tables.ts";
import { JOB_COLUMNS, LOG_COLUMNS, SUMMARY_COLUMNS } from "./codec.ts";

/** The store's time: $1 in tests, otherwise the server's. */
const nowOf = (given: string): string => `coalesce(${given}::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`;
const NOW = nowOf("$1");

export type Statements = ReturnType<typeof catalog> &
  ReturnType<typeof calls> &
  ReturnType<typeof lists> &
  ReturnType<typeof schedules> &
  ReturnType<typeof others>;

/** The statements on the tables of one schema, with the functions of this digest. */
export function statementsFor(s: string, digest: string): Statements {
  return { ...catalog(s), ...calls(s, digest), ...lists(s), ...schedules(s), ...others(s, digest) };
}

/** Statements worth preparing: function calls, which are then parsed and analysed only once. */
export function hotStatements(statements: Statements): string[] {
  const { enqueue, admit, exchange, extend, note, change, promote, find, expired, queues, counters, attempts } = statements;
  return [enqueue, admit, exchange, extend, note, change, promote, find, expired, queues, counters, attempts];
}

// ── Queues and lanes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

const TYPE = { number: "bigint", flag: "boolean", text: "text" } as const;

const catalog = (s: string) => ({
  /** In: names, each setting. */
  addQueues: `insert into ${s}.queue (name, ${QUEUE_SETTINGS.map(({ column }) => column).join(", ")})
    select distinct name, ${QUEUE_SETTINGS.map(({ kind }, index) => `$${2 + index}::${TYPE[kind]}`).join(", ")}
    from unnest($1::text[]) n(name) order by name on conflict do nothing`,
  /** In: names of queues, types, priorities. */
  addLanes: `insert into ${s}.lane (queue, type, priority)
    select q.id, n.type, n.priority from unnest($1::text[], $2::text[], $3::smallint[]) n(queue, type, priority) join ${s}.queue q on q.name = n.queue
    order by 1, 2, 3 on conflict do nothing`,
  /** In: names of queues, types, priorities. Out: id, queue id, queue, type, priority. */
  lanesByName: `select l.id, q.id, q.name, l.type, l.priority
    from unnest($1::text[], $2::text[], $3::smallint[]) n(queue, type, priority)
    join ${s}.queue q on q.name = n.queue join ${s}.lane l on l.queue = q.id and l.type = n.type and l.priority = n.priority`,
  /** In: ids of lanes. Out: as above. */
  lanesById: `select l.id, q.id, q.name, l.type, l.priority from ${s}.lane l join ${s}.queue q on q.id = l.queue where l.id = any($1::int[])`,
  /** In: ids of queues. Out: id, name. */
  queuesById: `select q.id, q.name from ${s}.queue q where q.id = any($1::int[])`,
  /** In: ids of queues. Out: the names of those that have a capacity. */
  boundedQueues: `select q.name from ${s}.queue q where q.id = any($1::int[]) and q.capacity is not null`,
  /** In: name. Out: id. */
  queueByName: `select q.id from ${s}.queue q where q.name = $1`,
  /** In: name, paused (null: stays), then for each setting whether it is given, and its value. */
  configure: `update ${s}.queue set configured = true, paused = coalesce($2::boolean, paused),
    ${QUEUE_SETTINGS.map(({ column, kind }, index) => `${column} = case when $${3 + 2 * index}::boolean then $${4 + 2 * index}::${TYPE[kind]} else ${column} end`).join(", ")}
    where name = $1`,
});

// ── Calls of functions: see functions/ ─────────────────────────────────────────────────────────────────────────────────────────────

const parameters = (count: number, from = 1): string => Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ");

const calls = (s: string, digest: string) => ({
  enqueue: `select ${s}.enqueue_${digest}(${parameters(18)})`,
  admit: `select * from ${s}.admit_${digest}(${parameters(21)})`,
  freeKeys: `select ${s}.free_keys_${digest}(${parameters(3)})`,
  exchange: `select * from ${s}.exchange_${digest}(${parameters(12)})`,
  extend: `select ${s}.extend_${digest}(${parameters(5)})`,
  note: `select ${s}.note_${digest}(${parameters(3)})`,
  change: `select * from ${s}.change_${digest}(${parameters(8)})`,
  remove: `select * from ${s}.remove_${digest}(${parameters(4)})`,
  promote: `select * from ${s}.promote_${digest}(${parameters(4)})`,
  prune: `select ${s}.prune_${digest}(${parameters(6)})`,
  fold: `select ${s}.fold_${digest}(${parameters(1)})`,
  find: `select * from ${s}.find_${digest}(${parameters(1)})`,
  attempts: `select * from ${s}.attempts_${digest}(${parameters(1)})`,
  expired: `select * from ${s}.expired_${digest}(${parameters(2)})`,
  queues: `select * from ${s}.queues_${digest}()`,
  oldest: `select * from ${s}.oldest_${digest}(${parameters(1)})`,
  ahead: `select ${s}.ahead_${digest}(${parameters(3)})`,
  counters: `select * from ${s}.counters_${digest}(${parameters(8)})`,
  tick: `select * from ${s}.tick_${digest}(${parameters(23)})`,
  spend: `select ${s}.spend_${digest}(${parameters(4)})`,
  /**
   * The same inside a caller's transaction: one text, which every driver passes on unchanged. Out, for this and the next: the number of the
   * transaction, null if nothing was written in it; and the rows.
   */
  admitWithin: `select json_build_array(pg_current_xact_id_if_assigned()::text,
    json_agg(json_build_array(out_ord, out_kind, out_state, out_created_at, out_run_at, out_holder)))::text as answer
    from ${s}.admit_${digest}(${parameters(21)})`,
  settleWithin: `select json_build_array(pg_current_xact_id_if_assigned()::text,
    coalesce(json_agg(json_build_array(out_settled, out_woken)), '[]'))::text as answer from ${s}.exchange_${digest}(${parameters(12)})`,
  /** In: ids. */
  findWithin: `select json_build_array(null, coalesce(json_agg(json_build_array(${JOB_COLUMNS})), '[]'))::text as answer
    from ${s}.job j join ${s}.state s on s.id = j.id where j.id = any($1::uuid[])`,
});

// ── Lists ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * In: cursor's created_at and seq (null: from the top), from, to. Where a list begins and ends. Walks check the end only after their limit:
 * without statistics the server assumes that a range with two ends is small, and would sort all of it.
 */
const BEGINS = `($1::bigint is null or (j.created_at, j.seq) < ($1, $2::bigint)) and ($4::bigint is null or j.created_at < $4)`;
const ENDS = `($3::bigint is null or j.created_at >= $3)`;
const NEWEST = "j.created_at desc, j.seq desc";
const internalQueues = (s: string): string => `array(select id from ${s}.queue where strpos(name, '${INTERNAL_MARK}') > 0)`;
const internalLanes = (s: string): string => `(select id from ${s}.lane where queue = any(${internalQueues(s)})) internal_lane`;
/** Not by comparing names: the server assumes that few rows match that, and would read and sort all jobs instead of walking down. */
const isUsers = (s: string): string => `q.id <> all(${internalQueues(s)})`;
const ERROR_GROUP = `substr(s.error, ${GROUP_AT}, ${GROUP_LENGTH})`;
/** In: the wanted facets as JSON (null: any). */
const hasFacets = (wanted: string): string => `(${wanted}::text is null or j.facets::jsonb @> ${wanted}::text::jsonb)`;
const ofBody = (
  s: string,
): string => `($12::boolean or ${isUsers(s)}) and ($6::text is null or l.type = $6) and ($7::text is null or q.name = $7)
  and ($8::smallint is null or l.priority between $8 and $9::smallint) and ($10::text is null or $10 = any(j.tags)) and ${hasFacets("$17")}`;
/**
 * In, after where a list begins and ends: states, type, queue, lowest and highest priority, tag, error group, whether to include internal
 * jobs, ended from, ended before; and as $17 the facets.
 */
const filter = (s: string): string =>
  `($5::smallint[] is null or s.state = any($5)) and ${ofBody(s)} and ($11::text is null or ${ERROR_GROUP} = $11)
    and ($13::bigint is null or s.ended_at >= $13) and ($14::bigint is null or s.ended_at < $14)`;

/** The collation "C" lower-cases A to Z and nothing else. */
const lowered = (text: string): string => `lower((${text}) collate "C")`;
/** In: text. The searched part of a payload is measured in bytes, so a longer one is cut as bytes. */
const IN_PAYLOAD = `(case when octet_length(j.payload) <= ${SEARCHED_PAYLOAD_BYTES} then strpos(${lowered("j.payload")}, $18::text) > 0
  else position(convert_to($18::text, 'UTF8') in
    substring(convert_to(${lowered(`left(j.payload, ${SEARCHED_PAYLOAD_BYTES})`)}, 'UTF8') from 1 for ${SEARCHED_PAYLOAD_BYTES})) > 0 end)`;
/** In: text, the same inside a JSON text. Fields other than the payload that may have it; the reader of the row checks again. */
const IN_SUMMARY = `(select strpos(t.text, $18::text) > 0 or strpos(t.text, $19::text) > 0 from (select ${lowered(
  "concat_ws(E'\\n', j.id, l.type, j.key, array_to_string(j.tags, E'\\n'), s.error)",
)} as text) t)`;

const lists = (s: string) => ({
  ...listStatements(s, "false", "true"),
  search: listStatements(s, IN_PAYLOAD, `(${IN_SUMMARY} or ${IN_PAYLOAD})`),
  /** Jobs that may have it, but not in the payload. */
  searchBeside: listStatements(s, "false", `(${IN_SUMMARY} and not ${IN_PAYLOAD})`),
  count: countStatements(s, "true"),
  countInPayload: countStatements(s, IN_PAYLOAD),
  /** In: as count. For filters without state, error and end, which it does not read. Out: how many. */
  countBodies: { walk: countBodies(s, newestBodies(s)), walkFacet: countBodies(s, bodiesOfFacet(s)) },
  /**
   * In: where the list begins and ends, how many jobs, whether to include internal ones, states (null: all). Out: the position of the last
   * of that many jobs, if there are so many, and how many of them are candidates: all, without a look at each, if none can be another.
   */
  lastCandidate: `select j.created_at, j.seq, case
      when $7::smallint[] is null and ($6::boolean or not exists (select from ${internalLanes(s)})) then $5
      when $7::smallint[] is null then (select count(*) from (${newest(s, "j.lane")}) c where ${isUsersLane(s)})
      else (select count(*) from (${newest(s, "j.id, j.lane")}) c ${eachState(s, "c", "$7")}
        where s.state = any($7) and ($6::boolean or ${isUsersLane(s)})) end
    from (select j.created_at, j.seq from ${s}.job j where ${BEGINS} order by ${NEWEST} offset $5::bigint - 1 limit 1) j where ${ENDS}`,
  /** In: where the list begins and ends, how many jobs, queue, facets. Out: as lastCandidate; all are candidates. */
  lastOfFacet: `select j.created_at, j.seq, $5 from (${newestOfFacet(s, "$6", "$7")} offset $5::bigint - 1 limit 1) j where ${ENDS}`,
  /** In: as lastEnded, now. Out: error group, type, hours since the end, count, first and last end, the ids of the first and of the last. */
  countErrors: `select ${ERROR_GROUP}, l.type, least(${TREND_HOURS}, greatest(0, ((select ${nowOf("$15")}) - s.ended_at) / ${HOUR_MS})), count(*),
      min(s.ended_at), max(s.ended_at), (array_agg(s.id order by s.ended_at))[1], (array_agg(s.id order by s.ended_at desc))[1]
    ${lastEnded(s)} and s.error is not null group by 1, 2, 3`,
  /** In: as lastEnded, field. Out: its value (null: none), count. */
  countFacetValues: `select j.facets::json ->> $15::text, count(*) ${lastEnded(s)} group by 1`,
  /** In: tallies, queue (null: all), whether to include internal queues. Out: how many jobs there are, and in how many queues. */
  countEnded: `select coalesce(sum(amount), 0)::bigint, count(*) from (
      select queue, sum(amount) as amount from (
        select queue, metric, amount from ${s}.tally
        union all select queue, metric, amount from ${s}.cell
      ) cells where metric = any($1::smallint[])
        and ($2::text is null or queue = (select id from ${s}.queue where name = $2))
        and ($3::boolean or queue <> all(${internalQueues(s)})) group by queue
    ) queues where amount > 0`,
  /**
   * In: states, queue (null: all), whether to include internal queues, ended from, ended before (each null: any), most. Out: how many jobs
   * there are, counted up to `most`.
   */
  countEndedWithin: `select count(*) from (
      select from ${s}.queue q cross join unnest($1::smallint[]) as wanted(state)
      cross join lateral (select from ${s}.ended e where e.queue = q.id and e.state = wanted.state
        and ($4::bigint is null or e.ended_at >= $4) and ($5::bigint is null or e.ended_at < $5)) e
      where ($2::text is null or q.name = $2) and ($3::boolean or ${isUsers(s)}) limit $6::bigint
    ) counted`,
  /**
   * In: type, queue (each null: any), whether to include internal ones. Out: how many lanes there are, and how many queues have them.
   */
  countLanes: `select count(*), count(distinct q.id) from ${s}.lane l join ${s}.queue q on q.id = l.queue
    where ($1::text is null or l.type = $1) and ($2::text is null or q.name = $2) and ($3::boolean or ${isUsers(s)})`,
  /** In: tallies, queue (null: all), whether to include internal queues. Out: how many jobs; those not ended, in all queues. */
  countStates: `select coalesce(sum(amount), 0)::bigint from (
      select queue, metric, amount from ${s}.tally
      union all select queue, metric, amount from ${s}.cell
    ) cells where metric = any($1::smallint[])
      and (not ${isTallyOf("metric", ENDED_STATES)} or (($2::text is null or queue = (select id from ${s}.queue where name = $2))
        and ($3::boolean or queue <> all(${internalQueues(s)}))))`,
});

/**
 * In: states, how many of the last ended jobs to look at in each queue and state; then queue, from, to, type, lowest and highest priority,
 * tag (each null: any), whether to include internal jobs, ended from, ended before, facets, error group (each null: any).
 */
const lastEnded = (s: string): string => `from ${s}.queue q cross join unnest($1::smallint[]) as wanted(state)
    cross join lateral (select * from ${s}.ended e where e.queue = q.id and e.state = wanted.state
      and ($11::bigint is null or e.ended_at >= $11) and ($12::bigint is null or e.ended_at < $12) order by e.ended_at desc limit $2::bigint) s
    join ${s}.lane l on l.id = s.lane join ${s}.job j on j.id = s.id
    where ($10::boolean or ${isUsers(s)}) and ($3::text is null or q.name = $3) and ($4::bigint is null or j.created_at >= $4)
      and ($5::bigint is null or j.created_at < $5) and ($6::text is null or l.type = $6)
      and ($7::smallint is null or l.priority between $7 and $8::smallint) and ($9::text is null or $9 = any(j.tags))
      and ${hasFacets("$13")} and ($14::text is null or ${ERROR_GROUP} = $14)`;

/** `found`: whether the payload has the search text. `meant`: whether the job may have it at all. */
const listStatements = (s: string, found: string, meant: string) => ({
  /**
   * In: where the list begins and ends, the inputs of `filter`, most candidates, limit, facets, and for a search its text, plain and in
   * JSON. Out: seq, found, then a summary. Walks down from the newest job and leaves out what does not match.
   */
  walk: `select j.seq, ${found}, ${SUMMARY_COLUMNS} ${walked(s, newestBodies(s), meant)} order by ${NEWEST} limit $16`,
  /** In: as walk, with a queue and facets. Walks down the index of the first facet. Cost: the candidates asked for, of that index alone. */
  walkFacet: `select j.seq, ${found}, ${SUMMARY_COLUMNS} ${walked(s, bodiesOfFacet(s), meant)} order by f.created_at desc, f.seq desc limit $16`,
  /** In: as walk. Picks the jobs of the wanted states from the tables of these states; right if they are few. */
  pick: `${standing(s)} select j.seq, ${found}, ${SUMMARY_COLUMNS} ${picked(s, meant)} order by ${NEWEST} limit $16`,
  /**
   * In: as walk, but where the list begins is a place in the index of the state: what it is sorted by, and seq. Out, no row at the end of
   * the index, else: how many candidates it looked at, how many of these are in a wanted status, queue and type, the place of the last; and
   * of each match (at least one row, with nulls if there is none) its place, found, then a summary.
   * Cost: the candidates asked for, in each queue and state or in each lane.
   */
  ended: inOrder(s, found, meant, endedPlaces(s), "desc"),
  pending: inOrder(s, found, meant, readyPlaces(s), "asc"),
  due: inOrder(s, found, meant, duePlaces(s), "asc"),
});

const inOrder = (s: string, found: string, meant: string, places: string, way: "asc" | "desc"): string =>
  `with c as materialized (${places} order by at ${way}, seq ${way} limit $15)
    , n as (select count(*) over (), count(*) filter (where wanted) over (), at, seq from c
      order by at ${way === "asc" ? "desc" : "asc"}, seq ${way === "asc" ? "desc" : "asc"} limit 1)
    select * from n left join lateral (
      select s.at, s.seq, ${found}, ${SUMMARY_COLUMNS} from c s ${eachOf(s, "job", "j", "s")}
        join ${s}.lane l on l.id = j.lane join ${s}.queue q on q.id = l.queue
      where s.wanted and ${ENDS} and ($4::bigint is null or j.created_at < $4) and ${filter(s)} and ${meant}
      order by s.at ${way}, s.seq ${way} limit $16
    ) m on true`;

/** The lanes of the wanted queue and type. */
const wantedLanes = (s: string): string => `${s}.lane l join ${s}.queue q on q.id = l.queue
  where ($6::text is null or l.type = $6) and ($7::text is null or q.name = $7) and ($12::boolean or ${isUsers(s)})`;

const endedPlaces = (s: string): string => `select x.*, x.ended_at as at, true as wanted
    from (select q.id, wanted.state from ${s}.queue q cross join unnest($5::smallint[]) wanted(state)
      where ($7::text is null or q.name = $7) and ($12::boolean or ${isUsers(s)})) p
    cross join lateral (select * from ${s}.ended e where e.queue = p.id and e.state = p.state
      and ($1::bigint is null or (e.ended_at <= $1 and (e.ended_at < $1 or e.seq < $2::bigint)))
      and ($13::bigint is null or e.ended_at >= $13) and ($14::bigint is null or e.ended_at < $14)
      order by e.ended_at desc, e.seq desc limit $15) x`;

const readyPlaces = (s: string): string => `select x.*
    from (select l.id, l.priority * q.head_start as ahead from ${wantedLanes(s)}) p
    cross join lateral (select r.*, r.run_at - p.ahead as at, true as wanted from ${s}.ready r where r.lane = p.id
      and ($1::bigint is null or (r.run_at, r.seq) > ($1 + p.ahead, $2::bigint)) order by r.run_at, r.seq limit $15) x`;

/** One index for both statuses, all queues and all types. */
const duePlaces = (s: string): string => `select x.* from (
      select d.*, d.run_at as at, d.state = any($5) and d.lane = any(array(select l.id from ${wantedLanes(s)})) as wanted from ${s}.due d
      where ($1::bigint is null or (d.run_at, d.seq) > ($1, $2::bigint)) order by d.run_at, d.seq limit $15) x`;

/** The same, counted. In: as above, the text only plain. */
const countStatements = (s: string, meant: string) => ({
  walk: `select count(*) ${walked(s, newestBodies(s), meant)} and $16::bigint > 0`,
  walkFacet: `select count(*) ${walked(s, bodiesOfFacet(s), meant)} and $16::bigint > 0`,
  /** Out also: how many candidates there were. */
  pick: `${standing(s)} select count(*), (select count(*) from s) ${picked(s, meant)} and $16::bigint > 0`,
});

const countBodies = (s: string, bodies: string): string => `select count(*) from ${bodies}
    join ${s}.lane l on l.id = j.lane join ${s}.queue q on q.id = l.queue
    where ${ENDS} and ${ofBody(s)} and $5::smallint[] is null and $11::text is null and $13::bigint is null and $14::bigint is null
      and $16::bigint > 0`;

const walked = (s: string, bodies: string, meant: string): string => `from ${bodies} ${eachState(s, "j", "$5")}
    join ${s}.lane l on l.id = j.lane join ${s}.queue q on q.id = l.queue where ${ENDS} and ${filter(s)} and ${meant}`;

const newestBodies = (s: string): string => `(select * from ${s}.job j where ${BEGINS} order by ${NEWEST} limit $15) j`;

const bodiesOfFacet = (s: string): string => `(${newestOfFacet(s, "$7", "$17")} limit $15) f
    cross join lateral (select * from ${s}.job x where x.created_at = f.created_at and x.seq = f.seq offset 0) j`;

/** The places of jobs with the first of these facets (JSON), in the order of lists. */
const newestOfFacet = (s: string, queue: string, facets: string): string => `select j.created_at, j.seq from ${s}.facet j
    where j.queue = (select id from ${s}.queue where name = ${queue}::text)
      and (j.field, j.value) = (select key, value from json_each_text(${facets}::text::json) limit 1) and ${BEGINS} order by ${NEWEST}`;

/** The row with the same id, looked up one by one: otherwise the server may read a whole table because it expects many. */
const eachOf = (s: string, table: string, name: string, other: string): string =>
  `cross join lateral (select * from ${s}.${table} x where x.id = ${other}.id offset 0) ${name}`;

/** The same for the tables of these states (null: all). The server knows them when it plans, so it looks in no other table. */
const eachState = (s: string, other: string, states: string): string =>
  `cross join lateral (${Object.entries(PLACES)
    .map(([table, held]) => {
      const isWanted = `(${states}::smallint[] is null or ${states}::smallint[] && '{${held.join()}}'::smallint[])`;
      return `select * from ${s}.${table} x where x.id = ${other}.id and ${isWanted}`;
    })
    .join(" union all ")} offset 0) s`;

const newest = (s: string, columns: string): string =>
  `select ${columns} from ${s}.job j where ${BEGINS} order by ${NEWEST} limit $5::bigint`;
const isUsersLane = (s: string): string => `c.lane <> all(array(select id from ${internalLanes(s)}))`;

const standing = (s: string): string => `with s as materialized (
      select * from ${s}.ready where ${STATE.pending} = any($5::smallint[]) and lane = any(array(select l.id from ${wantedLanes(s)})) union all select * from ${s}.due where $5::smallint[] && '{${STATE.scheduled},${STATE.retrying}}'::smallint[] and state = any($5)
      union all select * from ${s}.running where ${STATE.running} = any($5) union all select * from ${s}.blocked where ${STATE.blocked} = any($5)
      union all select * from ${s}.ended where queue = any(array(
        select q.id from ${s}.queue q where ($7::text is null or q.name = $7) and ($12::boolean or ${isUsers(s)}))) and state = any($5)
        and ($13::bigint is null or ended_at >= $13) and ($14::bigint is null or ended_at < $14)
      limit $15
    )`;

const picked = (s: string, meant: string): string => `from s ${eachOf(s, "job", "j", "s")} join ${s}.lane l on l.id = j.lane
    join ${s}.queue q on q.id = l.queue where ${BEGINS} and ${ENDS} and ${filter(s)} and ${meant}`;

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const SCHEDULE_COLUMNS = "spec, version, next_tick, last_tick, last_job, created_at, updated_at";

const schedules = (s: string) => ({
  /** In: now, names (null: all). Out: first the time, then schedules. */
  schedules: `select null, ${NOW}, null::bigint, null::bigint, null::uuid, null::bigint, null::bigint
    union all (select ${SCHEDULE_COLUMNS} from ${s}.schedule where $2::text[] is null or name = any($2) order by name)`,
  /** In: now, name, spec, paused, next_tick. No row: there is one. */
  addSchedule: `insert into ${s}.schedule (name, spec, paused, version, next_tick, created_at, updated_at)
    select $2, $3, $4::boolean, nextval('${s}.schedule_version'), $5::bigint, n.now, n.now from (select ${NOW} as now) n
    on conflict do nothing returning 1`,
  /** In: now, name, spec, paused, next_tick, version that was seen. No row: somebody was faster. */
  setSchedule: `update ${s}.schedule set spec = $3, paused = $4::boolean, next_tick = $5::bigint, updated_at = ${NOW},
    version = nextval('${s}.schedule_version') where name = $2 and version = $6::bigint returning 1`,
  /** In: name. */
  deleteSchedule: `delete from ${s}.schedule where name = $1 returning 1`,
  /** In: now, limit. Out: first the time and the next tick to come, then schedules that are due. */
  dueSchedules: `select null, ${NOW}, (select min(next_tick) from ${s}.schedule where not paused and next_tick is not null and next_tick > ${NOW}),
      null::bigint, null::uuid, null::bigint, null::bigint
    union all (select ${SCHEDULE_COLUMNS} from ${s}.schedule
      where not paused and next_tick is not null and next_tick <= ${NOW} order by next_tick limit $2)`,
});

// ── Logs, workers, upkeep, feed ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Drops up to $2 rows, and skips those that others hold. The list is an array, made once: the server may run a subquery after `in` again
 * for each row of the table, and it would find other rows each time.
 */
const dropSome = (table: string, past: string): string =>
  `delete from ${table} where ctid = any(array(select ctid from ${table} where ${past} limit $2 for update skip locked)) returning 1`;

const others = (s: string, digest: string) => ({
  /** In: id, after, limit. */
  logs: `select ${LOG_COLUMNS} from ${s}.log where job = $1 and number > $2 order by number limit $3`,
  /** In: id. */
  manualChanges: `select change from ${s}.manual_change where job = $1 order by number`,
  sayFunctionsUsed: sayUsed(s, digest),
  sweepFunctions: sweepFunctions(s, digest),
  /** In: now, id, entry, ttl. */
  putWorker: `insert into ${s}.worker (id, entry, heartbeat_at, expires_at) select $2, $3, n.now, n.now + $4::bigint from (select ${NOW} as now) n
    on conflict (id) do update set entry = excluded.entry, heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at`,
  /** In: now, id. The entry is JSON that we wrote, so its state can be found as text; inside a string the quotes would be escaped. */
  stopWorker: `update ${s}.worker set expires_at = ${NOW}, entry = regexp_replace(entry, '"state":"[a-z]+"', '"state":"${STOPPED}"')
    where id = $2 and expires_at > ${NOW}`,
  /** In: now. */
  liveWorkers: `select entry, heartbeat_at from ${s}.worker where expires_at > ${NOW} order by id`,
  /** In: now. */
  formerWorkers: `select entry, heartbeat_at, expires_at from ${s}.worker where expires_at <= ${NOW} and expires_at > ${NOW} - ${FORMER_WORKERS_MS}
    order by expires_at desc, id limit ${MAX_FORMER_WORKERS}`,
  /**
   * In: now, limit, how long to keep minutes, hours and news. Out: how many rows were dropped or moved. One process at a time moves histograms: a
   * second one would go on behind the first, and what the first then rolled back would stay where it was.
   */
  sweep: `with expired_keys as (${dropSome(`${s}.key`, `expires_at is not null and expires_at <= ${NOW} order by expires_at`)})
    , former_workers as (${dropSome(
      `${s}.worker`,
      `expires_at <= ${NOW} - ${FORMER_WORKERS_MS} or (expires_at <= ${NOW} and id = any(array(
        select id from ${s}.worker where expires_at <= ${NOW} order by expires_at desc, id offset ${MAX_FORMER_WORKERS})))`,
    )})
    , turn as materialized (select pg_try_advisory_xact_lock(hashtext('${s}.times')) as mine, coalesce((select amount from ${s}.count where step = ${MOVED_STEP}), 0) as since)
    , moved as (
      delete from ${s}.count where ctid = any(array(select ctid from ${s}.count where (select mine from turn) and step = ${STEP.minute}
        and at >= (select since from turn) and at < ${NOW} - ${TIMES_BY_MINUTE_MS} and ${isBucket("metric")} order by at, queue, metric limit $2))
      returning at, queue, metric, amount
    ), added as (
      insert into ${s}.count (step, at, queue, metric, amount)
      select ${STEP["hour-times"]}, at - at % ${HOUR_MS}, queue, metric, sum(amount) from moved group by 2, 3, 4 order by 2, 3, 4
      on conflict (step, at, queue, metric) do update set amount = count.amount + excluded.amount
    ), reached as (
      insert into ${s}.count (step, at, queue, metric, amount) select ${MOVED_STEP}, 0, 0, 0, max(at) from moved having count(*) > 0
      on conflict (step, at, queue, metric) do update set amount = excluded.amount
    )
    , minutes as (${dropSome(`${s}.count`, `step = ${STEP.minute} and at < ${NOW} - $3::bigint and (not ${isBucket("metric")} or at < (select since from turn))`)})
    , hours as (${dropSome(`${s}.count`, `step in (${STEP.hour}, ${STEP["hour-times"]}) and at < ${NOW} - $4::bigint`)})
    , news as (${dropSome(`${s}.news`, `at < ${NOW} - $5::bigint order by seq`)})
    , allowances as (${dropSome(`${s}.allowance`, `free_at <= ${NOW}`)})
    , marks as (${dropSome(`${s}.mark`, `expires_at <= ${NOW}`)})
    , schemas as (${dropSome(`${s}.payload_schema`, `expires_at <= ${NOW}`)})
    , mutes as (${dropSome(
      `${s}.mute`,
      `expires_at <= ${NOW} or name in (select name from ${s}.mute where expires_at is null or expires_at > ${NOW} order by at desc, name offset ${MAX_MUTES})`,
    )})
    , audit as (${dropSome(
      `${s}.audit`,
      `at < ${NOW} - ${AUDIT_KEPT_MS} or number <= (select max(number) from ${s}.audit) - ${MAX_AUDIT_ENTRIES} order by number`,
    )})
    select (select count(*) from moved) + (select count(*) from expired_keys) + (select count(*) from former_workers) + (select count(*) from minutes)
      + (select count(*) from hours) + (select count(*) from news) + (select count(*) from allowances) + (select count(*) from marks)
      + (select count(*) from schemas) + (select count(*) from mutes) + (select count(*) from audit)`,
  /** In: now, name, time to live. */
  putMark: `insert into ${s}.mark select $2, ${NOW} + $3::bigint on conflict (name) do update set expires_at = excluded.expires_at`,
  /** In: now, names. Out: those that are marked. */
  readMarks: `select name from ${s}.mark where name = any($2::text[]) and expires_at > ${NOW}`,
  /** In: now, digests in order, texts, time to live. In order, so that two calls never wait for each other's rows. */
  putSchemas: `insert into ${s}.payload_schema (digest, text, expires_at)
    select i.digest, i.text, ${NOW} + $4::bigint from unnest($2::text[], $3::text[]) i(digest, text)
    on conflict (digest) do update set expires_at = excluded.expires_at`,
  /** In: now, digests. */
  readSchemas: `select digest, text from ${s}.payload_schema where digest = any($2::text[]) and expires_at > ${NOW}`,
  /** In: now, group, time to live (null: for ever), JSON. */
  putMute: `insert into ${s}.mute select $2, n.now, n.now + $3::bigint, $4 from (select ${NOW} as now) n
    on conflict (name) do update set at = excluded.at, expires_at = excluded.expires_at, entry = excluded.entry`,
  /** In: group. */
  dropMute: `delete from ${s}.mute where name = $1`,
  /** In: now. Out: the latest first. */
  readMutes: `select name, at, expires_at, entry from ${s}.mute where expires_at is null or expires_at > ${NOW} order by at desc, name limit ${MAX_MUTES}`,
  /** In: now, entries. */
  writeAudit: `insert into ${s}.audit (at, entry) select ${NOW}, e.entry from unnest($2::text[]) with ordinality e(entry, ord) order by e.ord`,
  /** In: before (null: any), limit. Out: the newest first. */
  readAudit: `select number, at, entry from ${s}.audit where $1::bigint is null or number < $1 order by number desc limit $2`,
  /** Skips tables that others have locked; takes no lock that would stop a claim. */
  vacuum: `vacuum (skip_locked, truncate false, index_cleanup on) ${["ready", "running", "due", "delta"].map((name) => `${s}.${name}`).join(", ")}`,
  /** In: channel, payload. */
  notify: "select pg_notify($1, $2)",
  /** Out: the names of queues that have pending jobs. */
  queuesWithWork: `select distinct q.name from ${s}.queue q where exists (
    select from ${s}.lane l where l.queue = q.id and exists (select from ${s}.ready r where r.lane = l.id))`,
  /** In: numbers of transactions. Out: the number, and whether it is in progress, committed or aborted. */
  statusOfTransactions: "select x::text, pg_xact_status(x) from unnest($1::xid8[]) t(x)",
  /** In: now, events. */
  addNews: `insert into ${s}.news (at, events) values (${NOW}, $2)`,
  /** Out: the number of the last news. */
  lastNews: `select coalesce(max(seq), 0) from ${s}.news`,
  /** In: the last number that was read, earlier numbers that were missing, limit. */
  readNews: `select seq, events from ${s}.news where seq > $1 or seq = any($2::bigint[]) order by seq limit $3`,
  /** In: now, for how long. */
  sayListening: `insert into ${s}.meta (name, value) values ('listening_until', ${NOW} + $2::bigint)
    on conflict (name) do update set value = greatest(meta.value, excluded.value)`,
  /** In: now. Out: whether somebody listens to news. */
  isListening: `select coalesce((select value from ${s}.meta where name = 'listening_until') > ${NOW}, false)`,
});
