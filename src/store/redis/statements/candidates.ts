/** WHICH JOBS A LIST OR A COUNT LOOKS AT, and in which order. Parts of the scripts in list.ts, which say what to do with each. */
import { INTERNAL_MARK } from "../../../core/internal.ts";
import { STATUSES } from "../../../core/job.ts";
import { KEPT_STATES, STATE, STAYING_STATES, tallyCells } from "../../numbers.ts";
import { MAX_CANDIDATES } from "../../store.ts";
import { BUCKET, bucketOf, ENDED, HEAD, HEAD_FLAG, isSet, LIMITED_LANE, MEMBER, RECORD } from "../layout.ts";
import { isOneOf } from "./parts.ts";

/** After RECORDS, LANES and FACETS: the arguments of a list, and whether a job is wanted. */
export const WANTED = `
local want, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local type, queue, low, high = ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local leftOut, isSkipped, limitKey = {}, {}, ARGV[20]
for _, name in ipairs(cjson.decode(ARGV[14])) do leftOut[name] = true end
local endedFrom, endedTo = tonumber(ARGV[15]), tonumber(ARGV[16])
local jobs, looked, passed, shown, isState, isOver = {}, 0, 0, 0, {}, false
for state in string.gmatch(ARGV[4], '%d+') do isState[tonumber(state)] = true end

-- Whether the queue of a job is left out: by its name, or because it is internal. Each job is counted.
local function isLeftOut(number)
  if isSkipped[number] == nil then
    local name = laneOf(number).queue.name
    isSkipped[number] = leftOut[name] or (leftOut['${INTERNAL_MARK}'] and string.find(name, '${INTERNAL_MARK}', 1, true) ~= nil) or false
  end
  if isSkipped[number] then passed = passed + 1 end
  return isSkipped[number]
end

-- A job without a record is one that nobody has touched yet, so it has not ended.
local function endedInTime(record)
  if not endedFrom and not endedTo then return true end
  if not record then return false end
  local over = ${RECORD.open("record", "over")}
  return (not endedFrom or over >= endedFrom) and (not endedTo or over < endedTo)
end

local function hasLimitKey(body)
  if limitKey == '' then return true end
  local _, _, _, own = keyIn(body)
  return own == limitKey
end

-- State, priority and lane. Without a record the body says them: to make a record of it would take longer than all other tests together.
local function factsOf(record, body)
  if record then return ${RECORD.open("record", "state", "priority", "lane")} end
  local flags, priority, number = ${HEAD.open("body", "flags", "priority", "lane")}
  return ${isSet("flags", HEAD_FLAG.scheduled)} and ${STATE.scheduled} or ${STATE.pending}, priority, number
end

-- Whether a job matches. Each that is left out, or in another state, is counted.
local function isWanted(record, body)
  local state, priority, number = factsOf(record, body)
  if next(leftOut) and isLeftOut(number) then return false end
  if not isState[state] then
    passed = passed + 1
    return false
  end
  if not endedInTime(record) then return false end
  if limitKey ~= '' and number < ${LIMITED_LANE} then return false end
  if low and (priority < low or priority > high) then return false end
  if type == '' and queue == '' then return true end
  local lane = laneOf(number)
  return (type == '' or lane.type == type) and (queue == '' or lane.queue.name == queue)
end

-- Whether a queue has jobs of a wanted state, among these states. If it has none, its jobs would be read to the end for nothing.
local TALLIES = { ${STATUSES.map((status) => `[${STATE[status]}] = { ${tallyCells(status).join(", ")} }`).join(", ")} }
local function hasAny(name, states)
  for state in pairs(states) do
    for _, count in ipairs(isState[state] and redis.call('HMGET', B .. 't:' .. name, unpack(TALLIES[state])) or {}) do
      if count and tonumber(count) > 0 then return true end
    end
  end
  return false
end

-- The same for all queues that are arguments, from one on.
local function hasAnyFrom(first)
  for index = first, #ARGV do
    if hasAny(ARGV[index], isState) then return true end
  end
  return false
end
`;

/**
 * Looks at jobs by falling sequence, from below a given one: at all jobs, at those with a facet, or at those of the wanted states. Skips a
 * job by its state before reading its body, which may be large.
 *
 * In: now; below, a sequence or ""; created before, or ""; the states wanted; how many jobs to show, and about how many to look at, at
 *     most; type and queue, or ""; lowest and highest priority, or ""; created from, or ""; a tag as JSON, or ""; facets as JSON, or "";
 *     queues to leave out (leftOutOf) as JSON; ended from, or ""; ended before, or ""; the three inputs of a search (each ""); a limit key,
 *     or ""; from the start of a list of some states: the queues …, whose tallies may say that there is no such job.
 * Out: { jobs as (id, body, record, 1 if the payload has the search text, 0) without payload and result …, below which sequence to go on
 *     ("": there are no more), how many were looked at, lanes, how many were shown, how many of those looked at were skipped: jobs of
 *     queues that are left out, and in other states }
 */
export const BY_CREATION = `
local function answer(last)
  return { jobs, last and not isOver and string.format('%.0f', last) or '', looked, laneNames(), shown, passed }
end

-- Few jobs run, wait for their time, are blocked or dead, as a rule: then they are picked, wherever they are among all others.
local PLACE = {
  [${STATE.scheduled}] = 'd', [${STATE.retrying}] = 'd', [${STATE.running}] = 'r', [${STATE.blocked}] = 'b',
  ${STAYING_STATES.map((state) => `[${state}] = 'x'`).join(", ")}
}
local function placesToPick()
  local places, size = {}, 0
  for state in pairs(isState) do
    local place = PLACE[state]
    if not place then return nil end
    if not places[place] then size = size + redis.call('ZCARD', B .. place) end
    places[place] = true
  end
  if size <= ${MAX_CANDIDATES} then return places, size end
end

-- The index of one of the wanted facets: the one with the fewest jobs.
local function facetToWalk()
  if queue == '' then return nil end
  local best, fewest, name
  for field, value in pairs(wantedFacets or {}) do
    local key = facetIndex(queue, field, value)
    local size = redis.call('ZCARD', key)
    if not best or size < fewest then best, fewest, name = key, size, field end
  end
  return best, fewest, name
end

local function pick(places, below)
  local members = {}
  for place in pairs(places) do
    for _, member in ipairs(redis.call('ZRANGE', B .. place, 0, -1)) do
      local seq = ${MEMBER.open("member", "seq")}
      if seq < below then members[#members + 1] = { seq, ${MEMBER.rest("member")} } end
    end
  end
  table.sort(members, function (a, b) return a[1] > b[1] end)
  for _, member in ipairs(members) do
    local id = member[2]
    local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
    local body = not record and redis.call('HGET', ${bucketOf("bodies", "id")}, id)
    looked = looked + 1
    if (isWanted(record, body) and show(id, body, record)) or looked >= most then return answer(member[1]) end
  end
  return answer(nil)
end

-- How many entries of a sorted set are below a sequence and, if given, have a job that was created before a time; both rise together.
local function countOlder(key, idOf, below, before)
  local low, high = 0, redis.call('ZCOUNT', key, '-inf', '(' .. string.format('%.0f', below))
  if not before then return high end
  while low < high do
    local middle = math.floor((low + high) / 2)
    local id = idOf(redis.call('ZRANGE', key, middle, middle)[1])
    local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
    if not body or ${HEAD.open("body", "created")} < before then low = middle + 1 else high = middle end
  end
  return low
end

-- Reads all jobs in stretches, the newest first: ids by rising sequence, and the lowest sequence. The first may have some above the place.
local function allJobs(below, before)
  local left = countOlder(B .. 'g', function (chunk) return redis.call('LINDEX', B .. 'i:' .. chunk, 0) end, below, before)
  return function ()
    if left == 0 then return nil end
    left = left - 1
    local found = redis.call('ZRANGE', B .. 'g', left, left, 'WITHSCORES')
    return redis.call('LRANGE', B .. 'i:' .. found[1], 0, -1), tonumber(found[2])
  end
end

-- The same with the jobs of a sorted set by sequence.
local function jobsIn(key, below, before)
  local left = countOlder(key, function (member) return ${MEMBER.rest("member")} end, below, before)
  return function ()
    if left == 0 then return nil end
    local from = math.max(0, left - 100)
    local members, ids = redis.call('ZRANGE', key, from, left - 1), {}
    left = from
    for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
    return ids, (${MEMBER.open("members[1]", "seq")})
  end
end

local function walk(stretches, below)
  local unseen = isState[${STATE.scheduled}] or isState[${STATE.pending}]
  local first = below < 2 ^ 53
  for ids, lowest in stretches do
    local records = getJobs('${BUCKET.records}', ids)
    for index = #ids, 1, -1 do
      local id, record, body = ids[index], records[index], nil
      if not record and (unseen or first) then body = redis.call('HGET', ${bucketOf("bodies", "id")}, id) end
      local seq
      if record then seq = ${RECORD.open("record", "seq")}
      elseif body then seq = ${HEAD.open("body", "seq")} end
      if not first or not seq or seq < below then
        looked = looked + 1
        -- Without a record it waits, and such jobs are not wanted; or it is gone.
        if not seq then passed = passed + 1
        elseif isWanted(record, body) and show(id, body, record) then return answer(seq) end
        if looked >= most and seq then return answer(seq) end
      end
    end
    first = false
    if looked >= most then return answer(lowest) end
  end
  return answer(nil)
end

local below, before = tonumber(ARGV[2]) or 2 ^ 53, tonumber(ARGV[3])
local places, few = placesToPick()
local facet, fewer, field = facetToWalk()
if facet and (not places or fewer <= few) then
  -- All jobs of the index have it: there is no need to read their bodies for it.
  wantedFacets[field] = nil
  if not next(wantedFacets) then wantedFacets = nil end
  return walk(jobsIn(facet, below, before), below)
end
if places then return pick(places, below) end
if ARGV[21] and not hasAnyFrom(21) then return answer(nil) end
return walk(allJobs(below, before), below)
`;

/**
 * Looks at jobs in the order of their state, from after a given place. A line is a sorted set or a list that is sorted by itself; lines are
 * merged while they are read.
 *
 * In: as above, but not a sequence to begin below: the end, rank or due time after which to begin, or ""; and after the limit
 *     key: the letter of the line (see below); the sequence after which to begin; queues ….
 * Out: as above, but of each job also by what it is sorted, and the place to go on after is two numbers.
 */
export const BY_STATE = `
local letter, isLatestFirst = ARGV[21], ARGV[21] == 'E'
local startAt, startSeq = tonumber(ARGV[2]), tonumber(ARGV[22])
if isLatestFirst and endedTo and (not startAt or endedTo <= startAt) then startAt, startSeq = endedTo, 0 end
local CHUNK = 100

local function answer(item)
  return { jobs, item and string.format('%.0f %.0f', item.at, item.seq) or '', looked, laneNames(), shown, passed }
end

local function itemOf(member, score)
  return { at = tonumber(score), seq = ${MEMBER.open("member", "seq")}, id = ${MEMBER.rest("member")} }
end

-- The lowest score first.
local function rising(key)
  local next = startAt and countBefore(key, startAt, startSeq + 1) or 0
  return function (items)
    local found = redis.call('ZRANGE', key, next, next + CHUNK - 1, 'WITHSCORES')
    next = next + CHUNK
    for index = 1, #found, 2 do items[#items + 1] = itemOf(found[index], found[index + 1]) end
    return #found == 2 * CHUNK
  end
end

-- The highest score first.
local function falling(key)
  local left = startAt and countBefore(key, startAt, startSeq) or redis.call('ZCARD', key)
  return function (items)
    if left == 0 then return false end
    local from = math.max(0, left - CHUNK)
    local found = redis.call('ZRANGE', key, from, left - 1, 'WITHSCORES')
    left = from
    for index = #found - 1, 1, -2 do
      local item = itemOf(found[index], found[index + 1])
      if endedFrom and item.at < endedFrom then return false end
      items[#items + 1] = item
    end
    return left > 0
  end
end

-- Entries of one moment are in the order of their end, so all of them are read and sorted by sequence.
local function endedEntries(key)
  local left, high = 0, redis.call('LLEN', key)
  if not startAt then left = high end
  while left < high do
    local middle = math.floor((left + high) / 2)
    if ${ENDED.open("redis.call('LINDEX', key, middle)", "over")} <= startAt then left = middle + 1 else high = middle end
  end

  local function readMoments()
    local ids, ends, from = {}, {}, left
    while left > 0 do
      from = math.max(0, left - CHUNK)
      local entries = redis.call('LRANGE', key, from, left - 1)
      for index = #entries, 1, -1 do
        local over = ${ENDED.open("entries[index]", "over")}
        local isTooEarly = endedFrom and over < endedFrom
        if isTooEarly then left = 0 end
        if isTooEarly or (#ids >= CHUNK and over ~= ends[#ends]) then return ids, ends end
        ids[#ids + 1], ends[#ends + 1] = ${ENDED.rest("entries[index]")}, over
        left = from + index - 1
      end
    end
    return ids, ends
  end

  return function (items)
    local ids, ends = readMoments()
    local records, seen = getJobs('${BUCKET.records}', ids), {}
    for index, id in ipairs(ids) do
      local record, state, seq, over = records[index], nil, nil, nil
      if record then state, seq, over = ${RECORD.open("record", "state", "seq", "over")} end
      -- The list still has jobs that were retried or removed since.
      if not ${isOneOf("state", KEPT_STATES)} or over ~= ends[index] or seen[id] then
        looked, passed = looked + 1, passed + 1
      elseif over ~= startAt or seq < startSeq then
        items[#items + 1] = { at = over, seq = seq, id = id, record = record }
      end
      seen[id] = true
    end
    table.sort(items, function (a, b) return a.at > b.at or (a.at == b.at and a.seq > b.seq) end)
    -- If all of them have gone, a place without a job says how far it has read.
    if #items == 0 and #ids > 0 then items[1] = { at = ends[#ends], seq = 0 } end
    return left > 0
  end
end

local KEPT = { ${KEPT_STATES.map((state) => `[${state}] = true`).join(", ")} }
local function linesOf()
  local lines = {}
  local function add(read) lines[#lines + 1] = { read = read, items = {}, first = 1, isOpen = true } end
  if letter == 'E' then
    for index = 23, #ARGV do
      if hasAny(ARGV[index], KEPT) then add(endedEntries(B .. 'e:' .. ARGV[index])) end
    end
    if ${STAYING_STATES.map((state) => `isState[${state}]`).join(" or ")} then add(falling(B .. 'x')) end
  elseif letter == 'P' then
    for index = 23, #ARGV do
      local only, named = type ~= '' and redis.call('HGET', B .. 'l', ARGV[index] .. ' ' .. type), {}
      if type == '' then named = redis.call('SMEMBERS', B .. 'a:' .. ARGV[index])
      elseif only then named = { only, format('%d', only + ${LIMITED_LANE}) } end
      for _, lane in ipairs(named) do add(rising(B .. 'w:' .. lane)) end
    end
  else add(rising(B .. ({ D = 'd', R = 'r', B = 'b' })[letter])) end
  return lines
end

local function isBefore(a, b)
  if isLatestFirst then return a.at > b.at or (a.at == b.at and a.seq > b.seq) end
  return a.at < b.at or (a.at == b.at and a.seq < b.seq)
end

local function headOf(line)
  while not line.items[line.first] and line.isOpen do
    line.items, line.first = {}, 1
    line.isOpen = line.read(line.items)
  end
  return line.items[line.first]
end

-- The lines as a heap, the one whose head comes first on top: with many types there are many lines.
local lines = {}
local function sink(at)
  local line = lines[at]
  while true do
    local child = 2 * at
    if not lines[child] then break end
    if lines[child + 1] and isBefore(lines[child + 1].head, lines[child].head) then child = child + 1 end
    if not isBefore(lines[child].head, line.head) then break end
    lines[at], at = lines[child], child
  end
  lines[at] = line
end

if not startAt and not hasAnyFrom(23) then return answer(nil) end
for _, line in ipairs(linesOf()) do
  line.head = headOf(line)
  if line.head then lines[#lines + 1] = line end
end
for at = math.floor(#lines / 2), 1, -1 do sink(at) end

-- The next items of all lines, in order.
local function take(count)
  local items = {}
  while lines[1] and #items < count and (#items == 0 or looked < most) do
    local line = lines[1]
    items[#items + 1] = line.head
    line.first = line.first + 1
    line.head = headOf(line)
    if not line.head then
      lines[1] = lines[#lines]
      lines[#lines] = nil
    end
    if lines[1] then sink(1) end
  end
  return items
end

-- Records of a stretch are read at once; bodies one by one, because they may be large.
local function readRecords(items)
  local without, ids = {}, {}
  for _, item in ipairs(items) do
    if item.id and not item.record then
      without[#without + 1] = item
      ids[#ids + 1] = item.id
    end
  end
  local records = getJobs('${BUCKET.records}', ids)
  for index, item in ipairs(without) do item.record = records[index] end
end

local items
repeat
  items = take(math.min(CHUNK, math.max(1, most - looked)))
  readRecords(items)
  for _, item in ipairs(items) do
    if item.id then
      looked = looked + 1
      local body = not item.record and redis.call('HGET', ${bucketOf("bodies", "item.id")}, item.id)
      if isWanted(item.record, body) and show(item.id, body, item.record, item.at) then return answer(item) end
    end
  end
until looked >= most or not items[1]
return answer(items[#items])
`;
