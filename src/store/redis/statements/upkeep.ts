import { TIMES_BY_MINUTE_MS } from "../../../core/counters.ts";
import { KEPT_FOR_A_TIME } from "../../../core/job.ts";
import { HOUR_MS, MINUTE_MS } from "../../../core/time-units.ts";
import { firstFieldOf, KEPT_STATES, STATE, tallyCells } from "../../numbers.ts";
import { BUCKET, bucketOf, ENDED, HOLDER, isSet, MEMBER, RECORD, RECORD_FLAG } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { FORGET, OWN_KEY } from "./manage.ts";
import { isOneOf, KEY_BUCKET, LANES, LEDGER, RECORDS, SUMMARY, TIME } from "./parts.ts";
import { LIMITS } from "./limits.ts";
import { TRANSITION } from "./transition.ts";
import { PACK } from "./counters.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/**
 * Makes due jobs pending, the longest due first. Those that are suspended have a set of their own, in which a job may be left that was moved
 * by a version that knows nothing of them.
 * In: now; limit; 1 to list them. Out: { how many, time until the next one is due (-1: none waits), hints, (id, lane) of each, lanes }
 */
export const PROMOTE: Script = script(
  "promote",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  TRANSITION,
  `
local members, suspended, limit, told = {}, {}, tonumber(ARGV[2]), {}
local function firstOf(set)
  return tonumber(redis.call('ZRANGE', B .. set, 0, 0, 'WITHSCORES')[2])
end
local function dueIn(set)
  return redis.call('ZRANGEBYSCORE', B .. set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
end

-- Replaces the members by those of both sets that are due longest, and drops suspended ones that are so no longer.
local function mergeSuspended()
  local waiting, timed, i, j = dueIn('d'), dueIn('bd'), 1, 1
  members = {}
  while #members < limit and (waiting[i] or timed[j]) do
    if not timed[j] or (waiting[i] and tonumber(waiting[i + 1]) <= tonumber(timed[j + 1])) then
      members[#members + 1] = waiting[i]
      i = i + 2
    else
      local member = timed[j]
      local id = ${MEMBER.rest("member")}
      local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
      if record and ${RECORD.open("record", "state")} == ${STATE.blocked} then
        members[#members + 1] = member
        suspended[#suspended + 1] = member
      else redis.call('ZREM', B .. 'bd', member) end
      j = j + 2
    end
  end
end

if limit > 0 then
  members = redis.call('ZRANGEBYSCORE', B .. 'd', '-inf', now, 'LIMIT', 0, limit)
  local first = firstOf('bd')
  if first and first <= now then mergeSuspended() end
end
if #members > 0 then
  ${ALWAYS}
  local ids = {}
  for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
  local records = getJobs('${BUCKET.records}', ids)
  for index, id in ipairs(ids) do
    local record = records[index] or fresh(redis.call('HGET', ${bucketOf("bodies", "id")}, id))
    local ${RECORD.names}, at = open(F, record)
    enter(id, members[index], ${STATE.pending}, priority, laneOf(lane), runAt)
    move(laneOf(lane).queue, priority, state, ${STATE.pending})
    if laneOf(lane).isLimited then limits().moved(laneOf(lane), id, members[index], priority, state, ${STATE.pending}, runAt) end
    if ARGV[3] == '1' then
      told[#told + 1] = id
      told[#told + 1] = lane
    end
    sets[#sets + 1] = id
    sets[#sets + 1] = ${RECORD.pack({ state: STATE.pending, updatedAt: "now", over: 0 })} .. sub(record, at)
  end
  many('ZREM', B .. 'd', members)
  many('ZREM', B .. 'b', suspended)
  many('ZREM', B .. 'bd', suspended)
  flush()
  writeLedger()
end
local first, timed = firstOf('d'), firstOf('bd')
if timed and (not first or timed < first) then first = timed end
return { #members, first and math.max(0, first - now) or -1, ringList(), told, #told > 0 and laneNames() or {} }
`,
);

/**
 * Finds leases that have run out, the longest first.
 * In: now; limit. Out: { jobs as (end of lease, id, body, record) without payload and result …, time until the next lease ends (-1: none),
 *     lanes, names of queues without dead letters }
 */
export const EXPIRED: Script = script(
  "expired",
  TIME,
  RECORDS,
  LANES,
  SUMMARY,
  `
local jobs, limit = {}, tonumber(ARGV[2])
local found = redis.call('ZRANGE', B .. 'r', 0, limit, 'WITHSCORES')
local next = -1
for index = 1, #found, 2 do
  local over = tonumber(found[index + 1])
  if over > now or index > limit * 2 then
    next = math.max(0, over - now)
    break
  end
  local id = ${MEMBER.rest("found[index]")}
  local body, record = redis.call('HGET', ${bucketOf("bodies", "id")}, id), redis.call('HGET', ${bucketOf("records", "id")}, id)
  if body and record then
    laneOf(laneIn(body))
    jobs[#jobs + 1] = over
    jobs[#jobs + 1] = id
    jobs[#jobs + 1], jobs[#jobs + 2] = summary(body, record)
  end
end
return { jobs, next, laneNames(), withoutDeadLetters() }
`,
);

/**
 * Removes completed and cancelled jobs of a queue, the earliest ended first. Their keys stay until they expire.
 * In: now; queue; ageMs; count; keepAtLeastMs; limit. Out: { how many, 1 if there may be more }.
 * The list of ended jobs still has those that were retried or removed since. Each entry has the end of its job: if the job has another one, the entry is just dropped.
 */
export const PRUNE: Script = script(
  "prune",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  FACETS,
  OWN_KEY,
  FORGET,
  ALWAYS,
  `
local queue, age, keep, least, limit = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local kept = 0
for _, cell in ipairs(redis.call('HMGET', B .. 't:' .. queue, ${tallyCells(...KEPT_FOR_A_TIME).join(", ")})) do kept = kept + (tonumber(cell) or 0) end

local function outlive(id, body, state, over)
  local text, ttl = keyIn(body)
  if not text then return end
  local field = queue .. ' ' .. text
  local own = ownKey(id, field)
  if not own then return end
  if over + ttl <= now then redis.call('HDEL', keyBucket(field), field)
  else
    redis.call('HSET', keyBucket(field), field, ${HOLDER.pack({ expiry: "over + ttl" })} .. ${HOLDER.rest("own")})
    redis.call('ZADD', B .. 'kx', over + ttl, field)
  end
end

local entries = redis.call('LRANGE', B .. 'e:' .. queue, 0, 2 * limit - 1)
local removed, passed = 0, 0
for _, entry in ipairs(entries) do
  local over, id = ${ENDED.open("entry", "over")}, ${ENDED.rest("entry")}
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
  local state, flags, stands
  if record then state, flags, stands = ${RECORD.open("record", "state", "flags", "over")} end
  if ${isOneOf("state", KEPT_STATES)} and stands == over then
    local ago = now - over
    if removed == limit or ago < least or (ago <= age and kept <= keep) then break end
    local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
    if not (${isSet("flags", RECORD_FLAG.keyGone)}) then outlive(id, body, state, over) end
    forget(id, body, record)
    removed = removed + 1
    kept = kept - 1
  end
  passed = passed + 1
end
if passed > 0 then redis.call('LTRIM', B .. 'e:' .. queue, passed, -1) end
writeLedger()
return { removed, passed == 2 * limit and 1 or 0 }
`,
);

/** How many minutes of queues are looked at in one call: more than any partition has queues. */
const MOST_MINUTES = 10_000;

/**
 * Moves histograms from their minutes to their hours, then drops expired keys and periods of counters past their retention.
 * In: now; how long to keep minutes and hours; limit of each. Out: how many.
 */
export const SWEEP: Script = script(
  "sweep",
  TIME,
  KEY_BUCKET,
  PACK,
  ALWAYS,
  `
local removed, limit = 0, tonumber(ARGV[4])
for _, field in ipairs(redis.call('ZRANGEBYSCORE', B .. 'kx', '-inf', now, 'LIMIT', 0, limit)) do
  redis.call('HDEL', keyBucket(field), field)
  redis.call('ZREM', B .. 'kx', field)
  removed = removed + 1
end
local function drop(period, before)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', B .. 'p' .. period, '-inf', '(' .. string.format('%.0f', before), 'LIMIT', 0, limit)) do
    redis.call('DEL', B .. period .. ':' .. string.gsub(member, ' ', ':', 1))
    redis.call('ZREM', B .. 'p' .. period, member)
    removed = removed + 1
  end
end

-- Whole minutes, until there are enough: every queue of a minute is done before the next minute begins.
local before = now - now % ${MINUTE_MS} - ${TIMES_BY_MINUTE_MS}
local since = tonumber(redis.call('GET', B .. 'mu') or '0')
local reached, cells = before, 0
local members = redis.call('ZRANGEBYSCORE', B .. 'pm', string.format('%.0f', since), '(' .. string.format('%.0f', before), 'LIMIT', 0, ${MOST_MINUTES})
if #members == ${MOST_MINUTES} then reached = tonumber(string.match(members[#members], '^%d+')) end
for _, member in ipairs(members) do
  local start, queue = string.match(member, '^(%d+) (.*)$')
  if cells >= limit and tonumber(start) > since then
    reached = tonumber(start)
    break
  end
  since = tonumber(start)
  local minute, hour = B .. 'm:' .. start .. ':' .. queue, string.format('%.0f', since - since % ${HOUR_MS})
  local found = redis.call('HGETALL', minute)
  local moved = pack(B .. 'f:' .. hour .. ':' .. queue, found)
  if moved > 0 then
    redis.call('ZADD', B .. 'pf', hour, hour .. ' ' .. queue)
    for index = 1, #found, 2 do
      if tonumber(found[index]) >= ${firstFieldOf("run")} then redis.call('HDEL', minute, found[index]) end
    end
    cells = cells + moved
  end
end
redis.call('SET', B .. 'mu', string.format('%.0f', reached))
drop('m', math.min(now - tonumber(ARGV[2]), reached))
drop('h', now - tonumber(ARGV[3]))
drop('f', now - tonumber(ARGV[3]))
return removed + cells
`,
);

/** How many buckets one call is given, and about how many records it looks at. A bucket counts as one too: most do not exist. */
export const LOOKS_AT_ONCE = 500;

/**
 * Goes through the records of some buckets and adds running jobs that are missing among the leases: after an eviction or a manual mistake
 * nothing else would ever find them.
 * In: now; cursor in the first bucket; names of buckets …. Out: { how many of them are done, cursor in the next one }
 */
export const REPAIR: Script = script(
  "repair",
  TIME,
  RECORDS,
  ALWAYS,
  `
local cursor, looked = ARGV[2], 0
for index = 3, #ARGV do
  repeat
    if looked >= ${LOOKS_AT_ONCE} then return { index - 3, cursor } end
    local found = redis.call('HSCAN', B .. '${BUCKET.records}' .. ARGV[index], cursor, 'COUNT', ${LOOKS_AT_ONCE / 2})
    cursor, looked = found[1], looked + 1 + #found[2] / 2
    for place = 1, #found[2], 2 do
      local id, record = found[2][place], found[2][place + 1]
      local state, over = ${RECORD.open("record", "state", "over")}
      if state == ${STATE.running} then redis.call('ZADD', B .. 'r', 'NX', over, ${RECORD.cut("record", "seq")} .. id) end
    end
  until cursor == '0'
end
return { #ARGV - 2, '0' }
`,
);
