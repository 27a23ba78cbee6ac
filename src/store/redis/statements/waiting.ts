import { STRICT_HEAD_START_MS } from "../../../core/rank.ts";
import { STATE } from "../../numbers.ts";
import { MEMBER, RECORD } from "../layout.ts";
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
    local record = redis.call('HGET', B .. 's', id) or fresh(redis.call('HGET', B .. 'j', id))
    local runAt = ${RECORD.open("record", "runAt")}
    oldest = math.min(oldest, runAt)
    from = isStrict and string.format('%.0f', (math.floor(tonumber(head[2]) / STRICT) + 1) * STRICT) or nil
  end
  return oldest
end

for index = 2, #ARGV do
  local queue = queueOf(ARGV[index])
  for _, lane in ipairs(redis.call('SMEMBERS', B .. 'a:' .. queue.name)) do
    local oldest = headsOf(B .. 'w:' .. lane, queue.headStart == STRICT)
    if oldest < math.huge then answer[#answer + 1] = { queue.name, laneOf(lane).type, string.format('%.0f', oldest) } end
  end
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
local body = redis.call('HGET', B .. 'j', id)
if not body then return nil end
local record = redis.call('HGET', B .. 's', id) or fresh(body)
local state, own, seq = ${RECORD.open("record", "state", "lane", "seq")}
if state ~= ${STATE.pending} then return nil end
local rank = tonumber(redis.call('ZSCORE', B .. 'w:' .. own, ${RECORD.cut("record", "seq")} .. id) or nil)
if not rank then return nil end

local function lanesToCount()
  local queue = laneOf(own).queue.name
  if ARGV[4] == '*' then return redis.call('SMEMBERS', B .. 'a:' .. queue) end
  local fields = {}
  for index = 4, #ARGV do fields[#fields + 1] = queue .. ' ' .. ARGV[index] end
  return mget('l', fields)
end

local count, seen = 0, {}
for _, lane in ipairs(lanesToCount()) do
  if count >= most then break end
  if lane and not seen[lane] then
    seen[lane] = true
    count = count + countBefore(B .. 'w:' .. lane, rank, seq)
  end
end
return math.min(count, most)
`,
);
