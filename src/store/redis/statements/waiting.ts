import { STRICT_HEAD_START_MS } from "../../../core/rank.ts";
import { STATE } from "../../numbers.ts";
import { bucketOf, LIMITED_LANE, MEMBER, RECORD } from "../layout.ts";
import { COUNT_BEFORE, LANES, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/**
 * When the longest due pending job of each queue and type was due. With strict priority, ranks of different priorities are further apart than any
 * two times, so it can jump to the first job of each priority in a lane. During a rerank some jobs have a rank of the old head start, so
 * the due time is read from the job.
 * In: now; queues. Out: (queue, type, when) of each that has any.
 */
export const OLDEST: Script = script(
  "oldest",
  TIME,
  RECORDS,
  LANES,
  `
local STRICT = ${STRICT_HEAD_START_MS}
local answer = {}

local function headsOf(key, isStrict)
  local from, oldest = '-inf', math.huge
  while from do
    local head = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if #head == 0 then break end
    local id = ${MEMBER.rest("head[1]")}
    local record = redis.call('HGET', ${bucketOf("records", "id")}, id) or fresh(redis.call('HGET', ${bucketOf("bodies", "id")}, id))
    local runAt = ${RECORD.open("record", "runAt")}
    oldest = math.min(oldest, runAt)
    from = isStrict and string.format('%.0f', (math.floor(tonumber(head[2]) / STRICT) + 1) * STRICT) or nil
  end
  return oldest
end

for index = 2, #ARGV do
  local queue, oldestOf = queueOf(ARGV[index]), {}
  for _, lane in ipairs(redis.call('SMEMBERS', B .. 'a:' .. queue.name)) do
    local oldest = headsOf(B .. 'w:' .. lane, queue.headStart == STRICT)
    local type = laneOf(tonumber(lane)).type
    -- Jobs with a limit key have another lane of the same type.
    if oldest < math.huge and oldest < (oldestOf[type] or math.huge) then oldestOf[type] = oldest end
  end
  for type, oldest in pairs(oldestOf) do answer[#answer + 1] = { queue.name, type, string.format('%.0f', oldest) } end
end
return answer
`,
);

/**
 * How many pending jobs of its queue and of these types come before a pending one.
 * In: now; id; most; "*", or types …. Out: the count, at most `most`; nil if it is not pending.
 */
export const AHEAD: Script = script(
  "ahead",
  TIME,
  RECORDS,
  LANES,
  COUNT_BEFORE,
  `
local id, most = ARGV[2], tonumber(ARGV[3])
local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
if not body then return nil end
local record = redis.call('HGET', ${bucketOf("records", "id")}, id) or fresh(body)
local state, own, seq = ${RECORD.open("record", "state", "lane", "seq")}
if state ~= ${STATE.pending} then return nil end
local rank = tonumber(redis.call('ZSCORE', B .. 'w:' .. own, ${RECORD.cut("record", "seq")} .. id) or nil)
if not rank then return nil end

local function lanesToCount()
  local queue = laneOf(own).queue.name
  if ARGV[4] == '*' then return redis.call('SMEMBERS', B .. 'a:' .. queue) end
  local fields = {}
  for index = 4, #ARGV do fields[#fields + 1] = queue .. ' ' .. ARGV[index] end
  local found = {}
  for _, lane in ipairs(mget('l', fields)) do
    if lane then
      found[#found + 1] = lane
      found[#found + 1] = format('%d', lane + ${LIMITED_LANE})
    end
  end
  return found
end

local count, seen = 0, {}
for _, lane in ipairs(lanesToCount()) do
  if count >= most then break end
  if not seen[lane] then
    seen[lane] = true
    count = count + countBefore(B .. 'w:' .. lane, rank, seq)
  end
end
return math.min(count, most)
`,
);
