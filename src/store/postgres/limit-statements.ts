/** The SQL texts of limits, except functions. The comment above each has its inputs, in order, and what an answer means. */
import { SERVER_TIME } from "./functions/snippets.ts";
import { NO_KEY, PLACE } from "./lines.ts";

export type LimitStatements = ReturnType<typeof statements>;

/** The statements on the tables of one schema, with the functions of this digest. */
export function limitStatementsFor(s: string, digest: string): LimitStatements {
  return statements(s, digest);
}

/** Lines that stand aside because of a limit may start now: it may have changed. */
const reconsider = (s: string, lines: string): string =>
  `update ${s}.limit_line set place = ${PLACE.ring}, until = null where place in (${PLACE.parked}, ${PLACE.asleep}) and ${lines}`;

const ofQueue = (s: string): string => `(select id from ${s}.queue where name = $1)`;
const lanesOf = (s: string): string => `lane = any(array(select id from ${s}.lane where queue = ${ofQueue(s)} and id < 0))`;

const statements = (s: string, digest: string) => ({
  keyUse: `select * from ${s}.key_use_${digest}($1, $2, $3, $4)`,
  /** In: now. Out: the queues that may have work. */
  tendTurns: `select ${s}.tend_turns_${digest}($1)`,
  /** In: name of the queue, key (null: all). Waits for claims under way: they may have read the limits before, and put a line aside because of them. */
  awaitClaims: `select count(*) from (select from ${s}.limit_line where ${lanesOf(s)} and place = ${PLACE.ring} and ($2::text is null or key = $2) for key share) l`,
  reconsiderQueue: reconsider(s, lanesOf(s)),
  /** In: name of the queue, key, limits. The present leases of the key are counted from the same commit on, as with `configure`. */
  setKeyLimits: `with counted as (
      insert into ${s}.limit_key (queue, key, recount_since) select id, '${NO_KEY}', ${SERVER_TIME} from ${s}.queue where name = $1 and $2 <> '${NO_KEY}'
      on conflict (queue, key) do update set recount_since = excluded.recount_since
    ) insert into ${s}.limit_key (queue, key, own) values (${ofQueue(s)}, $2, $3) on conflict (queue, key) do update set own = excluded.own`,
  /** In: name of the queue, key. */
  reconsiderKey: reconsider(s, `${lanesOf(s)} and key = $2`),
  /** In: name of the queue, after (null: from the start), limit. Out: key, limits. */
  keyLimits: `select key, own from ${s}.limit_key where queue = ${ofQueue(s)} and own is not null and ($2::text is null or key > $2) order by key limit $3`,
  /** In: name of the queue. Makes it known to people. */
  showQueue: `update ${s}.queue set configured = true where name = $1`,
  /** In: now, limit. Drops what is remembered of limit keys without jobs, limits, a hold or a rate, and what versions before left behind. Out: how many. */
  sweepLimits: `select ${s}.sweep_limits_${digest}($1, $2)`,
});
