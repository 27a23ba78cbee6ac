/**
 * The SQL texts of limits and turns. The comment above each has its inputs, in order, and what an answer means.
 * Conditions that look doubled are the terms of an index: see index-terms.ts.
 */
import { WAITING } from "../../core/job.ts";
import { STATE } from "../numbers.ts";
import { MAX_COUNTED_OF_KEY, MAX_HOLDERS } from "../store.ts";
import { idColumn, JOB_COLUMNS, JOINED_JOB_COLUMNS } from "./codec.ts";
import { OF_LINE, PENDING, RUNNING } from "./index-terms.ts";
import { KEYED, PLACE } from "./line-numbers.ts";

/** Conditions on jobs of a line. */
const PENDING_IN = (line: string): string => `line = ${line} and ${OF_LINE} and ${PENDING}`;
const LEASED_IN = (line: string): string => `line = ${line} and ${OF_LINE} and ${RUNNING}`;
const WAITING_IN = (line: string): string =>
  `line = ${line} and ${OF_LINE} and state in (${WAITING.map((status) => STATE[status]).join(", ")})`;
/** The jobs of a key that meet one of these. */
const jobsOf = (key: string, condition: (line: string) => string): string =>
  `millrace_line o cross join millrace_job on ${condition("o.id")} where o.limit_key = ${key}`;

// ── Keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: queue, key. Out: id, own limits, waiting (null: not counted). */
export const FIND_LIMIT_KEY = "select id, own, waiting from millrace_limit_key where queue = ? and key = ?";
/** In: queue, key. Out: its id. */
export const ADD_LIMIT_KEY = "insert into millrace_limit_key (queue, key) values (?, ?) returning id";
/** In: bits of KEYED, queue. */
export const MARK_KEYED = "update millrace_queue set keyed = keyed | ? where id = ?";
/** In: own limits, id. */
export const SET_OWN_LIMITS = "update millrace_limit_key set own = ? where id = ?";
/** In: limits of the jobs without a key, queue. */
export const SET_LIMITS_WITHOUT_KEY = "update millrace_queue set limits_without_key = ? where id = ?";
/** In: busy_until, interval_ms, id. */
export const SET_KEY_RATE = "update millrace_limit_key set busy_until = ?, interval_ms = ? where id = ?";
/** In: held_until, id. */
export const HOLD_KEY = "update millrace_limit_key set held_until = max(held_until, ?) where id = ?";
/** In: id. Out: own limits, held_until, busy_until, interval_ms. */
export const READ_LIMIT_KEY = "select own, held_until, busy_until, interval_ms from millrace_limit_key where id = ?";
/** In: how many more, id. A key that is not counted stays so. */
export const ADD_WAITING = "update millrace_limit_key set waiting = waiting + ? where id = ?";
/** In: waiting, id. */
export const SET_WAITING = "update millrace_limit_key set waiting = ? where id = ?";
/** In: key. Out: how many leases it has. Reads each of them in the index. */
export const RUNNING_OF_KEY = `select count(*) from ${jobsOf("?", LEASED_IN)}`;
/** In: key. Out: how many of its jobs wait. Reads each of them in the index. */
export const WAITING_OF_KEY = `select count(*) from ${jobsOf("?", WAITING_IN)}`;

/** In: queue. Out: busy_until, interval_ms. */
export const READ_QUEUE_RATE = "select busy_until, interval_ms from millrace_queue_rate where queue = ?";
/** In: queue, busy_until, interval_ms. */
export const SET_QUEUE_RATE = "insert or replace into millrace_queue_rate (queue, busy_until, interval_ms) values (?, ?, ?)";

// ── Lines ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: lane, priority, queue, key. Out: id of the key, id and place of its line (null: it has none). No row: no such key. */
export const FIND_LINE = `select k.id, l.id, l.place from millrace_limit_key k
  left join millrace_line l on l.limit_key = k.id and l.lane = ?1 and l.priority = ?2 where k.queue = ?3 and k.key = ?4`;
/** In: queue, key, lane, priority, place. Out: its id. */
export const ADD_LINE = "insert into millrace_line (queue, limit_key, lane, priority, place) values (?, ?, ?, ?, ?) returning id";
/** In: id. Out: its key. */
export const KEY_OF_LINE = "select limit_key from millrace_line where id = ?";
/** In: queue, lane, priority. */
export const ADD_RING = "insert or ignore into millrace_ring (queue, lane, priority) values (?, ?, ?)";
/** In: id of a line. A job comes that may be its first, and how long a line sleeps depends on what its first job costs. */
export const ENTER_RING = `update millrace_line set place = ${PLACE.ring} where id = ? and place in (${PLACE.empty}, ${PLACE.asleep})`;
/** In: id of a line. */
export const WAKE_LINE = `update millrace_line set place = ${PLACE.ring} where id = ? and place = ${PLACE.asleep}`;
/** In: tag, place, until, id. */
export const SET_LINE = "update millrace_line set tag = ?, place = ?, until = ? where id = ?";
/** In: id of a line. Out: 1 if a job stands in it. */
export const HAS_PENDING = `select 1 from millrace_job where ${PENDING_IN("?")} limit 1`;
/** In: id of a line. Takes it out of the ring if no job stands in it. */
export const LEAVE_IF_EMPTY = `update millrace_line set place = ${PLACE.empty}
  where id = ?1 and not exists (select 1 from millrace_job where ${PENDING_IN("?1")})`;
/** In: line, seq. */
export const SET_LINE_OF_JOB = "update millrace_job set line = ? where seq = ?";
/** In: seq. */
export const EXTRA_OF_JOB = "select extra from millrace_job where seq = ?";
/** In: id of a line. Of all lines of its key. */
export const UNPARK = `update millrace_line set place = ${PLACE.ring}
  where limit_key = (select limit_key from millrace_line where id = ?) and place = ${PLACE.parked}`;
/** In: queue. Out: 1 if it has a parked line. Looks once in each of its rings. */
export const HAS_PARKED = `select 1 from millrace_ring r where r.queue = ? and exists (select 1 from millrace_line l
  where l.lane = r.lane and l.priority = r.priority and l.place = ${PLACE.parked}) limit 1`;
const ASIDE = `place in (${PLACE.asleep}, ${PLACE.parked})`;
/** In: key. */
export const RECONSIDER_KEY = `update millrace_line set place = ${PLACE.ring} where limit_key = ? and ${ASIDE}`;
/** In: queue. */
export const RECONSIDER_QUEUE = `update millrace_line set place = ${PLACE.ring} where id in (select l.id from millrace_ring r
  cross join millrace_line l on l.lane = r.lane and l.priority = r.priority and l.${ASIDE} where r.queue = ?)`;
/** In: queue. Out: when the first line that is asleep may start. */
export const NEXT_AWAKE = `select min(until) from millrace_line where place = ${PLACE.asleep} and queue = ?`;
/** In: queue, now. */
export const WAKE_LINES = `update millrace_line set place = ${PLACE.ring} where place = ${PLACE.asleep} and queue = ? and until <= ?`;

/** In: queue. Out: lane, priority, time, tag of the jobs without a key. */
export const RINGS_OF_QUEUE = "select lane, priority, time, tag from millrace_ring where queue = ?";
/** In: time, tag, queue, lane, priority. */
export const SET_RING = "update millrace_ring set time = ?, tag = ? where queue = ? and lane = ? and priority = ?";

const LEASES = `(select count(*) from ${jobsOf("l.limit_key", LEASED_IN)})`;
const LINES = (counted: boolean): string => `select ${JOINED_JOB_COLUMNS},
    l.id, l.tag, l.limit_key, k.own, k.held_until, k.busy_until, k.interval_ms, ${counted ? LEASES : "null"}
  from millrace_line l cross join millrace_limit_key k on k.id = l.limit_key left join millrace_job j
    on j.seq = (select seq from millrace_job where ${PENDING_IN("l.id")} order by run_at, seq limit 1)
  where l.lane = ? and l.place = ${PLACE.ring}`;

/**
 * In: lane, priority. Out: the lines of a ring with the lowest tags. First the columns of its first job (nulls: it has none), then id, tag and
 * key of the line, what the key has, and how many leases the key has if `counted`. Costs a few steps down an index for each line, and a step for each lease.
 */
export const linesByTag = (counted: boolean, limit: number): string =>
  `${LINES(counted)} and l.priority = ? order by l.tag, l.id limit ${limit}`;

/** In: lane. The same for the lines of a lane, in the order of the rank of their first jobs. Looks at every line. */
export const linesByRank = (counted: boolean, limit: number): string => `${LINES(counted)} order by j.rank, j.seq limit ${limit}`;

/** In: id of a line. Out: its first jobs. The limit is part of the text: see readyJobs. */
export const firstInLine = (limit: number): string =>
  `select ${JOB_COLUMNS} from millrace_job where ${PENDING_IN("?")} order by run_at, seq limit ${limit}`;

// ── What people see ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: queue, after which key, limit. */
export const KEYS_WITH_LIMITS =
  "select key, own from millrace_limit_key where queue = ? and own is not null and key > ? order by key limit ?";
const COUNTED = (rows: string): string => `(select count(*) from (select 1 from ${rows} limit ${MAX_COUNTED_OF_KEY}))`;
/** In: queue, key. Out: id, running, waiting, held_until, busy_until, interval_ms, own limits. */
export const USE_OF_KEY = `select k.id, ${COUNTED(jobsOf("k.id", LEASED_IN))}, ${COUNTED(jobsOf("k.id", WAITING_IN))},
    k.held_until, k.busy_until, k.interval_ms, k.own from millrace_limit_key k where k.queue = ? and k.key = ?`;
/** In: key. Out: ids of some of its running jobs. */
export const HOLDERS_OF_KEY = `select ${idColumn("millrace_job.id")} from ${jobsOf("?", LEASED_IN)} limit ${MAX_HOLDERS}`;
/** In: queue, limit. Out: its keys with the most leases. Looks at all leases. */
export const KEYS_WITH_LEASES = `select k.key from (select l.limit_key, count(*) as leases
    from millrace_job j indexed by millrace_leased cross join millrace_line l on l.id = j.line
    where j.${RUNNING} and l.queue = ? group by l.limit_key) cross join millrace_limit_key k on k.id = limit_key
  order by leases desc, k.key limit ?`;
/** In: queue, limit. Out: some keys with waiting jobs and no leases. */
export const KEYS_WITHOUT_LEASES = `select k.key from millrace_limit_key k where k.queue = ?
  and not exists (select 1 from ${jobsOf("k.id", LEASED_IN)}) and exists (select 1 from ${jobsOf("k.id", WAITING_IN)}) limit ?`;

// ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: the key that was looked at last, how many. Out: the last of the next ones, and how many they are. */
export const NEXT_KEYS = "select max(id), count(*) from (select id from millrace_limit_key where id > ? order by id limit ?)";
const OF_THESE = "limit_key > ?1 and limit_key <= ?2";
const HAS_JOBS = `exists (select 1 from millrace_job where ${PENDING_IN("millrace_line.id")})`;
/** In: after which key, up to which. Takes lines without jobs out of their rings. */
export const LEAVE_IF_ALL_EMPTY = `update millrace_line set place = ${PLACE.empty} where ${OF_THESE} and place <> ${PLACE.empty} and not ${HAS_JOBS}`;
/** In: after which key, up to which. There should be none: a job in a line that counts as empty would never start. */
export const ENTER_IF_NOT_EMPTY = `update millrace_line set place = ${PLACE.ring} where ${OF_THESE} and place = ${PLACE.empty} and ${HAS_JOBS}`;
/** Out: queue, lane, priority, time, tag of the jobs without a key; 1 if one of its lines has jobs. */
export const ALL_RINGS = `select queue, lane, priority, time, tag, exists (select 1 from millrace_line l
  where l.lane = millrace_ring.lane and l.priority = millrace_ring.priority and l.place > ${PLACE.empty}) from millrace_ring`;
/** In: lane, from which rank, below which. Out: 1 if a job is there. */
export const HAS_RANKED = `select 1 from millrace_job where ${PENDING} and lane = ? and rank >= ? and rank < ? limit 1`;
/** In: lane, priority, tag, limit. Drops lines without jobs and with a tag up to this one. */
export const DROP_EMPTY_LINES = `delete from millrace_line where id in (select id from millrace_line l
  where lane = ? and priority = ? and place = ${PLACE.empty} and tag <= ?
    and not exists (select 1 from millrace_job where ${LEASED_IN("l.id")})
    and not exists (select 1 from millrace_job where ${WAITING_IN("l.id")}) limit ?)`;
/** In: queue, lane, priority. Drops a ring without lines. */
export const DROP_RING = `delete from millrace_ring where queue = ?1 and lane = ?2 and priority = ?3
  and not exists (select 1 from millrace_line where lane = ?2 and priority = ?3)`;
/** In: after which key, up to which, now. Drops keys that have nothing to remember. */
export const DROP_IDLE_KEYS = `delete from millrace_limit_key where id > ?1 and id <= ?2 and own is null and held_until <= ?3 and coalesce(busy_until, 0) <= ?3
  and not exists (select 1 from millrace_line where limit_key = millrace_limit_key.id)`;
/** Queues that have no key any more. */
export const FORGET_KEYED = `update millrace_queue set keyed = keyed & ~${KEYED.jobs | KEYED.own}
  where keyed & ${KEYED.jobs | KEYED.own} <> 0 and not exists (select 1 from millrace_limit_key where queue = millrace_queue.id)`;
