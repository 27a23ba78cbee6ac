import { PARTITIONS } from "../../../core/partition.ts";
import { bucketOf, isSet, SCHEDULE, SCHEDULE_FLAG } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { idIn, INSERT_JOBS } from "./insert.ts";
import { LIMITS } from "./limits.ts";
import { LANES, LEDGER, RECORDS, TIME } from "./parts.ts";
import { plainScript, type Script, script } from "./script.ts";

/**
 * Reads and writes a schedule: see layout.ts.
 *
 * A version is the partition's own counter × 1,024 + the number of the partition: no name ever has one twice, wherever it was before.
 */
const SCHEDULE_RECORDS = `
local pack = struct.pack
local function versionOf(partition)
  return redis.call('HINCRBY', B .. 'v', 'versions', 1) * ${PARTITIONS} + partition
end

local function writeSchedule(name, version, paused, nextTick, lastTick, createdAt, job, spec)
  local flags = (paused and ${SCHEDULE_FLAG.paused} or 0) + (nextTick and ${SCHEDULE_FLAG.hasNext} or 0) + (lastTick and ${SCHEDULE_FLAG.hasLast} or 0)
  local record = ${SCHEDULE.pack({ nextTick: "nextTick or 0", lastTick: "lastTick or 0", updatedAt: "now", length: "#job" })}
  redis.call('HSET', B .. 'z', name, record .. job .. spec)
  if nextTick and not paused then redis.call('ZADD', B .. 'zd', nextTick, name) else redis.call('ZREM', B .. 'zd', name) end
end

local function readSchedule(name)
  local record = redis.call('HGET', B .. 'z', name)
  if not record then return nil end
  local ${SCHEDULE.names}, at = struct.unpack('${SCHEDULE.format()}', record)
  return {
    record = record, version = version, paused = ${isSet("flags", SCHEDULE_FLAG.paused)}, nextTick = ${isSet("flags", SCHEDULE_FLAG.hasNext)} and nextTick or nil,
    lastTick = ${isSet("flags", SCHEDULE_FLAG.hasLast)} and lastTick or nil, createdAt = createdAt, job = string.sub(record, at, at + length - 1),
    spec = string.sub(record, at + length)
  }
end
`;

/**
 * Writes a schedule if it has the expected version.
 * In: now; number of the partition; name; expected version or ""; "1" if paused; next tick or ""; JSON.
 * Out: 1 done; 0 somebody was faster; 2 it is about to move to another partition.
 */
export const PUT_SCHEDULE: Script = script(
  "putSchedule",
  TIME,
  SCHEDULE_RECORDS,
  `
local name = ARGV[3]
if redis.call('HEXISTS', B .. 'zm', name) == 1 then return 2 end
local stored = readSchedule(name)
if (stored and stored.version) ~= tonumber(ARGV[4]) then return 0 end
stored = stored or { createdAt = now, job = '' }
writeSchedule(name, versionOf(ARGV[2]), ARGV[5] == '1', tonumber(ARGV[6]), stored.lastTick, stored.createdAt, stored.job, ARGV[7])
return 1
`,
);

/**
 * A schedule whose jobs go to a queue of another partition has to move there. No script can write in two partitions, so the move is noted
 * here first (DEPART), and any process that finds the note completes it: ARRIVE writes the new record, the directory is changed, LEAVE
 * drops the old one. Each step may be repeated.
 * In: now; name; expected version; the note. Out: 1 noted; 0 somebody was faster; 2 it is already about to move.
 */
export const DEPART: Script = script(
  "depart",
  TIME,
  SCHEDULE_RECORDS,
  `
local name = ARGV[2]
if redis.call('HEXISTS', B .. 'zm', name) == 1 then return 2 end
local stored = readSchedule(name)
if not stored or stored.version ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', B .. 'zm', name, ARGV[4])
redis.call('ZADD', B .. 'zd', 0, name) -- so that upkeep meets the note, if whoever wrote it dies
return 1
`,
);

/**
 * In: now; number of the partition; name; its version in the old partition; last tick or ""; createdAt; last job; "1" if paused; next tick
 * or ""; JSON. Out: nothing. A move that was already made, as the old version shows, is not made again: the schedule may have been removed
 * since.
 */
export const ARRIVE: Script = script(
  "arrive",
  TIME,
  SCHEDULE_RECORDS,
  `
local name = ARGV[3]
if redis.call('HGET', B .. 'za', name) == ARGV[4] then return end
redis.call('HSET', B .. 'za', name, ARGV[4])
writeSchedule(name, versionOf(ARGV[2]), ARGV[8] == '1', tonumber(ARGV[9]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[10])
`,
);

/** In: now; name; its version. */
export const LEAVE: Script = script(
  "leave",
  TIME,
  SCHEDULE_RECORDS,
  `
local stored = readSchedule(ARGV[2])
if not stored or stored.version ~= tonumber(ARGV[3]) or redis.call('HDEL', B .. 'zm', ARGV[2]) == 0 then return end
redis.call('HDEL', B .. 'z', ARGV[2])
redis.call('ZREM', B .. 'zd', ARGV[2])
`,
);

/** In: now; name. Out: 1 removed; 0 there was none; 2 it is about to move. */
export const REMOVE_SCHEDULE: Script = script(
  "removeSchedule",
  TIME,
  `
if redis.call('HEXISTS', B .. 'zm', ARGV[2]) == 1 then return 2 end
redis.call('ZREM', B .. 'zd', ARGV[2])
return redis.call('HDEL', B .. 'z', ARGV[2])
`,
);

/** In: now; names, or none for all. Out: { now, (name, record, note of a move or "") … } */
export const READ_SCHEDULES: Script = script(
  "readSchedules",
  TIME,
  `
local names, answer = {}, { now }
for index = 2, #ARGV do names[index - 1] = ARGV[index] end
if #names == 0 then names = redis.call('HKEYS', B .. 'z') end
for _, name in ipairs(names) do
  local record = redis.call('HGET', B .. 'z', name)
  if record then
    answer[#answer + 1] = name
    answer[#answer + 1] = record
    answer[#answer + 1] = redis.call('HGET', B .. 'zm', name) or ''
  end
end
return answer
`,
);

/** In: now; limit. Out: { now, time until the next tick after those (-1: none), (tick, name, record, note of a move or "") … } */
export const DUE_SCHEDULES: Script = script(
  "dueSchedules",
  TIME,
  `
local limit, answer = tonumber(ARGV[2]), { now, -1 }
local found = redis.call('ZRANGE', B .. 'zd', 0, limit, 'WITHSCORES')
for index = 1, #found, 2 do
  local tick = tonumber(found[index + 1])
  if tick > now or index > 2 * limit then
    answer[2] = math.max(0, tick - now)
    break
  end
  answer[#answer + 1] = tick
  answer[#answer + 1] = found[index]
  answer[#answer + 1] = redis.call('HGET', B .. 'z', found[index])
  answer[#answer + 1] = redis.call('HGET', B .. 'zm', found[index]) or ''
end
return answer
`,
);

/**
 * Takes one tick.
 * In: now; number of the partition; name; version; tick or ""; next tick or ""; "1" if the queue is registered; one job or none, as
 *     INSERT_JOBS reads them.
 * Out: "register" as with INSERT; else { "ticked", "stale" or "full", hints }
 */
export const TICK: Script = script(
  "tick",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  SCHEDULE_RECORDS,
  FACETS,
  INSERT_JOBS,
  `
p = 8
readKinds()
local job = total == 1 and ${idIn("ARGV[first]")}
if job and redis.call('HEXISTS', ${bucketOf("bodies", "job")}, job) == 1 then return { 'ticked' } end
local name, tick = ARGV[3], tonumber(ARGV[5])
local stored = readSchedule(name)
if not stored or stored.version ~= tonumber(ARGV[4]) or redis.call('HEXISTS', B .. 'zm', name) == 1 then return { 'stale' } end
if tick and stored.lastTick and stored.lastTick >= tick then return { 'stale' } end
if job and ARGV[7] ~= '1' and not allKnown() then return 'register' end
decideAll()
storeAll(micros, tonumber(redis.call('HGET', B .. 'v', 'seq') or 0))
if created > 0 then stored.job = job end
if tick then
  stored.lastTick = tick
  stored.nextTick = tonumber(ARGV[6])
end
writeSchedule(name, versionOf(ARGV[2]), stored.paused, stored.nextTick, stored.lastTick, stored.createdAt, stored.job, stored.spec)
return { (letters[1] == 'f' or letters[1] == 'l') and 'full' or 'ticked', ringList() }
`,
);

/**
 * Changes or drops an entry of the directory of schedules if nobody changed it meanwhile.
 * In: now; name; the entry as it was read; the new one, or "" to drop it. Its only key is the directory.
 */
export const SET_ENTRY: Script = plainScript(
  "setEntry",
  `
if redis.call('HGET', KEYS[1], ARGV[2]) ~= ARGV[3] then return end
if ARGV[4] == '' then redis.call('HDEL', KEYS[1], ARGV[2]) else redis.call('HSET', KEYS[1], ARGV[2], ARGV[4]) end
`,
);
