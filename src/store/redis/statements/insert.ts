import { COUNTER, KEPT_STATES, LEVELS, STATE, tallyCells } from "../../numbers.ts";
import { MAX_TYPES_COUNTED } from "../../../core/counters.ts";
import {
  BUCKET,
  bucketOf,
  DUE,
  HEAD,
  HEAD_FLAG,
  HELD,
  HOLDER,
  ID_CHARS,
  isSet,
  KEY,
  KIND_DIGITS,
  LIMIT,
  LIMITED_LANE,
  MEMBER,
  RECORD,
  settingsOf,
} from "../layout.ts";
import { WAITING } from "../../../core/job.ts";
import { FACETS } from "./facets.ts";
import { ID_FROM, INSERT_LIMITS, KEY_FROM, LENGTH_FROM } from "./insert-limits.ts";
import { LIMITS } from "./limits.ts";
import { isOneOf, KEY_BUCKET, LANES, LEDGER, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** How many jobs one list of the creation index has: as many as fill a block of 8 KiB, which the allocator provides without waste. */
const CHUNK = 340;

/** Lua: the id of a job in its argument. */
export const idIn = (argument: string): string => `sub(${argument}, ${ID_FROM}, ${LENGTH_FROM - 1})`;

/** Lua: appends `ids`, of which there are `already` so many, to the lists that keep the order of creation. `seq` is the sequence of ids[at]. */
export const appendToIndex = (seq: string): string => `
  local at = 1
  while at <= #ids do
    local place = (already + at - 1) % ${CHUNK}
    local chunk, till = math.floor((already + at - 1) / ${CHUNK}), math.min(#ids, at + ${CHUNK} - 1 - place)
    local length = redis.call('RPUSH', B .. 'i:' .. chunk, unpack(ids, at, till))
    if length == till - at + 1 then redis.call('ZADD', B .. 'g', ${seq}, chunk) end
    at = till + 1
  end`;

/**
 * After LIMITS and FACETS. Reads jobs from the arguments, from `p` on, decides about all of them, and only then stores them.
 *
 * In, from p: number of kinds, (queue, type, priority, when, flags of its head) each; jobs, one argument each: digits for the kind, the id,
 *   if keyed digits for the length of the key and the key, if costed the cost and the limit key likewise, then the body. Every argument costs time on both sides, so a job is only one.
 *   when: "" now, "d<ms>" after that time, "r<time>" at that time, "b" blocked    key: "<ttl>:<fingerprint>:<text>"
 * Jobs of a kind differ only in id, sequence, key and body, and are counted together.
 */
export const INSERT_JOBS = `
${KEY_BUCKET}
local p
local kinds, given, total, first = {}, {}, 0, 0
local letters, details, holders, news, created = {}, {}, {}, {}, 0
local bodyBuckets, hasCosts
local rings = { work = {}, due = false }

local function timeOf(when)
  if when == '' or when == 'b' then return now end
  local time = tonumber(sub(when, 2))
  if string.byte(when) == 100 then time = now + time end
  return math.max(now, time)
end

local function readKinds()
  local byName = {}
  for index = 1, tonumber(ARGV[p]) do
    local at = p + 5 * index - 4
    local name = ARGV[at] .. ' ' .. ARGV[at + 1]
    if not byName[name] then
      byName[name] = { queue = queueOf(ARGV[at]), name = name, set = {}, length = 0 }
      given[#given + 1] = byName[name]
    end
    local lane = byName[name]
    local runAt, isBlocked, flags = timeOf(ARGV[at + 3]), ARGV[at + 3] == 'b', tonumber(ARGV[at + 4])
    local state, letter = ${STATE.pending}, 'P'
    if isBlocked then state, letter = ${STATE.blocked}, 'B' elseif runAt > now then state, letter = ${STATE.scheduled}, 'S' end
    local isLimited = ${isSet("flags", HEAD_FLAG.limited)}
    if isLimited then
      -- Jobs with a limit key have a lane of their own.
      lane.limited = lane.limited or { queue = lane.queue, plain = lane, set = {}, length = 0 }
      lane = lane.limited
    end
    kinds[string.format('%0${KIND_DIGITS}d', index)] = {
      lane = lane, queue = lane.queue, priority = tonumber(ARGV[at + 2]), runAt = runAt, state = state,
      isPending = state == ${STATE.pending}, isBlocked = isBlocked, letter = letter, times = 0,
      keyed = ${isSet("flags", HEAD_FLAG.keyed)}, faceted = ${isSet("flags", HEAD_FLAG.faceted)},
      costed = ${isSet("flags", HEAD_FLAG.costed)}, isLimited = isLimited, isCalled = ${isSet("flags", HEAD_FLAG.called)},
      flags = (runAt > now and ${HEAD_FLAG.scheduled} or 0) + flags
    }
  end
  for _, kind in pairs(kinds) do hasCosts = hasCosts or kind.costed end
  first = p + 1 + 5 * tonumber(ARGV[p])
  total = #ARGV - first + 1
end

-- Whether every queue was put into the registry before.
local function allKnown()
  for _, lane in ipairs(given) do
    if not lane.queue.known then return false end
  end
  return true
end

local function answer(i, letter, ...)
  letters[i] = letter
  if letter == 'k' then holders[#holders + 1] = ... end
  for _, detail in ipairs({ ... }) do details[#details + 1] = detail end
end

-- A stored job that is sent again.
local function answerSame(i, id, body)
  local created = ${HEAD.open("body", "created")}
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id) or fresh(body)
  local state, runAt = ${RECORD.open("record", "state", "runAt")}
  answer(i, 'i', state, created, runAt)
end

-- Answers a job whose key lives. Whether it did.
local keysNew = {}
local function answerHolder(i, key)
  local field, fingerprint = key.field, key.fingerprint
  local mine = keysNew[field]
  if mine then
    answer(i, mine.fingerprint == fingerprint and 'k' or 'c', mine.id)
    return true
  end
  local found = redis.call('HGET', key.bucket, field)
  if not found then return false end
  local ${HOLDER.names}, at = open('${HOLDER.format()}', found)
  local id, same = sub(found, at, at + ${ID_CHARS - 1}), sub(found, at + ${ID_CHARS}) == fingerprint
  if state ~= ${HELD} then
    if expiry <= now then return false end
    if same then answer(i, 'p', id, state) else answer(i, 'c', id) end
    return true
  end
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
  if record then
    local status, over = ${RECORD.open("record", "state", "over")}
    if ${isOneOf("status", KEPT_STATES)} and over + ttl <= now then return false end
  elseif redis.call('HEXISTS', ${bucketOf("bodies", "id")}, id) == 0 then
    return false
  end
  answer(i, same and 'k' or 'c', id)
  return true
end

local function readKey(id, queue, argument)
  local text = sub(argument, ${KEY_FROM}, ${KEY_FROM - 1} + tonumber(sub(argument, ${LENGTH_FROM}, ${KEY_FROM - 1})))
  local one = string.find(text, ':', 1, true)
  local two = string.find(text, ':', one + 1, true)
  local key = { id = id, ttl = tonumber(sub(text, 1, one - 1)), fingerprint = sub(text, one + 1, two - 1), text = sub(text, two + 1) }
  key.field = queue.name .. ' ' .. key.text
  key.bucket = keyBucket(key.field)
  key.bodyAt = ${KEY_FROM} + #text
  return key
end

${INSERT_LIMITS}
local function hasRoom(queue)
  if not queue.capacity then return true end
  if not queue.room then
    queue.room = queue.capacity
    for _, cell in ipairs(redis.call('HMGET', B .. 't:' .. queue.name, ${tallyCells(...WAITING).join(", ")})) do
      queue.room = queue.room - (tonumber(cell) or 0)
    end
  end
  queue.room = queue.room - 1
  return queue.room >= 0
end

local function decideAll()
  local ids, seen = {}, {}
  for i = 1, total do ids[i] = ${idIn("ARGV[first + i - 1]")} end
  local stored
  stored, bodyBuckets = getJobs('${BUCKET.bodies}', ids)
  local limitOf = hasCosts and loadLimits(ids) or {}
  for i, known in ipairs(stored) do
    local id, argument = ids[i], ARGV[first + i - 1]
    local kind = kinds[sub(argument, 1, ${KIND_DIGITS})]
    local key, limit = kind.keyed and readKey(id, kind.queue, argument) or nil, limitOf[i]
    if known then answerSame(i, id, known)
    elseif seen[id] then letters[i] = seen[id]
    elseif key and answerHolder(i, key) then key = nil
    elseif not kind.isBlocked and not hasRoom(kind.queue) and not kind.isCalled then answer(i, 'f', kind.queue.capacity)
    elseif kind.isLimited and not kind.isBlocked and isFull(i, kind, limit) then key = nil
    else
      letters[i] = kind.letter
      seen[id] = kind.letter
      created = created + 1
      kind.times = kind.times + 1
      if key then keysNew[key.field] = key end
      news[created] = { i, id, kind, key, limit }
    end
  end
end

-- The lanes of a queue, in the order of their making.
local function lanesOf(queue)
  local numbers, all, start = {}, redis.call('HGETALL', B .. 'l'), queue.name .. ' '
  for index = 1, #all, 2 do
    if sub(all[index], 1, #start) == start then numbers[#numbers + 1] = tonumber(all[index + 1]) end
  end
  table.sort(numbers)
  return numbers
end

-- A queue has a new lane. It remembers how many types it has, and the lane of the last one that is counted on its own.
local function countType(queue, number)
  if queue.lastTyped then return end
  local key = ${settingsOf("queue.name")}
  if redis.call('HEXISTS', key, 'types') == 1 then
    if redis.call('HINCRBY', key, 'types', 1) == ${MAX_TYPES_COUNTED} then queue.lastTyped = number end
  else
    -- An older version did not count types, so there may be more than are counted on their own.
    local numbers = lanesOf(queue)
    redis.call('HSET', key, 'types', #numbers)
    queue.lastTyped = numbers[${MAX_TYPES_COUNTED}]
  end
  if queue.lastTyped then redis.call('HSET', key, 'lastTyped', queue.lastTyped) end
end

local function numberLanes()
  local names = {}
  for index, lane in ipairs(given) do names[index] = lane.name end
  for index, number in ipairs(mget('l', names)) do
    if not number then
      number = redis.call('HINCRBY', B .. 'v', 'lanes', 1)
      redis.call('HSET', B .. 'l', names[index], number)
      redis.call('HSET', B .. 'n', number, names[index])
      countType(given[index].queue, number)
    end
    local lane = given[index]
    lane.number, lane.counted = tonumber(number), tonumber(number)
    if lane.limited then
      lane.limited.number, lane.limited.counted = lane.number + ${LIMITED_LANE}, lane.number
    end
    if not given[index].queue.known then redis.call('HSET', ${settingsOf("given[index].queue.name")}, 'known', 1) end
  end
end

local function index(ids, seqs, already)
  ${appendToIndex("seqs[at]")}
end

local function prepareKinds()
  for _, kind in pairs(kinds) do
    local queue = kind.queue
    kind.head = pack('${HEAD.format("created", "lane")}', now, kind.flags, kind.priority, kind.lane.number)
    kind.rank = string.format('%.0f', kind.runAt - kind.priority * queue.headStart)
    kind.tail = kind.runAt > now and ${DUE.pack({ runAt: "kind.runAt" })} or ''
    if kind.times > 0 then
      add(queue.tally, kind.state * ${LEVELS.length} + level(kind.priority), kind.times)
      count(kind.lane, ${COUNTER.enqueued}, kind.times)
    end
  end
end

-- Jobs by the index of their facets.
local byFacet = {}
local function enterFacets(queue, body, seq, member)
  for field, value in pairs(facetsIn(body)) do
    local key = facetIndex(queue, field, value)
    local set = byFacet[key] or {}
    byFacet[key] = set
    set[#set + 1] = seq
    set[#set + 1] = member
  end
end

-- base is the sequence of the first job; places, if given, tells how far behind it each other one is.
local function storeAll(base, last, places)
  if created == 0 then return end
  -- The first write. It may need memory, so that a full server refuses here, with nothing done.
  local already = redis.call('HINCRBY', B .. 'v', 'jobs', created) - created
  numberLanes()
  prepareKinds()
  local bodies, ids, seqs, due, records, blocked = {}, {}, {}, {}, {}, {}
  for place, new in ipairs(news) do
    local i, id, kind, key, limit = new[1], new[2], new[3], new[4], new[5]
    local argument, seq = ARGV[first + i - 1], base + (places and places[i] or i - 1)
    if seq <= last then seq = last + 1 end
    last = seq
    local packed = ${MEMBER.pack({})}
    ids[place] = id
    seqs[place] = seq
    bodies[2 * place - 1] = id
    local limitPart, bodyAt = '', key and key.bodyAt or ${LENGTH_FROM}
    if limit then limitPart, bodyAt = ${LIMIT.pack({ cost: "limit.cost", length: "#limit.name" })} .. limit.name, limit.bodyAt end
    if key then
      bodies[2 * place] = kind.head .. packed .. kind.tail .. ${KEY.pack({ ttl: "key.ttl", length: "#key.text" })} .. key.text .. limitPart .. sub(argument, bodyAt)
      redis.call('HSET', key.bucket, key.field, ${HOLDER.pack({ state: HELD, expiry: 0, ttl: "key.ttl" })} .. id .. key.fingerprint)
      redis.call('ZREM', B .. 'kx', key.field)
    else
      bodies[2 * place] = kind.head .. packed .. kind.tail .. limitPart .. sub(argument, bodyAt)
    end
    if kind.faceted then enterFacets(kind.queue.name, bodies[2 * place], seq, packed .. id) end
    if kind.isPending then
      local lane = kind.lane
      local set, length = lane.set, lane.length
      set[length + 1] = kind.rank
      set[length + 2] = packed .. id
      lane.length = length + 2
      if kind.isLimited then limits().add(limits().key(kind.queue, limit.name), lane.number, kind.priority, kind.runAt, packed .. id) end
    elseif kind.isBlocked then
      -- Its body does not tell that it is blocked: its record does, from the first.
      local record = fresh(bodies[2 * place])
      records[#records + 1] = id
      records[#records + 1] = pack('${RECORD.format("state", "state")}', kind.state) .. ${RECORD.rest("record", "flags")}
      blocked[#blocked + 1] = now
      blocked[#blocked + 1] = packed .. id
    else
      due[#due + 1] = kind.runAt
      due[#due + 1] = packed .. id
      if kind.isLimited then limits().touch(limits().key(kind.queue, limit.name)) end
      if not rings.due or kind.runAt < rings.due then rings.due = kind.runAt end
    end
  end
  redis.call('HSET', B .. 'v', 'seq', string.format('%.0f', last))
  setJobs('${BUCKET.bodies}', bodies, bodyBuckets)
  local function enterLane(lane)
    if lane.length == 0 then return end
    many('ZADD', B .. 'w:' .. lane.number, lane.set)
    redis.call('SADD', B .. 'a:' .. lane.queue.name, lane.number)
    rings.work[lane.queue.name] = true
  end
  for _, lane in ipairs(given) do
    enterLane(lane)
    if lane.limited then enterLane(lane.limited) end
  end
  many('ZADD', B .. 'd', due)
  setJobs('${BUCKET.records}', records)
  many('ZADD', B .. 'b', blocked)
  index(ids, seqs, already)
  for key, set in pairs(byFacet) do many('ZADD', key, set) end
  writeLedger()
end

local function ringList()
  local list = { rings.due and rings.due - now or -1, 0 }
  for queue in pairs(rings.work) do list[#list + 1] = queue end
  return list
end
`;

/** After INSERT_JOBS, with `p`: stores the jobs, does more if that is given, and answers as INSERT does. */
export const insertThen = (more: string): string => `
readKinds()
if ARGV[3] ~= '1' and not allKnown() then return 'register' end
decideAll()
local last, places = tonumber(redis.call('HGET', B .. 'v', 'seq') or 0), nil
local base = tonumber(ARGV[2]) or math.max(micros, last + 1)
if ARGV[4] ~= '' then
  places = {}
  for place in string.gmatch(ARGV[4], '%d+') do places[#places + 1] = tonumber(place) end
end
storeAll(base, last, places)
${more}
local jobs = {}
for _, id in ipairs(holders) do
  local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
  laneOf(laneIn(body))
  jobs[#jobs + 1] = body
  jobs[#jobs + 1] = redis.call('HGET', ${bucketOf("records", "id")}, id) or ''
end
return { now, string.format('%.0f', base), table.concat(letters), details, jobs, laneNames(), ringList() }
`;

/**
 * Stores jobs of one partition.
 *
 * In: now; base, the sequence of the first job of the whole call ("": choose it); "1" if the queues are registered; the indexes of the jobs
 *     in the whole call, separated by commas ("": 0, 1, 2 …); jobs as INSERT_JOBS reads them.
 * Out: "register" if a queue must be registered first and nothing was done; else { now, base, letters, details, bodies of known keys:
 *     (body, record) …, lanes as (number, queue, type) …, hints }.
 *     One letter per job: P new and pending, S new and scheduled, B new and blocked, i its id is known (state, createdAt, runAt), k its key is known (id), p the same, but that job was pruned (id, state), c
 *     another job has the key (id), f the queue is full (capacity), l its limit key is (how many may wait). details has the values in brackets, in order.
 */
export const INSERT: Script = script("insert", TIME, RECORDS, LANES, LEDGER, LIMITS, FACETS, INSERT_JOBS, `p = 5`, insertThen(""));
