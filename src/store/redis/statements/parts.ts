/** Parts that scripts share. Each names the parts that must come before it. */
import { BUCKETS, STEPS_PER_DOUBLING } from "../../../core/histogram.ts";
import { QUEUE_DEFAULTS } from "../../../core/queue.ts";
import { HOUR_MS, MINUTE_MS } from "../../../core/time-units.ts";
import { COUNTERS_PER_TYPE, FIELDS_PER_TYPE, firstFieldOf, LEVELS, STATE, THRESHOLDS } from "../../numbers.ts";
import {
  DUE,
  HEAD,
  HEAD_FLAG,
  isSet,
  KEY,
  KEY_DIGITS,
  LIMIT,
  LIMITED_LANE,
  MEMBER,
  RECORD,
  RECORD_FLAG,
  settingsOf,
  tagOf,
} from "../layout.ts";

/** Lua: whether a state is one of these. */
export const isOneOf = (state: string, states: readonly number[]): string =>
  `(${states.map((number) => `${state} == ${number}`).join(" or ")})`;

/** now, micros (real time, even if a test sets `now`), and B, the beginning of all names. */
export const TIME = `
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local now = tonumber(ARGV[1]) or math.floor(micros / 1000)
local B = string.sub(KEYS[1], 1, -2)
`;

/**
 * After TIME: state records and heads of bodies (see layout.ts), bulk calls, and the buckets of jobs (see keys.ts).
 *
 * Hot paths cut and join the bytes at the positions of fields, because unpacking and packing twenty fields takes as long as all commands
 * for the job together.
 */
export const RECORDS = `
local F = '${RECORD.format()}'
local H = '${HEAD.format()}'
local pack, open, sub, format = struct.pack, struct.unpack, string.sub, string.format

local function many(command, key, args)
  for from = 1, #args, 500 do
    redis.call(command, key, unpack(args, from, math.min(from + 499, #args)))
  end
end

local function mget(key, fields)
  if #fields <= 500 then
    if #fields == 0 then return {} end
    return redis.call('HMGET', B .. key, unpack(fields))
  end
  local all = {}
  for from = 1, #fields, 500 do
    for _, value in ipairs(redis.call('HMGET', B .. key, unpack(fields, from, math.min(from + 499, #fields)))) do all[#all + 1] = value end
  end
  return all
end

-- Reads jobs from the buckets of a kind: a value or false for each; and the name of their bucket or, if there are several, the ids by
-- bucket with their places, which may be given for the next kind. What was made together is mostly in one, so the first is asked for all: to
-- look at every id would take longer.
local function getJobs(kind, ids, buckets)
  if #ids == 0 then return ids end
  local common = ${tagOf("ids[1]")}
  local values = mget(kind .. common, ids)
  if buckets == common then return values, common end
  for place = 1, buckets and 0 or #ids do
    local tag = not values[place] and ${tagOf("ids[place]")} or common
    if tag ~= common then
      buckets = buckets or {}
      local group = buckets[tag]
      if not group then
        group = { ids = {}, places = {}, size = 0 }
        buckets[tag] = group
      end
      local size = group.size + 1
      group.ids[size], group.places[size], group.size = ids[place], place, size
    end
  end
  if not buckets then return values, common end
  for tag, group in pairs(buckets) do
    local found = mget(kind .. tag, group.ids)
    for index = 1, group.size do values[group.places[index]] = found[index] end
  end
  return values, buckets
end

-- Writes (id, value) … to the buckets of a kind. If all are in one, that may be given.
local function setJobs(kind, list, bucket)
  if type(bucket) == 'string' then return many('HSET', B .. kind .. bucket, list) end
  local groups = {}
  for at = 1, #list, 2 do
    local tag = ${tagOf("list[at]")}
    local group = groups[tag]
    if not group then
      group = { args = {}, size = 0 }
      groups[tag] = group
    end
    local size = group.size
    group.args[size + 1], group.args[size + 2], group.size = list[at], list[at + 1], size + 2
  end
  for tag, group in pairs(groups) do many('HSET', B .. kind .. tag, group.args) end
end

-- The record of a job that nobody has touched yet.
local function fresh(body)
  local ${HEAD.names}, at = open(H, body)
  local state, runAt = ${STATE.pending}, created
  if ${isSet("flags", HEAD_FLAG.scheduled)} then
    state = ${STATE.scheduled}
    runAt = open('${DUE.format()}', body, at)
  end
  return ${RECORD.packNew({ state: "state", priority: "priority", lane: "lane", seq: "seq", runAt: "runAt", updatedAt: "created", ran: -1 })}
end

-- The key of a body and its ttl, or nil; where the client's own text begins; and its limit key, or nil, and its cost.
local function keyIn(body)
  local flags, at = ${HEAD.open("body", "flags")}, ${HEAD.bytes + 1}
  local key, ttl, length, from, limitKey, cost = nil, 0, nil, nil, nil, 1
  if ${isSet("flags", HEAD_FLAG.scheduled)} then at = at + ${DUE.bytes} end
  if ${isSet("flags", HEAD_FLAG.keyed)} then
    ttl, length, from = open('${KEY.format()}', body, at)
    at = from + length
    key = sub(body, from, at - 1)
  end
  if ${isSet("flags", HEAD_FLAG.costed)} then
    cost, length, from = open('${LIMIT.format()}', body, at)
    at = from + length
    if length > 0 then limitKey = sub(body, from, at - 1) end
  end
  return key, ttl, at, limitKey, cost
end

local function laneIn(body)
  return (${HEAD.open("body", "lane")})
end

local function level(priority)
  ${THRESHOLDS.map(({ level, from }) => `if priority >= ${from} then return ${level} end`).join("\n  ")}
  return 0
end
`;

/** After TIME: the bucket of an idempotency key, by "queue key". A digest takes less time than a hash made in Lua. */
export const KEY_BUCKET = `
local function keyBucket(field)
  return B .. 'k:' .. string.sub(redis.sha1hex(field), 1, ${KEY_DIGITS})
end
`;

/** Lua: the head start of a queue, from its stored setting. */
export const headStartIn = (stored: string): string => `(tonumber(${stored}) or ${QUEUE_DEFAULTS.headStartMs})`;

/**
 * After RECORDS: the queues and lanes of a call, each read once. They also collect the changes to a queue's counts. A lane's number means
 * nothing outside its partition, and may change when the server loses data: replies always have the names. A lane of jobs with limit keys
 * has the names of the other lane of its queue and type, and is counted with it.
 */
export const LANES = `
local queues, lanes = {}, {}

local function queueOf(name)
  local queue = queues[name]
  if queue then return queue end
  local found = redis.call('HMGET', ${settingsOf("name")}, 'known', 'paused', 'headStart', 'deadLetters', 'capacity', 'lastTyped', 'limits', 'keyed')
  queue = {
    name = name, known = found[1], paused = found[2] == '1', headStart = ${headStartIn("found[3]")},
    deadLetters = found[4] ~= '0', capacity = tonumber(found[5]), lastTyped = tonumber(found[6]), tally = {}, counts = {}, ended = {},
    limits = found[7] ~= '' and found[7], keyed = found[8]
  }
  queues[name] = queue
  return queue
end

local function laneOf(number)
  local lane = lanes[number]
  if lane then return lane end
  local counted = number % ${LIMITED_LANE}
  local text = redis.call('HGET', B .. 'n', format('%d', counted))
  local space = string.find(text, ' ', 1, true)
  lane = {
    queue = queueOf(sub(text, 1, space - 1)), number = number, counted = counted, isLimited = counted ~= number, type = sub(text, space + 1),
    entered = {}
  }
  lanes[number] = lane
  return lane
end

-- (number, queue, type) of all that were asked for.
local function laneNames()
  local list = {}
  for number, lane in pairs(lanes) do
    list[#list + 1] = number
    list[#list + 1] = lane.queue.name
    list[#list + 1] = lane.type
  end
  return list
end

local function withoutDeadLetters()
  local list = {}
  for name, queue in pairs(queues) do
    if not queue.deadLetters then list[#list + 1] = name end
  end
  return list
end
`;

/** After TIME: counts in a minute or an hour. */
export const ADD_TO_PERIOD = `
-- Numbers are given to commands as whole numbers in text: the server would write them with all digits of a fraction, which takes longer.
-- A field that has just the added number was not there: the period may be new, and has to be found again by its start.
local function addTo(period, start, text, queue, key, metric, times)
  local sum = redis.call('HINCRBY', key, string.format('%d', metric), string.format('%d', times))
  if sum == times then redis.call('ZADD', B .. 'p' .. period, start, text .. ' ' .. queue) end
end
`;

/**
 * After LANES: tallies and counters; RUN and WAIT + bucket for the histograms, which are written by minute only; `sweep` moves them to their
 * hour. The lanes of a queue up to `lastTyped` (absent: all) count under numbers of their own.
 */
export const LEDGER = `
local RUN, WAIT = ${firstFieldOf("run")}, ${firstFieldOf("wait")}
-- What a script has to write about limit keys: see limits.ts.
local limitsInUse

local function add(row, cell, times)
  row[cell] = (row[cell] or 0) + times
end

-- A kind is the number that the bytes of a priority and of a lane make: jobs of one kind are counted together.
local function splitKind(kind)
  -- The byte of a priority has a sign.
  local first = math.floor(kind / ${2 ** 24})
  return first < 128 and first or first - 256, kind % ${2 ** 24}
end

local function move(queue, priority, from, to)
  local level = level(priority)
  if from then add(queue.tally, from * ${LEVELS.length} + level, -1) end
  if to then add(queue.tally, to * ${LEVELS.length} + level, 1) end
end

local buckets = {}
local function bucket(ms)
  if not (ms > 1) then return 0 end
  local known = buckets[ms]
  if known then return known end
  known = math.ceil(math.log(ms) / math.log(2) * ${STEPS_PER_DOUBLING})
  while known > 0 and 2 ^ ((known - 1) / ${STEPS_PER_DOUBLING}) >= ms do known = known - 1 end
  while 2 ^ (known / ${STEPS_PER_DOUBLING}) < ms do known = known + 1 end
  if known > ${BUCKETS - 1} then known = ${BUCKETS - 1} end
  buckets[ms] = known
  return known
end

local function isTyped(lane)
  return not lane.queue.lastTyped or lane.counted <= lane.queue.lastTyped
end

local function count(lane, counter, times)
  add(lane.queue.counts, isTyped(lane) and -(lane.counted * ${COUNTERS_PER_TYPE} + counter) or counter, times)
end

local function countTimes(lane, ran, waited)
  local counts, first = lane.queue.counts, isTyped(lane) and lane.counted * ${FIELDS_PER_TYPE} or 0
  local run, wait = first + RUN + bucket(ran), first + WAIT + bucket(waited)
  counts[run] = (counts[run] or 0) + 1
  counts[wait] = (counts[wait] or 0) + 1
end

${ADD_TO_PERIOD}
local function writeLedger()
  if limitsInUse then limitsInUse.write() end
  local minute, hour = now - now % ${MINUTE_MS}, now - now % ${HOUR_MS}
  local minuteText, hourText = string.format('%.0f', minute), string.format('%.0f', hour)
  for name, queue in pairs(queues) do
    for cell, change in pairs(queue.tally) do
      if change ~= 0 then redis.call('HINCRBY', B .. 't:' .. name, format('%d', cell), format('%d', change)) end
    end
    local ofMinute, ofHour, ofAll = B .. 'm:' .. minuteText .. ':' .. name, B .. 'h:' .. hourText .. ':' .. name, B .. 'c:' .. name
    for metric, times in pairs(queue.counts) do
      addTo('m', minute, minuteText, name, ofMinute, metric, times)
      if metric < RUN then
        addTo('h', hour, hourText, name, ofHour, metric, times)
        redis.call('HINCRBY', ofAll, format('%d', metric), format('%d', times))
      end
    end
  end
end
`;

/** After RECORDS: a job as lists show it: its body without the payload, its record without the result. */
export const SUMMARY = `
local function summary(body, record)
  local _, _, text = keyIn(body)
  local line = string.find(body, '\\n', text, true)
  local wl, pl, el, from = ${RECORD.open("record", "wl", "pl", "el")}
  return sub(body, 1, line), sub(record, 1, from + wl + pl + el - 1)
end
`;

/** After RECORDS: why a lease does not hold: c cancelled, s stale. */
export const REFUSAL = `
local function refusal(state, flags, present, fence)
  if state == ${STATE.cancelled} and ${isSet("flags", RECORD_FLAG.leaseCancelled)} and present == fence + 1 then return 'c' end
  return 's'
end
`;

/** After RECORDS: how many members of a sorted set of jobs come before a place. Among equal scores, a binary search finds the sequence. */
export const COUNT_BEFORE = `
local function countBefore(key, score, seq)
  local text = string.format('%.0f', score)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. text)
  local high = low + redis.call('ZCOUNT', key, text, text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if ${MEMBER.open("redis.call('ZRANGE', key, middle, middle)[1]", "seq")} < seq then low = middle + 1 else high = middle end
  end
  return low
end
`;
