import { QUEUE_DEFAULTS } from "../../../core/queue.ts";
import { BUCKET, bucketOf, MEMBER, RECORD, settingsOf } from "../layout.ts";
import { limitsKey } from "./limit-names.ts";
import { RECORDS, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/**
 * Changes settings of a queue. A new head start marks the lanes whose jobs need new ranks; new limits mark the lines that stand aside.
 * In: now; queue; "1" if it is registered; (field, value) each. Out: "register" as with INSERT; else nothing.
 */
export const CONFIGURE: Script = script(
  "configure",
  TIME,
  `
local key, queue = ${settingsOf("ARGV[2]")}, ARGV[2]
if ARGV[3] ~= '1' and redis.call('HEXISTS', key, 'known') == 0 then return 'register' end
${ALWAYS}
local function limitsNow() return redis.call('HGET', key, 'limits') or '' end
local limitsBefore = limitsNow()
local before = tonumber(redis.call('HGET', key, 'headStart')) or ${QUEUE_DEFAULTS.headStartMs}
redis.call('HSET', key, 'known', 1)
for index = 4, #ARGV, 2 do redis.call('HSET', key, ARGV[index], ARGV[index + 1]) end
local after = tonumber(redis.call('HGET', key, 'headStart')) or ${QUEUE_DEFAULTS.headStartMs}
if before ~= after then
  redis.call('SUNIONSTORE', B .. 'u:' .. queue, B .. 'u:' .. queue, B .. 'a:' .. queue)
  redis.call('HDEL', key, 'cursor')
end
-- Claims look again at the lines that stand aside. There may be many, so no line is touched here, unless limits change faster than claims look.
local aside, again = ${limitsKey("a", "queue")}, ${limitsKey("b", "queue")}
if limitsBefore ~= limitsNow() and redis.call('EXISTS', aside) == 1 then
  if redis.call('EXISTS', again) == 0 then redis.call('RENAME', aside, again)
  else
    redis.call('ZUNIONSTORE', again, 2, again, aside)
    redis.call('DEL', aside)
  end
  redis.call('HSET', key, 'changed', 1)
end
`,
);

/**
 * Updates the ranks of pending jobs to the present head start, lane by lane. A scan of a lane meets every job that stays in it, even if
 * others come, go or get new ranks meanwhile.
 * In: now; queue; about how many. Out: 1 while there is more to do.
 */
export const RERANK: Script = script(
  "rerank",
  TIME,
  RECORDS,
  `
local queue = ARGV[2]
local todo, key = B .. 'u:' .. queue, ${settingsOf("queue")}
local lane = redis.call('HGET', key, 'lane')
if not lane or redis.call('SISMEMBER', todo, lane) == 0 then lane = redis.call('SRANDMEMBER', todo) end
if not lane then return 0 end
${ALWAYS}
local headStart = tonumber(redis.call('HGET', key, 'headStart')) or ${QUEUE_DEFAULTS.headStartMs}
local found = redis.call('ZSCAN', B .. 'w:' .. lane, redis.call('HGET', key, 'cursor') or '0', 'COUNT', ARGV[3])
local ids, ranks = {}, {}
for index = 1, #found[2], 2 do ids[#ids + 1] = ${MEMBER.rest("found[2][index]")} end
for index, record in ipairs(getJobs('${BUCKET.records}', ids)) do
  record = record or fresh(redis.call('HGET', ${bucketOf("bodies", "ids[index]")}, ids[index]))
  local priority, runAt = ${RECORD.open("record", "priority", "runAt")}
  ranks[#ranks + 1] = runAt - priority * headStart
  ranks[#ranks + 1] = found[2][2 * index - 1]
end
many('ZADD', B .. 'w:' .. lane, ranks)
if found[1] ~= '0' then
  redis.call('HSET', key, 'lane', lane, 'cursor', found[1])
  return 1
end
redis.call('HDEL', key, 'lane', 'cursor')
redis.call('SREM', todo, lane)
return redis.call('EXISTS', todo)
`,
);
