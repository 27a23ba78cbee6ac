/** Limits of keys, how much of them is used, and what may be forgotten. take.ts applies them. */
import { tallyCells } from "../../numbers.ts";
import { MAX_COUNTED_OF_KEY, MAX_HOLDERS } from "../../store.ts";
import { LIMITED_LANE, MEMBER, settingsOf } from "../layout.ts";
import { limitsKey } from "./limit-names.ts";
import { LIMITS } from "./limits.ts";
import { LANES, LEDGER, RECORDS, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/**
 * Sets the limits of one limit key, or of the jobs without a key.
 * In: now; queue; "1" if it is registered; key, or "" for the jobs without one; limits in JSON, or "" for none. Out: "register" as with INSERT;
 * else nothing.
 */
export const SET_KEY_LIMITS: Script = script(
  "setKeyLimits",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  `
local settings, name, text = ${settingsOf("ARGV[2]")}, ARGV[4], ARGV[5]
if ARGV[3] ~= '1' and redis.call('HEXISTS', settings, 'known') == 0 then return 'register' end
${ALWAYS}
redis.call('HSET', settings, 'known', 1)
local function set(key, field)
  if text == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, text) end
end
if name == '' then return set(settings, 'unkeyed') end
local own, names = ${limitsKey("o", "ARGV[2]")}, ${limitsKey("q", "ARGV[2]")}
set(own, name)
if text == '' then redis.call('ZREM', names, name) else redis.call('ZADD', names, 0, name) end
if redis.call('EXISTS', own) == 1 then redis.call('HSET', settings, 'own', 1) else redis.call('HDEL', settings, 'own') end
limits().reconsider(limits().key(queueOf(ARGV[2]), name))
writeLedger()
`,
);

/**
 * Lists keys that have limits of their own, in the order of their bytes; the jobs without a key are the first.
 * In: now; queue; "" from the start, "n" after the jobs without a key, or "k" and the key to begin after; limit. Out: (key or "", limits in JSON) …
 */
export const LIST_KEY_LIMITS: Script = script(
  "listKeyLimits",
  TIME,
  `
local after, limit, list = ARGV[3], tonumber(ARGV[4]), {}
local unkeyed = after == '' and redis.call('HGET', ${settingsOf("ARGV[2]")}, 'unkeyed')
if unkeyed and limit > 0 then
  list, limit = { '', unkeyed }, limit - 1
end
if limit <= 0 then return list end
local from = string.sub(after, 1, 1) == 'k' and '(' .. string.sub(after, 2) or '-'
local names = redis.call('ZRANGEBYLEX', ${limitsKey("q", "ARGV[2]")}, from, '+', 'LIMIT', 0, limit)
for _, name in ipairs(names) do
  list[#list + 1] = name
  list[#list + 1] = redis.call('HGET', ${limitsKey("o", "ARGV[2]")}, name)
end
return list
`,
);

/** After TIME: (id, limit key) … of running jobs: all of a queue or, if it has very many, some. */
const HOLDERS = `
local function holdersOf(queue)
  local key = ${limitsKey("h", "queue")}
  if redis.call('HLEN', key) <= ${MAX_COUNTED_OF_KEY} then return redis.call('HGETALL', key) end
  return redis.call('HSCAN', key, 0, 'COUNT', ${MAX_COUNTED_OF_KEY})[2]
end
`;

/**
 * How much a queue and some limit keys use of their limits.
 * In: now; queue; keys …. Out: nil if there is no such queue; else { now, running, rate, keys }: of each key { running, waiting, held until,
 *     rate, its own limits or "", ids of holders … }. A rate is "" or "busyUntil intervalMs".
 */
export const LIMIT_USE: Script = script(
  "limitUse",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  HOLDERS,
  `
local queue = queueOf(ARGV[2])
if not queue.known then return nil end
local function rateText(state)
  return state.interval == 0 and '' or format('%.17g %.17g', state.busy, state.interval)
end
local names, holders, answer = {}, nil, {}
for index = 3, #ARGV do names[#names + 1] = ARGV[index] end
limits().load(queue, names)
for index, name in ipairs(names) do
  local key = limits().whole(limits().key(queue, name))
  local use = { key.running, key.waiting, format('%.0f', key.held), rateText(key), key.own or '' }
  if key.running > 0 then
    holders = holders or holdersOf(queue.name)
    for at = 1, #holders, 2 do
      if holders[at + 1] == name and #use < ${5 + MAX_HOLDERS} then use[#use + 1] = holders[at] end
    end
  end
  answer[index] = use
end
local running = 0
for _, count in ipairs(redis.call('HMGET', B .. 't:' .. queue.name, ${tallyCells("running").join(", ")})) do running = running + (tonumber(count) or 0) end
return { now, running, rateText(limits().rateOf(queue)), answer }
`,
);

/**
 * The limit keys with the most running jobs, then keys with waiting jobs.
 * In: now; queue; limit. Out: keys, at most as many.
 */
export const BUSIEST: Script = script(
  "busiest",
  TIME,
  HOLDERS,
  `
local queue, limit, sub = ARGV[2], tonumber(ARGV[3]), string.sub
local counts, list, holders = {}, {}, holdersOf(queue)
for at = 2, #holders, 2 do
  local name = holders[at]
  if not counts[name] then list[#list + 1] = name end
  counts[name] = (counts[name] or 0) + 1
end
-- By bytes: a comparison of texts would go by the locale of the server.
local function isBefore(a, b)
  if counts[a] ~= counts[b] then return counts[a] > counts[b] end
  for at = 1, math.min(#a, #b) do
    local one, two = string.byte(a, at), string.byte(b, at)
    if one ~= two then return one < two end
  end
  return #a < #b
end
table.sort(list, isBefore)
local answer = {}
for index = 1, math.min(limit, #list) do answer[index] = list[index] end
local function add(name)
  if counts[name] or #answer >= limit then return end
  counts[name] = 0
  answer[#answer + 1] = name
end
for _, ring in ipairs(#answer < limit and redis.call('ZRANGE', ${limitsKey("p", "queue")}, 0, -1) or {}) do
  for _, member in ipairs(#answer < limit and redis.call('ZRANGE', B .. 'lr:' .. ring, 0, 2 * limit) or {}) do add(${MEMBER.rest("member")}) end
end
for _, aside in ipairs({ ${limitsKey("a", "queue")}, ${limitsKey("b", "queue")} }) do
  for _, member in ipairs(#answer < limit and redis.call('ZRANGE', aside, 0, 1000 + limit) or {}) do add(string.match(member, '^%d+ %-?%d+ (.*)$')) end
end
for _, name in ipairs(#answer < limit and redis.call('ZRANGEBYSCORE', ${limitsKey("i", "queue")}, '+inf', '+inf', 'LIMIT', 0, 2 * limit) or {}) do add(name) end
return answer
`,
);

/**
 * Forgets limit keys that have nothing to remember any more, and in queues without such jobs, that claims have to look at limits.
 * In: now; limit; queues …. Out: how many keys.
 */
export const SWEEP_LIMITS: Script = script(
  "sweepLimits",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  ALWAYS,
  `
local removed, limit = 0, tonumber(ARGV[2])
for index = 3, #ARGV do
  local queue = queueOf(ARGV[index])
  local resting = ${limitsKey("i", "queue.name")}
  local names = queue.keyed and removed < limit and redis.call('ZRANGEBYSCORE', resting, '-inf', now, 'LIMIT', 0, limit - removed) or {}
  limits().load(queue, names)
  for _, name in ipairs(names) do
    local key = limits().whole(limits().key(queue, name))
    -- Nobody has waited for so long that the tags of its lines no longer matter.
    for id, line in pairs(key.lines) do
      if line.size == 0 then key.lines[id] = nil end
    end
    limits().touch(key)
    removed = removed + 1
  end
  limits().write()
  if queue.keyed and #names == 0 then
    local hasJobs = redis.call('EXISTS', ${limitsKey("h", "queue.name")}, resting) > 0
    for _, lane in ipairs(redis.call('SMEMBERS', B .. 'a:' .. queue.name)) do
      if tonumber(lane) >= ${LIMITED_LANE} then
        if redis.call('EXISTS', B .. 'w:' .. lane) == 1 then hasJobs = true else redis.call('SREM', B .. 'a:' .. queue.name, lane) end
      end
    end
    if not hasJobs then redis.call('HDEL', ${settingsOf("queue.name")}, 'keyed') end
  end
end
return removed
`,
);
