/**
 * The SQL texts of this engine, except lists (list-statements.ts) and functions, which are in functions/ and created when they are missing
 * (see function-set.ts). The comment above each has its inputs, in order, and what an answer means. `now` is null, except in tests that set
 * the time.
 */
import { AUDIT_KEPT_MS, MAX_AUDIT_ENTRIES } from "../../core/audit.ts";
import { TIMES_BY_MINUTE_MS } from "../../core/counters.ts";
import { MAX_MUTES } from "../../core/mute.ts";
import { MAX_KEPT_SCHEMAS } from "../../core/payload-schema.ts";
import { QUEUE_SETTINGS } from "../../core/queue.ts";
import { MAX_STEPS_READ_BYTES } from "../../core/steps.ts";
import { FORMER_WORKERS_MS, MAX_FORMER_WORKERS, STOPPED } from "../../core/worker-entry.ts";
import { MOVED_STEP, STEP } from "../numbers.ts";
import { type FigureStatements, figures } from "./figure-statements.ts";
import { sayUsed, sweepFunctions } from "./function-set.ts";
import { packTimes } from "./functions/hour-times.ts";
import { listCalls, type ListStatements } from "./functions/lists.ts";
import { isBucket, nowOf, SERVER_TIME } from "./functions/snippets.ts";
import { JOB_RETURNED, LOG_COLUMNS } from "./codec.ts";
import { BUSY_LIMIT_TABLES } from "./limit-tables.ts";
import { type LimitStatements, limitStatementsFor } from "./limit-statements.ts";
import { KEYED_MARK, NO_KEY } from "./lines.ts";

/** The store's time: $1 in tests, otherwise the server's. */
const NOW = nowOf("$1::bigint");

export type Statements = ReturnType<typeof catalog> &
  ReturnType<typeof calls> &
  ListStatements &
  FigureStatements &
  LimitStatements &
  ReturnType<typeof schedules> &
  ReturnType<typeof others>;

/** The statements on the tables of one schema, with the functions of this digest. */
export function statementsFor(s: string, digest: string): Statements {
  return {
    ...catalog(s),
    ...calls(s, digest),
    ...listCalls(s, digest),
    ...figures(s),
    ...limitStatementsFor(s, digest),
    ...schedules(s),
    ...others(s, digest),
  };
}

/** Statements worth preparing: function calls, which are then parsed and analysed only once. */
export function hotStatements(statements: Statements): string[] {
  const { enqueue, admit, replace, exchange, extend, note, keepSteps, readSteps, endSteps, readFlows, changeFlows, change, promote } =
    statements;
  const { find, expired, queues, counters, hourTimes, attempts } = statements;
  const writes = [enqueue, admit, replace, exchange, extend, note, keepSteps, readSteps, endSteps, readFlows, changeFlows, change, promote];
  return [...writes, find, expired, queues, counters, hourTimes, attempts];
}

// ── Queues and lanes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Which parameter of `configure` says whether limits are given. */
const LIMITS_AT = 3 + 2 * QUEUE_SETTINGS.findIndex(({ key }) => key === "limits");

const TYPE = { number: "bigint", flag: "boolean", text: "text" } as const;

/** For each wanted lane, in order: id, queue id, queue, type, priority. An id is null if there is no such lane or queue. */
const WANTED_LANE = "l.id, q.id, n.queue, n.type, n.priority";
const wantedLanes = (s: string): string => `
    from unnest($1::text[], $2::text[], $3::smallint[]) with ordinality n(queue, type, priority, ord)
    left join ${s}.queue q on q.name = n.queue left join ${s}.lane l on l.queue = q.id and l.type = n.type and l.priority = n.priority`;

const addLanes = (s: string): string => `insert into ${s}.lane (id, queue, type, priority)
    select nextval('${s}.lane_id_seq') * case when right(n.type, 1) = '${KEYED_MARK}' then -1 else 1 end, q.id, n.type, n.priority from unnest($1::text[], $2::text[], $3::smallint[]) n(queue, type, priority) join ${s}.queue q on q.name = n.queue
    order by 2, 3, 4 on conflict do nothing`;

const catalog = (s: string) => ({
  /** In: names, each setting. */
  addQueues: `insert into ${s}.queue (name, ${QUEUE_SETTINGS.map(({ column }) => column).join(", ")})
    select distinct name, ${QUEUE_SETTINGS.map(({ kind }, index) => `$${2 + index}::${TYPE[kind]}`).join(", ")}
    from unnest($1::text[]) n(name) order by name on conflict do nothing`,
  /** In: names of queues, types, priorities. */
  addLanes: addLanes(s),
  /** In: names of queues, types, priorities. Out: see WANTED_LANE. */
  lanesByName: `select ${WANTED_LANE} ${wantedLanes(s)} order by n.ord`,
  /** The same two inside a caller's transaction (see `admitWithin`). */
  addLanesWithin: `with added as (${addLanes(s)}) select '[null, []]' as answer`,
  lanesByNameWithin: `select json_build_array(null, json_agg(json_build_array(${WANTED_LANE}) order by n.ord))::text as answer ${wantedLanes(s)}`,
  /** In: ids of lanes. Out: id, queue id, queue, type, priority. */
  lanesById: `select l.id, q.id, q.name, l.type, l.priority from ${s}.lane l join ${s}.queue q on q.id = l.queue where l.id = any($1::int[])`,
  /** In: ids of queues. Out: id, name. */
  queuesById: `select q.id, q.name from ${s}.queue q where q.id = any($1::int[])`,
  /** In: ids of queues. Out: the names of those that have a capacity. */
  boundedQueues: `select q.name from ${s}.queue q where q.id = any($1::int[]) and q.capacity is not null`,
  /** In: name. Out: id. */
  queueByName: `select q.id from ${s}.queue q where q.name = $1`,
  /**
   * In: name, paused (null: stays), then for each setting whether it is given, and its value. With limits, the present leases of the queue are
   * counted from the same commit on: a claim between two commits would not count them.
   */
  configure: `with changed as (update ${s}.queue set configured = true, paused = coalesce($2::boolean, paused),
    ${QUEUE_SETTINGS.map(({ column, kind }, index) => `${column} = case when $${3 + 2 * index}::boolean then $${4 + 2 * index}::${TYPE[kind]} else ${column} end`).join(", ")}
    where name = $1 returning id)
    insert into ${s}.limit_key (queue, key, recount_since)
    select id, '${NO_KEY}', ${SERVER_TIME} from changed where $${LIMITS_AT}::boolean and $${LIMITS_AT + 1}::text is not null
    on conflict (queue, key) do update set recount_since = excluded.recount_since, full_up = false`,
});

// ── Calls of functions: see functions/ ─────────────────────────────────────────────────────────────────────────────────────────────

const parameters = (count: number, from = 1): string => Array.from({ length: count }, (_, index) => `$${from + index}`).join(", ");

const ADMITTED_WITHIN = `select json_build_array(pg_current_xact_id_if_assigned()::text,
    json_agg(json_build_array(out_ord, out_kind, out_state, out_created_at, out_run_at, out_holder)))::text as answer`;

const calls = (s: string, digest: string) => ({
  enqueue: `select ${s}.enqueue_${digest}(${parameters(18)})`,
  admit: `select * from ${s}.admit_${digest}(${parameters(21)})`,
  admitFlows: `select * from ${s}.admit_flows_${digest}(${parameters(30)})`,
  freeKeys: `select ${s}.free_keys_${digest}(${parameters(3)})`,
  exchange: `select * from ${s}.exchange_${digest}(${parameters(14)})`,
  extend: `select ${s}.extend_${digest}(${parameters(5)})`,
  note: `select ${s}.note_${digest}(${parameters(4)})`,
  change: `select * from ${s}.change_${digest}(${parameters(10)})`,
  keepSteps: `select ${s}.keep_steps_${digest}(${parameters(11)})`,
  readSteps: `select * from ${s}.read_steps_${digest}(${parameters(4)})`,
  endSteps: `select * from ${s}.end_steps_${digest}(${parameters(10)})`,
  readFlows: `select * from ${s}.read_flows_${digest}(${parameters(7)})`,
  changeFlows: `select ${s}.change_flows_${digest}(${parameters(14)})`,
  replace: `select * from ${s}.replace_${digest}(${parameters(20)})`,
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
  counters: `select * from ${s}.counters_${digest}(${parameters(9)})`,
  hourTimes: `select * from ${s}.hour_times_${digest}(${parameters(6)})`,
  tick: `select * from ${s}.tick_${digest}(${parameters(23)})`,
  spend: `select ${s}.spend_${digest}(${parameters(4)})`,
  /**
   * The same inside a caller's transaction: one text, which every driver passes on unchanged. Out, for this and the next: the number of the
   * transaction, null if nothing was written in it; and the rows.
   */
  admitWithin: `${ADMITTED_WITHIN} from ${s}.admit_${digest}(${parameters(21)})`,
  admitFlowsWithin: `${ADMITTED_WITHIN} from ${s}.admit_flows_${digest}(${parameters(30)})`,
  settleWithin: `select json_build_array(pg_current_xact_id_if_assigned()::text,
    coalesce(json_agg(json_build_array(out_settled, out_woken, out_run_at, out_attempt)), '[]'))::text as answer from ${s}.exchange_${digest}(${parameters(14)})`,
  noteWithin: `select json_build_array(pg_current_xact_id_if_assigned()::text, json_build_array(json_build_array(${s}.note_${digest}(${parameters(4)}))))::text as answer`,
  /** In: ids of lanes. Out: as `lanesById`. */
  lanesByIdWithin: `select json_build_array(null, json_agg(json_build_array(l.id, q.id, q.name, l.type, l.priority)))::text as answer
    from ${s}.lane l join ${s}.queue q on q.id = l.queue where l.id = any($1::int[])`,
  /** In: ids. */
  findWithin: `select json_build_array(null, coalesce(json_agg(json_build_array(${JOB_RETURNED})), '[]'))::text as answer
    from ${s}.find_${digest}($1)`,
});

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
  /** In: limit, numbers to leave out, after (null: from the bottom). Out: about the first ones first, and no more text than one read returns. The server knows lengths without reading texts. */
  notices: `select number, notice from (
      select *, row_number() over (order by number) as nth, sum(octet_length(notice)) over (order by number) as bytes
      from (select number, notice from ${s}.notice where number <> all($2::bigint[]) and ($3::bigint is null or number > $3) order by number limit $1) n) t
    where nth = 1 or bytes <= ${MAX_STEPS_READ_BYTES} order by number`,
  /** In: numbers. Passes over those that another process drops. */
  dropNotices: `delete from ${s}.notice where number = any(array(select number from ${s}.notice where number = any($1::bigint[]) for update skip locked))`,
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
    ), packed as (${packTimes(s, "moved")}
    ), reached as (
      insert into ${s}.count (step, at, queue, metric, amount) select ${MOVED_STEP}, 0, 0, 0, max(at) from moved having count(*) > 0
      on conflict (step, at, queue, metric) do update set amount = excluded.amount
    )
    , minutes as (${dropSome(`${s}.count`, `step = ${STEP.minute} and at < ${NOW} - $3::bigint and (not ${isBucket("metric")} or at < (select since from turn))`)})
    , hours as (${dropSome(`${s}.count`, `step in (${STEP.hour}, ${STEP["hour-times"]}) and at < ${NOW} - $4::bigint`)})
    , hour_times as (${dropSome(`${s}.hour_times`, `at < ${NOW} - $4::bigint`)})
    , news as (${dropSome(`${s}.news`, `at < ${NOW} - $5::bigint order by seq`)})
    , allowances as (${dropSome(`${s}.allowance`, `free_at <= ${NOW}`)})
    , marks as (${dropSome(`${s}.mark`, `expires_at <= ${NOW}`)})
    , schemas as (${dropSome(
      `${s}.payload_schema`,
      `expires_at <= ${NOW} or digest in (select digest from ${s}.payload_schema order by expires_at desc, digest offset ${MAX_KEPT_SCHEMAS})`,
    )})
    , mutes as (${dropSome(
      `${s}.mute`,
      `expires_at <= ${NOW} or name in (select name from ${s}.mute where expires_at is null or expires_at > ${NOW} order by at desc, name offset ${MAX_MUTES})`,
    )})
    , audit as (${dropSome(
      `${s}.audit`,
      `at < ${NOW} - ${AUDIT_KEPT_MS} or number <= (select max(number) from ${s}.audit) - ${MAX_AUDIT_ENTRIES} order by number`,
    )})
    select (select count(*) from moved) + (select count(*) from expired_keys) + (select count(*) from former_workers) + (select count(*) from minutes)
      + (select count(*) from hours) + (select count(*) from hour_times) + (select count(*) from news) + (select count(*) from allowances) + (select count(*) from marks)
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
  vacuum: `vacuum (skip_locked, truncate false, index_cleanup on) ${["ready", "running", "due", "delta", ...BUSY_LIMIT_TABLES].map((name) => `${s}.${name}`).join(", ")}`,
  /** In: channel, payload. */
  notify: "select pg_notify($1, $2)",
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
