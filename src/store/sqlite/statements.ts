/**
 * The SQL texts of this engine, except lists (list-statements.ts). The comment above each has its inputs, in order, and what an answer means.
 * Conditions that look doubled are the terms of an index: see index-terms.ts.
 */
import { MAX_AUDIT_ENTRIES } from "../../core/audit.ts";
import { INTERNAL_MARK } from "../../core/internal.ts";
import { MAX_MUTES } from "../../core/mute.ts";
import { MAX_KEPT_SCHEMAS } from "../../core/payload-schema.ts";
import { QUEUE_SETTINGS } from "../../core/queue.ts";
import { MAX_FORMER_WORKERS, STOPPED } from "../../core/worker-entry.ts";
import { BUCKETS_PER_TYPE, COUNTER, COUNTERS_PER_TYPE, FIRST_BUCKET, MOVED_STEP, STATE, STEP } from "../numbers.ts";
import { WHOLE_QUEUE } from "../packed-times.ts";
import { changeText } from "../stored-manual-change.ts";
import { ATTEMPT_COLUMNS, idColumn, JOB_COLUMNS, LOG_COLUMNS, SUMMARY_COLUMNS } from "./codec.ts";
import { AT_REST, PENDING, RUNNING, SUSPENDED, WAITS_FOR_TIME } from "./index-terms.ts";

// ── Queues and lanes ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

const SETTING_COLUMNS = QUEUE_SETTINGS.map(({ column }) => column);
const QUEUE_COLUMNS = `id, name, paused, reranked_to, keyed, limits_without_key, ${SETTING_COLUMNS.join(", ")}`;

/** In: name. */
export const FIND_QUEUE = `select ${QUEUE_COLUMNS} from millrace_queue where name = ?`;
export const ALL_QUEUES = `select ${QUEUE_COLUMNS} from millrace_queue order by name`;
/** Out: the internal queues. */
export const INTERNAL_QUEUES = `select id from millrace_queue where instr(name, '${INTERNAL_MARK}') > 0`;
/** In: name, each setting. */
export const ADD_QUEUE = `insert into millrace_queue (name, ${SETTING_COLUMNS.join(", ")})
  values (?${", ?".repeat(SETTING_COLUMNS.length)}) on conflict do nothing`;
/** In: paused, reranked_to, each setting, id. */
export const SET_QUEUE = `update millrace_queue set paused = ?, reranked_to = ?, ${SETTING_COLUMNS.join(" = ?, ")} = ? where id = ?`;
/** In: reranked_to, id. */
export const SET_RERANKED = "update millrace_queue set reranked_to = ? where id = ?";

/** In: the highest known lane id. Out: newer lanes. */
export const NEW_LANES = "select id, queue, type from millrace_lane where id > ? order by id";
/** In: queue, type. Out: id. */
export const FIND_LANE = "select id from millrace_lane where queue = ? and type = ?";
/** In: id. Out: queue, type. */
export const FIND_LANE_BY_ID = "select queue, type from millrace_lane where id = ?";
/** In: queue, how many before it. Out: id of its lane. */
export const NTH_LANE = "select id from millrace_lane where queue = ? order by id limit 1 offset ?";
/** Out: every lane with a pending job. Jumps from lane to lane in the index, however many jobs each has. */
export const READY_LANES = `with recursive ready (lane) as (
    select min(lane) from millrace_job where ${PENDING}
    union all
    select (select min(lane) from millrace_job where ${PENDING} and lane > ready.lane) from ready where ready.lane is not null
  ) select lane from ready where lane is not null`;
/** In: lane, rank. Out: rank and due time of the lane's first job from that rank on. */
export const HEAD_OF_LANE = `select rank, run_at from millrace_job where ${PENDING} and lane = ? and rank >= ? order by rank, seq limit 1`;
/** In: lane, rank, most. Out: how many jobs of the lane have a lower rank. */
export const COUNT_RANKED_BEFORE = `select count(*) from (select 1 from millrace_job where ${PENDING} and lane = ? and rank < ? limit ?)`;
/** In: lane, rank, seq, most. Out: how many jobs of the lane have the same rank and were inserted earlier. */
export const COUNT_CAME_BEFORE = `select count(*) from (select 1 from millrace_job where ${PENDING} and lane = ? and rank = ? and seq < ? limit ?)`;
/** In: id. */
export const POSITION_OF_JOB = "select seq, queue, state, rank from millrace_job where id = ?";
/** In: queue, type. */
export const ADD_LANE = "insert into millrace_lane (queue, type) values (?, ?) on conflict do nothing";

/** In: queue. Out: how many jobs wait there, which the capacity limits. */
export const COUNT_WAITING = `select coalesce(sum(count), 0) from millrace_tally where queue = ? and state < ${STATE.running}`;
export const ALL_TALLIES = "select queue, state, level, count from millrace_tally where count <> 0";
/** In: queue, state. */
export const TALLY_OF_STATE = "select coalesce(sum(count), 0) from millrace_tally where queue = ? and state = ?";

/** In: queue, state, level, delta. */
export const ADD_TALLY = "insert into millrace_tally values (?, ?, ?, ?) on conflict do update set count = count + excluded.count";
/** In: step, queue, at, metric, delta. */
export const ADD_COUNT =
  "insert into millrace_count (step, queue, at, metric, value) values (?, ?, ?, ?, ?) on conflict do update set value = value + excluded.value";
/** In: step, from, to, below which metric. */
export const READ_COUNTS = "select queue, at, metric, value from millrace_count where step = ? and at >= ? and at < ? and metric < ?";
/** In: step, at, queue, below which metric. */
export const READ_QUEUE_COUNTS =
  "select queue, at, metric, value from millrace_count where step = ? and at = ? and queue = ? and metric < ?";
/** The same, added up over types. */
export const READ_QUEUE_SUMS = `select queue, at, case when metric < ${COUNTER.enqueued} then -metric % ${COUNTERS_PER_TYPE} else metric % ${BUCKETS_PER_TYPE} end, sum(value)
  from millrace_count where step = ? and at = ? and queue = ? and metric < ? group by 3`;
/** In: step, at, queue; the first and last number of the type's counters and of its buckets. */
export const READ_TYPE_COUNTS = `select queue, at, metric, value from millrace_count
  where step = ?1 and at = ?2 and queue = ?3 and metric between ?4 and ?5
  union all select queue, at, metric, value from millrace_count where step = ?1 and at = ?2 and queue = ?3 and metric between ?6 and ?7`;
/** In: queue, number of a type, from, to. Out: queue, type, hour, packed histograms. */
export const READ_HOUR_TIMES = "select queue, type, at, times from millrace_hour_times where queue = ? and type = ? and at >= ? and at < ?";
/** In: queue, from, to; all types, without the whole queue. */
export const READ_HOUR_TIMES_OF_TYPES = `select queue, type, at, times from millrace_hour_times where queue = ? and type <> ${WHOLE_QUEUE} and at >= ? and at < ?`;
/** In: queue, type, hour. */
export const HOUR_TIMES = "select times from millrace_hour_times where queue = ? and type = ? and at = ?";
/** In: queue, type, hour, packed histograms. */
export const SET_HOUR_TIMES =
  "insert into millrace_hour_times (queue, type, at, times) values (?, ?, ?, ?) on conflict do update set times = excluded.times";
/** In: before, limit. */
export const DROP_HOUR_TIMES = `delete from millrace_hour_times where (queue, type, at) in
  (select queue, type, at from millrace_hour_times where at < ? limit ?)`;
/** In: step, twice. Out: the first and the last period that is stored. */
export const STORED_PERIODS =
  "select (select min(at) from millrace_count where step = ?), (select max(at) from millrace_count where step = ?)";

// ── Jobs come in ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * In: id, lane, queue, state, rank, priority, run_at, payload, max_retries, max_lost, retry_delay, timeout, key, key_ttl, extra,
 * created_at, updated_at.
 * No change: the id is known.
 */
export const INSERT_JOB = `insert into millrace_job
  (id, lane, queue, state, rank, priority, run_at, payload, max_retries, max_lost, retry_delay, timeout, key, key_ttl, extra, created_at,
    updated_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`;
/** The same for a job with a limit key. In: the same, then line. */
export const INSERT_KEYED_JOB = `insert into millrace_job
  (id, lane, queue, state, rank, priority, run_at, payload, max_retries, max_lost, retry_delay, timeout, key, key_ttl, extra, created_at,
    updated_at, line)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`;

/**
 * In: queue, field, value. For the job that was just inserted; rows of this table have no row numbers, so several can follow.
 * A process of an older version deletes jobs but not their entries, and a later job may get the sequence of such a job. So an entry may be
 * there already, and readers of the index compare the values in the job too.
 */
export const ADD_FACET = "insert or ignore into millrace_facet (queue, field, value, seq) values (?, ?, ?, last_insert_rowid())";
/** In: queue, field, value, seq. */
export const PUT_FACET = "insert or ignore into millrace_facet (queue, field, value, seq) values (?, ?, ?, ?)";
/** In: queue, field, value, seq. */
export const DROP_FACET = "delete from millrace_facet where queue = ? and field = ? and value = ? and seq = ?";

/** In: queue, key. Out: its job, and (once the job is pruned) when the key expires and how the job ended. */
export const FIND_KEY = `select ${idColumn("job")}, fingerprint, expires_at, state from millrace_key where queue = ? and key = ?`;
/** In: queue, key, job, fingerprint. Replaces a key that has expired. */
export const PUT_KEY =
  "insert or replace into millrace_key (queue, key, job, fingerprint, expires_at, state) values (?, ?, ?, ?, null, null)";
/** In: queue, key, job. Frees a key only if that job still has it. */
export const DROP_KEY = "delete from millrace_key where queue = ? and key = ? and job = ?";
/** In: expires_at, state, queue, key, job. Keeps the key of a pruned job. */
export const OUTLIVE_KEY = "update millrace_key set expires_at = ?, state = ? where queue = ? and key = ? and job = ?";
/** In: now, limit. */
export const DROP_EXPIRED_KEYS = `delete from millrace_key where (queue, key) in
  (select queue, key from millrace_key where expires_at is not null and expires_at <= ? order by expires_at limit ?)`;

// ── Jobs are worked ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * In: a lane for each arm. Out: the first jobs of these lanes, by rank and sequence.
 * One index scan per lane; SQLite merges them lazily and stops at the limit, however many jobs follow. The limit is part of the text: with
 * a bound limit SQLite plans the statement again for each run, which costs ten times as much as running it.
 */
export function readyJobs(lanes: number, limit: number): string {
  const arm = `select ${JOB_COLUMNS} from millrace_job where lane = ? and ${PENDING}`;
  return `${Array.from({ length: lanes }, () => arm).join(" union all ")} order by rank, seq limit ${limit}`;
}
/**
 * In: lease_until, started_at, updated_at, worker, seq. One statement per job: one `update … where seq in (select …) returning` for all
 * takes 10 µs per job in batches of 100, and 200 µs for a single one; a select and this take 6 and 110.
 */
export const CLAIM_JOB = `update millrace_job
  set ${RUNNING}, fence = fence + 1, attempt = attempt + 1, lease_until = ?, started_at = ?, updated_at = ?, worker = ?, progress = null
  where seq = ?`;

/** The same for a remote worker. In: lease_until, started_at, updated_at, worker, turn, seq. */
export const CLAIM_REMOTE_JOB = `update millrace_job
  set ${RUNNING}, fence = fence + 1, attempt = attempt + 1, lease_until = ?, started_at = ?, updated_at = ?, worker = ?, turn = ?, progress = null
  where seq = ?`;

/** In: worker, turn. Out: the jobs which that claim took and which still run. */
export const TAKEN_BY_TURN = `select ${JOB_COLUMNS} from millrace_job where ${RUNNING} and worker = ? and turn = ? order by rank, seq`;
/** In: lease_until, seq. */
export const RENEW_TAKEN = "update millrace_job set lease_until = ? where seq = ?";

/** The plain end (see core/lifecycle.ts), a hot path. In: result, settled, held_ms, now, ended_at, updated_at, run_ms, id, fence. Out: what to count. */
export const COMPLETE_JOB = `update millrace_job
  set state = ${STATE.completed}, result = ?, error = null, settled = ?, started_at = min(started_at + ?, ?), ended_at = ?, updated_at = ?, run_ms = ?, lease_until = null
  where id = ? and ${RUNNING} and fence = ? returning queue, lane, priority, started_at, run_at, line`;

/** The same for a lease that this process was granted. In: result, settled, started_at, ended_at, updated_at, run_ms, seq, id, fence. */
export const COMPLETE_GRANTED = `update millrace_job
  set state = ${STATE.completed}, result = ?, error = null, settled = ?, started_at = ?, ended_at = ?, updated_at = ?, run_ms = ?, lease_until = null
  where seq = ? and id = ? and ${RUNNING} and fence = ?`;

/** In: id. Out: what a transition needs to know about the job. */
export const FACTS_OF_JOB = `select seq, queue, state, priority, fence, settled, lease_until, run_at, attempt, retry_count, snoozes, worker, started_at,
  ended_at, run_ms, error, key, key_ttl, lost_count, lane, line, extra from millrace_job where id = ?`;

/**
 * In: state, fence, attempt, retry_count, lost_count, snoozes, run_at, rank, keep_result (1 or 0), result, error, settled, started_at,
 * ended_at, run_ms, key, lease_until, updated_at, seq.
 * The caller has checked the condition in this transaction.
 */
export const APPLY_TRANSITION = `update millrace_job
  set state = ?, fence = ?, attempt = ?, retry_count = ?, lost_count = ?, snoozes = ?, run_at = ?, rank = ?,
    result = case when ? then result else ? end, error = ?, settled = ?, started_at = ?, ended_at = ?, run_ms = ?, key = ?, lease_until = ?, updated_at = ?
  where seq = ?`;

/** In: job, number, worker, started_at, ended_at, run_ms, outcome, error. */
export const ADD_ATTEMPT = `insert or ignore into millrace_attempt (job, ${ATTEMPT_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?)`;

/** In: extra, seq. */
export const SET_EXTRA = "update millrace_job set extra = ? where seq = ?";
/** In: payload, extra, seq. */
export const SET_PAYLOAD = "update millrace_job set payload = ?, extra = ? where seq = ?";

/** In: seq. Out: the changes by hand, one line each, or null. */
export const READ_MANUAL_CHANGES = "select manual_changes from millrace_job where seq = ?";
/** In: the lines before, or null; now, state, attempt, the caller's part; seq. */
export const ADD_MANUAL_CHANGE = `update millrace_job
  set manual_changes = coalesce(? || char(10), '') || ${changeText("||", "?", "?", "?", "?")} where seq = ?`;

/** In: lease_until, id, fence. */
export const EXTEND_LEASE = `update millrace_job set lease_until = ? where id = ? and ${RUNNING} and fence = ?`;

/** In: progress, updated_at, seq. */
export const SET_PROGRESS = "update millrace_job set progress = ?, updated_at = ? where seq = ?";
/** In: seq. */
export const LOG_COUNT = "select log_count from millrace_job where seq = ?";
/** In: job, number, at, attempt, text. */
export const ADD_LOG = `insert into millrace_log (job, ${LOG_COLUMNS}) values (?, ?, ?, ?, ?)`;
/** In: log_count, seq. */
export const SET_LOG_COUNT = "update millrace_job set log_count = ? where seq = ?";

// ── Jobs are looked at ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: id. */
export const FIND_JOB = `select ${JOB_COLUMNS} from millrace_job where id = ?`;
/** In: seq. */
export const FIND_SUMMARY = `select ${SUMMARY_COLUMNS} from millrace_job where seq = ?`;
/** In: job. */
export const READ_ATTEMPTS = `select ${ATTEMPT_COLUMNS} from millrace_attempt where job = ? order by number`;
/** In: job, after, limit. */
export const READ_LOGS = `select ${LOG_COLUMNS} from millrace_log where job = ? and number > ? order by number limit ?`;

// ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const DUE_JOB = `seq, queue, state, priority, run_at, lane, ${idColumn("id")}, line`;
/** In: now, limit. */
export const DUE_JOBS = `select ${DUE_JOB} from millrace_job where ${WAITS_FOR_TIME} and run_at <= ? order by run_at, seq limit ?`;
/** The same for blocked jobs. Their run_at is the same time as their lease_until. */
export const DUE_SUSPENDED = `select ${DUE_JOB} from millrace_job where ${SUSPENDED} and lease_until <= ? order by lease_until, seq limit ?`;
/** In: rank, updated_at, seq. */
export const PROMOTE_JOB = `update millrace_job set ${PENDING}, rank = ?, updated_at = ?, lease_until = null where seq = ?`;
/** Out: when the next job is due; null if none waits for its time. One step down each of two indexes. */
export const NEXT_DUE = `select min(at) from (
  select * from (select run_at as at from millrace_job where ${WAITS_FOR_TIME} order by run_at limit 1)
  union all select * from (select lease_until from millrace_job where ${SUSPENDED} order by lease_until limit 1))`;

/** In: now, limit. */
export const EXPIRED_LEASES = `select ${SUMMARY_COLUMNS} from millrace_job where ${RUNNING} and lease_until <= ? order by lease_until, seq limit ?`;
/** In: now. */
export const NEXT_EXPIRY = `select lease_until from millrace_job where ${RUNNING} and lease_until > ? order by lease_until limit 1`;

const ENDED_JOB = "seq, id, state, priority, key, key_ttl, ended_at, extra";
/** In: queue, state, before, limit. The earliest ended first. */
export const ENDED_BEFORE = `select ${ENDED_JOB} from millrace_job where ${AT_REST} and queue = ? and state = ? and ended_at <= ? order by ended_at, seq limit ?`;

/** In: seq. */
export const DELETE_JOB = "delete from millrace_job where seq = ?";
export const DELETE_ATTEMPTS = "delete from millrace_attempt where job = ?";
export const DELETE_LOGS = "delete from millrace_log where job = ?";

/** In: from (exclusive), to (inclusive), queue. Out: pending jobs there whose rank may have the old head start. */
export const JOBS_TO_RERANK = `select seq, priority, run_at from millrace_job where seq > ? and seq <= ? and queue = ? and ${PENDING}`;
/** In: rank, seq. */
export const SET_RANK = "update millrace_job set rank = ? where seq = ?";
export const HIGHEST_SEQ = "select coalesce(max(seq), 0) from millrace_job";

/** Out: the minute up to which histograms were moved to their hours. */
export const TIMES_MOVED_TO = `select value from millrace_count where step = ${MOVED_STEP}`;
/** In: the minute. */
export const SET_TIMES_MOVED_TO = `insert into millrace_count (step, queue, at, metric, value) values (${MOVED_STEP}, 0, 0, 0, ?)
  on conflict do update set value = excluded.value`;
/** In: from, before, limit. Out: queue, minute, metric, value of cells of histograms. */
export const TIMES_TO_MOVE = `select queue, at, metric, value from millrace_count
  where step = ${STEP.minute} and at >= ? and at < ? and metric >= ${FIRST_BUCKET} order by at, queue, metric limit ?`;
/** In: minute, queue, metric. */
export const DROP_MINUTE_COUNT = `delete from millrace_count where step = ${STEP.minute} and at = ? and queue = ? and metric = ?`;
/** In: before, the minute up to which histograms were moved, limit. */
export const DROP_OLD_MINUTES = `delete from millrace_count where (step, at, queue, metric) in (select step, at, queue, metric from millrace_count
  where step = ${STEP.minute} and at < ? and (metric < ${FIRST_BUCKET} or at < ?) limit ?)`;
/** In: step, before, limit. */
export const DROP_OLD_HOURS = `delete from millrace_count where (step, at, queue, metric) in
  (select step, at, queue, metric from millrace_count where step = ? and at < ? limit ?)`;
/** In: before, limit, now. Drops those that ended before, and those beyond the last MAX_FORMER_WORKERS that have ended. */
export const DROP_FORMER_WORKERS = `delete from millrace_worker where id in (select id from millrace_worker where expires_at <= ?1
  or id in (select id from millrace_worker where expires_at <= ?3 order by expires_at desc, id limit -1 offset ${MAX_FORMER_WORKERS}) limit ?2)`;
/** In: before, limit. */
export const DROP_OLD_NEWS = "delete from millrace_news where seq in (select seq from millrace_news where at < ? order by seq limit ?)";
/** In: now, limit. */
export const DROP_UNUSED_ALLOWANCES =
  "delete from millrace_allowance where name in (select name from millrace_allowance where free_at <= ? limit ?)";

/** In: now, limit. */
export const DROP_OLD_MARKS = "delete from millrace_mark where name in (select name from millrace_mark where expires_at <= ? limit ?)";
/** In: now, limit. Drops expired ones, and those beyond the latest MAX_KEPT_SCHEMAS. */
export const DROP_OLD_SCHEMAS = `delete from millrace_payload_schema where rowid in (select rowid from millrace_payload_schema where expires_at <= ?1
  or rowid in (select rowid from millrace_payload_schema order by expires_at desc, rowid limit -1 offset ${MAX_KEPT_SCHEMAS}) limit ?2)`;

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const SCHEDULE_COLUMNS = `spec, version, next_tick, last_tick, nullif(${idColumn("last_job")}, ''), created_at, updated_at`;

/** In: name. */
export const FIND_SCHEDULE = `select ${SCHEDULE_COLUMNS} from millrace_schedule where name = ?`;
export const ALL_SCHEDULES = `select ${SCHEDULE_COLUMNS} from millrace_schedule order by name`;
/** In: name, spec, paused, version, next_tick, created_at, updated_at. */
export const ADD_SCHEDULE =
  "insert into millrace_schedule (name, spec, paused, version, next_tick, created_at, updated_at) values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing";
/** In: spec, paused, next_tick, updated_at, new version, name, version. */
export const SET_SCHEDULE =
  "update millrace_schedule set spec = ?, paused = ?, next_tick = ?, updated_at = ?, version = ? where name = ? and version = ?";
/** In: name. */
export const DELETE_SCHEDULE = "delete from millrace_schedule where name = ?";
/** In: now, limit. */
export const DUE_SCHEDULES = `select ${SCHEDULE_COLUMNS} from millrace_schedule
  where paused = 0 and next_tick is not null and next_tick <= ? order by next_tick limit ?`;
/** In: now. */
export const NEXT_SCHEDULE = `select next_tick from millrace_schedule
  where paused = 0 and next_tick is not null and next_tick > ? order by next_tick limit 1`;
/** In: new version, updated_at, tick, tick, next_tick, name, version, tick, tick. A run by hand has no tick. No change: somebody was faster. */
export const TAKE_TICK = `update millrace_schedule
  set version = ?, updated_at = ?, last_tick = coalesce(?, last_tick), next_tick = case when ? is null then next_tick else ? end
  where name = ? and version = ? and (? is null or last_tick is null or last_tick < ?)`;

/** In: last_job, name. */
export const SET_LAST_JOB = "update millrace_schedule set last_job = ? where name = ?";

// ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: id, entry, heartbeat_at, expires_at. */
export const PUT_WORKER = "insert or replace into millrace_worker (id, entry, heartbeat_at, expires_at) values (?, ?, ?, ?)";
/** In: now, id, now. */
export const STOP_WORKER = `update millrace_worker set entry = json_set(entry, '$.state', '${STOPPED}'), expires_at = ? where id = ? and expires_at > ?`;
/** In: now. */
export const LIVE_WORKERS = "select entry, heartbeat_at from millrace_worker where expires_at > ? order by id";
/** In: now, ended after. Out: those that have ended, the last first. */
export const FORMER_WORKERS = `select entry, heartbeat_at, expires_at from millrace_worker
  where expires_at <= ? and expires_at > ? order by expires_at desc, id limit ${MAX_FORMER_WORKERS}`;

// ── Allowances ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: name. */
export const READ_ALLOWANCE = "select free_at from millrace_allowance where name = ?";
/** In: name, free_at. */
export const WRITE_ALLOWANCE = "insert or replace into millrace_allowance (name, free_at) values (?, ?)";

// ── Marks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: name, expires_at. */
export const PUT_MARK = "insert or replace into millrace_mark (name, expires_at) values (?, ?)";
/** In: name. */
export const READ_MARK = "select expires_at from millrace_mark where name = ?";

/** In: digest, text, expires_at. */
export const PUT_SCHEMA = `insert into millrace_payload_schema (digest, text, expires_at) values (?, ?, ?)
  on conflict do update set expires_at = excluded.expires_at`;
/** In: digest, now. */
export const READ_SCHEMA = "select text from millrace_payload_schema where digest = ? and expires_at > ?";

// ── Mutes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: group, at, expires_at (null: never), JSON. */
export const PUT_MUTE = "insert or replace into millrace_mute (name, at, expires_at, entry) values (?, ?, ?, ?)";
/** In: group. */
export const DROP_MUTE = "delete from millrace_mute where name = ?";
/** In: now. Out: the latest first. */
export const READ_MUTES = `select name, at, expires_at, entry from millrace_mute where expires_at is null or expires_at > ?
  order by at desc, name limit ${MAX_MUTES}`;
/** In: now, limit. Drops expired ones, and those beyond the latest MAX_MUTES that have not expired. */
export const DROP_OLD_MUTES = `delete from millrace_mute where name in (select name from millrace_mute where expires_at <= ?1 or name in
  (select name from millrace_mute where expires_at is null or expires_at > ?1 order by at desc, name limit -1 offset ${MAX_MUTES}) limit ?2)`;

// ── Audit ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: at, entry. */
export const ADD_AUDIT = "insert into millrace_audit (at, entry) values (?, ?)";
/** In: before, limit. Out: the newest first. */
export const READ_AUDIT = "select number, at, entry from millrace_audit where number < ? order by number desc limit ?";
/** In: before, limit. */
export const DROP_OLD_AUDIT = `delete from millrace_audit where number in (select number from millrace_audit
  where at < ? or number <= (select max(number) from millrace_audit) - ${MAX_AUDIT_ENTRIES} order by number limit ?)`;

// ── Time and news ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: name. */
export const READ_META = "select value from millrace_meta where name = ?";
/** In: name. Out: the next number. */
export const COUNT_META = "insert into millrace_meta values (?, 1) on conflict do update set value = value + 1 returning value";
/** In: name, value. */
export const WRITE_META = "insert into millrace_meta values (?, ?) on conflict do update set value = excluded.value";

/** In: topic. */
export const RAISE_SIGNAL = "insert into millrace_signal values (?, 1) on conflict do update set version = version + 1";
export const READ_SIGNALS = "select topic, version from millrace_signal";

/** In: at, events. */
export const ADD_NEWS = "insert into millrace_news (at, events) values (?, ?)";
/** In: seq, limit. */
export const READ_NEWS = "select seq, events from millrace_news where seq > ? order by seq limit ?";
export const LAST_NEWS = "select coalesce(max(seq), 0) from millrace_news";
