/**
 * The SQL texts of lists, searches, counts and groups of jobs. The comment above each has its inputs, in order, and what an answer means.
 * Conditions that look doubled are the terms of an index: see index-terms.ts.
 */
import { TREND_HOURS } from "../../core/error-tally.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { STATE } from "../numbers.ts";
import { idColumn, SUMMARY_COLUMNS } from "./codec.ts";
import { ERROR_GROUP, IN_PAYLOAD, IN_SMALL_PAYLOAD, LARGE_PAYLOAD_BYTES } from "./conditions.ts";
import { AT_REST, PENDING, RUNNING, WAITS_FOR_TIME } from "./index-terms.ts";

/** In: seq. Out: the nearest job at or below it, and when it was created. */
export const CREATED_AT = "select seq, created_at from millrace_job where seq <= ? order by seq desc limit 1";

const SEARCHED_COLUMNS = `${SUMMARY_COLUMNS}, octet_length(payload), ${IN_SMALL_PAYLOAD}`;
/** In: search text, values of the conditions, seq to start below, seq to end at, limit. Newest first. */
export const searchJobs = (where: string): string =>
  `select ${SEARCHED_COLUMNS} from millrace_job where ${where} and seq < ? and seq >= ? order by seq desc limit ?`;
/** The same without a search. */
export const walkJobs = (where: string): string =>
  `select ${SUMMARY_COLUMNS} from millrace_job where ${where} and seq < ? and seq >= ? order by seq desc limit ?`;
/** Only the value: other columns of json_each have names of ours. */
const PICKED = "(select value as picked from json_each(?)) cross join millrace_job on seq = picked";
/** In: search text, seqs as JSON, values of the conditions. In the order of the seqs. */
export const searchPicked = (where: string): string => `select ${SEARCHED_COLUMNS} from ${PICKED} where ${where}`;
/** The same without a search. */
export const lookAtPicked = (where: string): string => `select ${SUMMARY_COLUMNS} from ${PICKED} where ${where}`;
/** In: seqs as JSON, values of the conditions. */
export const countPicked = (where: string): string => `select count(*) from ${PICKED} where ${where}`;
/** In: text, seq. Out: 1 if the payload contains the text. */
export const SEARCH_PAYLOAD = `select ${IN_PAYLOAD} from millrace_job where seq = ?`;
/** In: values of the conditions, seq to start below, seq to end at. */
export const countJobs = (where: string): string => `select count(*) from millrace_job where ${where} and seq < ? and seq >= ?`;
/** In: seq to start below, seq to end at, n. Out: the seq of the job after n others. */
export const NTH_BELOW = "select seq from millrace_job where seq < ? and seq >= ? order by seq desc limit 1 offset ?";
/**
 * The same for jobs that meet a condition on queue and state. In: seq to start below, seq to end at, how many to look at at most, values of
 * the condition, limit, n. The rows come in the order of the inner statement, which is read no further than needed.
 */
export const candidatesBelow = (where: string): string =>
  `select seq from (select seq, queue, state from millrace_job where seq < ? and seq >= ? order by seq desc limit ?) where ${where} limit ? offset ?`;
/** In: seq to start below, seq to end at. Out: the bytes of payloads that are small enough to be searched by the statement itself. */
export const SMALL_PAYLOAD_BYTES = `select sum(octet_length(payload)) from millrace_job
  where seq < ? and seq >= ? and octet_length(payload) <= ${LARGE_PAYLOAD_BYTES}`;
/** In: seqs as JSON. Out: the same of these jobs. */
export const SMALL_PICKED_BYTES = `select sum(octet_length(payload)) from ${PICKED} where octet_length(payload) <= ${LARGE_PAYLOAD_BYTES}`;

/** In: lane, seq to start below, limit. Out: seqs of its pending jobs. */
export const SEQS_OF_LANE = `select seq from millrace_job indexed by millrace_ready where ${PENDING} and lane = ? and seq < ? limit ?`;
/** In: lowest and highest state, seq to start below, limit. Out: seqs, unordered, read through an index that has few other jobs. */
export const SEQS_DUE = `select seq from millrace_job indexed by millrace_due
  where ${WAITS_FOR_TIME} and state between ? and ? and seq < ? limit ?`;
/** In: state, seq to start below, limit. The same. */
export const SEQS_RUNNING = `select seq from millrace_job indexed by millrace_leased where ${RUNNING} and state = ? and seq < ? limit ?`;
/** In: state, seq to start below, queue, limit. Blocked jobs are in this index too, without an end. */
export const SEQS_ENDED = `select seq from millrace_job indexed by millrace_ended
  where ${AT_REST} and state = ? and seq < ? and queue = ? limit ?`;
/** In: queue, state, ended from, ended before (each null: any). `? is null or …` would be no range of the index. */
const endedWithin = (queue: string, state: string, from: string, before: string): string =>
  `${AT_REST} and queue = ${queue} and state = ${state}
    and ended_at >= ifnull(${from}, 0) and ended_at < ifnull(${before}, ${Number.MAX_SAFE_INTEGER})`;
/** In: state, seq to start below, queue, limit, ended from, ended before (each null: any). */
export const SEQS_ENDED_WITHIN = `select seq from millrace_job indexed by millrace_ended
  where ${endedWithin("?3", "?1", "?5", "?6")} and seq < ?2 limit ?4`;
/** In: queue, state, ended from, ended before (each null: any), most. Out: how many ended then, counted up to `most`. */
export const COUNT_ENDED_WITHIN = `select count(*) from (select 1 from millrace_job indexed by millrace_ended
  where ${endedWithin("?1", "?2", "?3", "?4")} limit ?5)`;

/** In: queue, field, value, seq to start below, seq to end at, limit. Out: seqs of jobs with this facet, newest first. */
export const SEQS_OF_FACET = `select seq from millrace_facet
  where queue = ? and field = ? and value = ? and seq < ? and seq >= ? order by seq desc limit ?`;

/**
 * The next places in an index, in the order of its state. The limit is part of the text: see readyJobs.
 * In: lane; rank and seq to start after; null. Out: rank, seq, state.
 */
export const nextInLane = (limit: number): string => `select rank, seq, ${STATE.pending} from millrace_job indexed by millrace_ready
  where ${PENDING} and lane = ?1 and rank >= ?2 and (rank > ?2 or seq > ?3) and ?4 is null order by rank, seq limit ${limit}`;
/** In: due time and seq to start after; null. Out: run_at, seq, state, queue. */
export const nextDue = (limit: number): string => `select run_at, seq, state, queue from millrace_job indexed by millrace_due
  where ${WAITS_FOR_TIME} and run_at >= ?1 and (run_at > ?1 or seq > ?2) and ?3 is null order by run_at, seq limit ${limit}`;
/** In: queue; state; end and seq to start after; the earliest end (null: any). Out: ended_at, seq, state. The latest end first. */
export const nextEnded = (limit: number): string => `select ended_at, seq, state from millrace_job indexed by millrace_ended
  where ${AT_REST} and queue = ?1 and state = ?2 and ended_at <= ?3 and (ended_at < ?3 or seq < ?4) and ended_at >= ifnull(?5, 0)
  order by ended_at desc, seq desc limit ${limit}`;

/**
 * In: queue, state, how many of the last ended jobs to look at; then from, to, tag, ended from, ended before (each null: any); one value of
 * the statement; values of the conditions.
 */
const lastEnded = (where: string): string => `(select id, lane, priority, extra, created_at, ended_at, error
    from millrace_job indexed by millrace_ended where ${endedWithin("?1", "?2", "?7", "?8")} order by ended_at desc limit ?3)
  where created_at >= coalesce(?4, created_at) and created_at < coalesce(?5, created_at + 1)
    and (?6 is null or exists (select 1 from json_each(extra, '$.tags') where value = ?6)) and ${where}`;
/** In: the same, with now. Out: error group, lane, hours since the end, count, first and last end, the ids of the first and of the last. */
export const countErrors = (where: string): string => `select ${ERROR_GROUP}, lane,
    min(${TREND_HOURS}, max(0, (cast(?9 as integer) - ended_at) / ${HOUR_MS})), count(*), min(ended_at), max(ended_at),
    substr(min(printf('%016d', ended_at) || ${idColumn("id")}), 17), substr(max(printf('%016d', ended_at) || ${idColumn("id")}), 17)
  from ${lastEnded(where)} and error is not null group by 1, 2, 3`;
/** In: the same, with the path of a facet. Out: its value (null: none), count. */
export const countFacetValues = (where: string): string => `select json_extract(extra, ?9), count(*) from ${lastEnded(where)} group by 1`;
/** In: id. */
export const ERROR_OF = "select error from millrace_job where id = ?";
