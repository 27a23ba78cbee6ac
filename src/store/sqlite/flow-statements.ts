/** The SQL texts of flows. The comment above each has its inputs, in order, and what an answer means. */
import { MAX_STEPS_READ_BYTES } from "../../core/steps.ts";

/** In: id. Out: seq, the number of its job. */
export const SEQ_OF_FLOW = "select seq from millrace_job where id = ?";
/** In: job, head. */
export const ADD_FLOW = "insert into millrace_flow (job, version, head) values (?, 1, ?)";
/** In: id. Out: job, version, head. */
export const FIND_FLOW = "select job, version, head from millrace_flow where job = (select seq from millrace_job where id = ?)";
/** In: head, job. */
export const SET_HEAD = "update millrace_flow set version = version + 1, head = ? where job = ?";
/** In: job, name, plan, state. */
export const ADD_MEMBER = "insert into millrace_member (flow, name, plan, state) values (?, ?, ?, ?)";
/** In: state, job, name. */
export const SET_STATE = "update millrace_member set state = ? where flow = ? and name = ?";
/** In: job, names as JSON. Out: name, plan, state. */
export const FIND_MEMBERS =
  "select name, plan, state from millrace_member where flow = ? and name in (select value from json_each(?)) order by name";
/** In: job, after which name, limit. Out: name, plan, state, in order: no more text than one read returns, and at least one. */
export const READ_MEMBERS = `select name, plan, state from (
    select *, row_number() over (order by name) as nth, sum(octet_length(plan) + octet_length(state)) over (order by name) as bytes
    from (select name, plan, state from millrace_member where flow = ? and name > ? order by name limit ?))
  where nth = 1 or bytes <= ${MAX_STEPS_READ_BYTES} order by name`;
/** In: job, name. Out: 1 if there is a member after that name. */
export const HAS_MEMBER_AFTER = "select 1 from millrace_member where flow = ? and name > ? limit 1";
/** In: job. */
export const DELETE_FLOW = "delete from millrace_flow where job = ?";
/** In: job. */
export const DELETE_MEMBERS = "delete from millrace_member where flow = ?";
