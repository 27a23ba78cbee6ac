/**
 * The terms of the partial indexes (see migrations.ts). SQLite uses such an index only if the query repeats its own term: it does not see that
 * `state = 4` implies `state >= 4`. So some conditions of statements are doubled; test/unit/store/sqlite/plans.test.ts asserts that each hot
 * statement uses its index.
 */
import { STATE } from "../numbers.ts";

export const PENDING: string = `state = ${STATE.pending}`;
export const WAITS_FOR_TIME: string = `state <= ${STATE.retrying}`;
export const RUNNING: string = `state = ${STATE.running}`;
/** Blocked jobs that become pending by themselves: their `lease_until` says when. */
export const SUSPENDED: string = `state = ${STATE.blocked} and lease_until is not null`;
/** Ended and blocked jobs, most of which change only if someone acts. The index has their queue and state. */
export const AT_REST: string = `state >= ${STATE.completed}`;
/** Jobs of a line that wait or run. A comparison with the line is the other term of this index. */
export const OF_LINE: string = `state <= ${STATE.running}`;
