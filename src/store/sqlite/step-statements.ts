/** The SQL texts of steps and notices. The comment above each has its inputs, in order, and what an answer means. */
import { MAX_STEPS_READ_BYTES } from "../../core/steps.ts";
import { STEP_KIND, STEP_STATE } from "../numbers.ts";
import { STEP_COLUMNS } from "./codec.ts";

// ── Steps ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: job, each column of a step. In place of what has its name. */
export const PUT_STEP = `insert or replace into millrace_step (job, ${STEP_COLUMNS}) values (?${", ?".repeat(STEP_COLUMNS.split(",").length)})`;
/** In: job, name. */
export const FIND_STEP = `select ${STEP_COLUMNS} from millrace_step where job = ? and name = ?`;
/** In: names as JSON, job. Out: how many steps it has, how many with other names, and the bytes of their values. Reads no values. */
export const SIZES_BESIDE = `select count(*), count(*) filter (where is_other), coalesce(sum(bytes) filter (where is_other), 0)
  from (select octet_length(value) as bytes, name not in (select value from json_each(?)) as is_other from millrace_step where job = ?)`;
/** In: job, after which name. Out: name and bytes of each of its steps, in order. Reads no values. */
export const SIZES_OF_STEPS = "select name, coalesce(octet_length(value), 0) from millrace_step where job = ? and name > ? order by name";
/** In: job, after which name, up to which. */
export const READ_STEPS = `select ${STEP_COLUMNS} from millrace_step where job = ? and name > ? and name <= ? order by name`;
/** In: now, job, now. Ends the open steps whose time has come. */
export const END_OVERDUE = `update millrace_step
  set state = case kind when ${STEP_KIND.sleep} then ${STEP_STATE.done} else ${STEP_STATE.timeout} end, ended_at = ?
  where job = ? and state = ${STEP_STATE.open} and until <= ?`;
/** In: job. */
export const DELETE_STEPS = "delete from millrace_step where job = ?";
/** In: job. */
export const DELETE_FAILED_STEPS = `delete from millrace_step where job = ? and state = ${STEP_STATE.failed}`;

/** In: id. Out: seq, state, fence, extra. */
export const JOB_OF_STEPS = "select seq, state, fence, extra from millrace_job where id = ?";
/** In: updated_at, seq. The job got on, so retries and losses count from 0 again. */
export const RESET_COUNTS = "update millrace_job set retry_count = 0, lost_count = 0, updated_at = ? where seq = ?";

// ── Notices ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** In: JSON. */
export const ADD_NOTICE = "insert into millrace_notice (notice) values (?)";
/** In: numbers to leave out as JSON, limit. Out: no more text than one read returns, and at least one. */
export const FIRST_NOTICES = `select number, notice from (
    select *, row_number() over (order by number) as nth, sum(octet_length(notice)) over (order by number) as bytes
    from (select number, notice from millrace_notice where number not in (select value from json_each(?)) order by number limit ?))
  where nth = 1 or bytes <= ${MAX_STEPS_READ_BYTES} order by number`;
/** Out: 1 if there is one. */
export const HAS_NOTICES = "select 1 from millrace_notice limit 1";
/** In: numbers as JSON. */
export const DROP_NOTICES = "delete from millrace_notice where number in (select value from json_each(?))";
