import { REPLACEABLE } from "../../store.ts";
import { STATE } from "../../numbers.ts";
import { bucketOf, RECORD } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { idIn, INSERT_JOBS } from "./insert.ts";
import { LIMITS } from "./limits.ts";
import { FORGET } from "./manage.ts";
import { isOneOf, LANES, LEDGER, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** Where the kind of the job begins, and what it says of the time. */
const KINDS_AT = 2;
const WHEN_AT = KINDS_AT + 4;

const IS_REPLACEABLE = isOneOf(
  "state",
  REPLACEABLE.map((status) => STATE[status]),
);

/**
 * Puts a job in place of the one with its id, if that one waits and was never claimed. The queue is known: the job before is in it.
 *
 * In: now; one job without a key, as INSERT_JOBS reads it. It is stored as blocked if the one before was.
 * Out: m missing, r refused, or the hints.
 */
export const REPLACE: Script = script(
  "replace",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  FACETS,
  FORGET,
  INSERT_JOBS,
  `
local id = ${idIn("ARGV[#ARGV]")}
local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
if not body then return 'm' end
local record = redis.call('HGET', ${bucketOf("records", "id")}, id) or fresh(body)
local state, priority, lane, fence = ${RECORD.open("record", "state", "priority", "lane", "fence")}
if fence ~= 0 or not ${IS_REPLACEABLE} then return 'r' end

-- The first write. It changes nothing, but may need memory, so that a full server refuses here, with nothing done.
redis.call('HINCRBY', B .. 'v', 'jobs', 0)
local member, wasBlocked = ${RECORD.cut("record", "seq")} .. id, state == ${STATE.blocked}
if state == ${STATE.pending} then redis.call('ZREM', B .. 'w:' .. lane, member)
elseif wasBlocked then redis.call('ZREM', B .. 'b', member)
else redis.call('ZREM', B .. 'd', member) end
-- For its limit key, the job before ends.
if laneOf(lane).isLimited then limits().moved(laneOf(lane), id, member, priority, state, ${STATE.cancelled}) end
forget(id, body, record)

if wasBlocked then ARGV[${WHEN_AT}] = 'b' end
p = ${KINDS_AT}
readKinds()
local _, kind = next(kinds)
local limit = hasCosts and loadLimits({ id })[1] or nil
if kind.isLimited and not wasBlocked then
  local key = limits().key(kind.queue, limit.name)
  key.waiting = key.waiting + 1
end
created, kind.times, news[1] = 1, 1, { 1, id, kind, nil, limit }
local last = tonumber(redis.call('HGET', B .. 'v', 'seq'))
storeAll(math.max(micros, last + 1), last)
return ringList()
`,
);
