import { LANES, RECORDS, SUMMARY, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** In: now; ids. Out: { bodies, records (either may be nil), lanes as (number, queue, type) … } */
export const FIND: Script = script(
  "find",
  TIME,
  RECORDS,
  LANES,
  `
local ids = {}
for index = 2, #ARGV do ids[index - 1] = ARGV[index] end
local bodies, records = mget('j', ids), mget('s', ids)
for _, body in ipairs(bodies) do
  if body then
    laneOf(laneIn(body))
  end
end
return { bodies, records, laneNames() }
`,
);

/** In: now; id. Out: nil; or { record, history … }; the record is "" for a job that nobody touched. */
export const ATTEMPTS: Script = script(
  "attempts",
  TIME,
  `
local id = ARGV[2]
if redis.call('HEXISTS', B .. 'j', id) == 0 then return nil end
return { redis.call('HGET', B .. 's', id) or '', unpack(redis.call('LRANGE', B .. 'h:' .. id, 0, -1)) }
`,
);

/**
 * Looks at jobs by falling sequence, from below a given one. A job is passed over by its state before its body is read, which may be large.
 *
 * In: now; below, a sequence or ""; created before, or ""; the states wanted, as digits; how many jobs to show, and about how many to
 *     look at, at most.
 * Out: { jobs as (id, body, record) without bodies …, from below which sequence to go on ("": there are no more), how many were looked at,
 *     lanes }
 */
export const LIST: Script = script(
  "list",
  TIME,
  RECORDS,
  LANES,
  SUMMARY,
  `
local wanted, want, most = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local jobs, looked = {}, 0

local function isWanted(record)
  return string.find(wanted, string.format('%d', string.byte(record)), 1, true)
end

-- Whether that is enough.
local function show(id, body, record)
  laneOf(laneIn(body))
  jobs[#jobs + 1] = id
  jobs[#jobs + 1], jobs[#jobs + 2] = summary(body, record)
  return #jobs == want * 3
end

local function answer(last)
  return { jobs, last and string.format('%.0f', last) or '', looked, laneNames() }
end

-- Few jobs run, wait for their time or are dead, as a rule: then they are picked, wherever they are among all others.
local PLACE = { ['0'] = 'd', ['1'] = 'd', ['3'] = 'r', ['6'] = 'x', ['7'] = 'x' }
local function placesToPick()
  local places, size = {}, 0
  for state in string.gmatch(wanted, '.') do
    local place = PLACE[state]
    if not place then return nil end
    if not places[place] then size = size + redis.call('ZCARD', B .. place) end
    places[place] = true
  end
  return size <= 1000 and places or nil
end

local function pick(places, below)
  local members = {}
  for place in pairs(places) do
    for _, member in ipairs(redis.call('ZRANGE', B .. place, 0, -1)) do
      local seq = open('>I7', member)
      if seq < below then members[#members + 1] = { seq, sub(member, 8) } end
    end
  end
  table.sort(members, function (a, b) return a[1] > b[1] end)
  for _, member in ipairs(members) do
    local id = member[2]
    local body = redis.call('HGET', B .. 'j', id)
    local record = redis.call('HGET', B .. 's', id) or fresh(body)
    looked = looked + 1
    if isWanted(record) and show(id, body, record) then return answer(member[1]) end
  end
  return answer(nil)
end

-- How many chunks begin before the time; sequence and time of creation rise together.
local function chunksBefore(time)
  local low, high = 0, redis.call('ZCARD', B .. 'g')
  while low < high do
    local middle = math.floor((low + high) / 2)
    local chunk = redis.call('ZRANGE', B .. 'g', middle, middle)[1]
    local body = redis.call('HGET', B .. 'j', redis.call('LINDEX', B .. 'i:' .. chunk, 0))
    if open(H, body) < time then low = middle + 1 else high = middle end
  end
  return low
end

local function walk(below, before)
  local unseen = string.find(wanted, '[02]')
  local left = redis.call('ZCOUNT', B .. 'g', '-inf', '(' .. string.format('%.0f', below))
  if before then left = math.min(left, chunksBefore(before)) end
  local first = below < 2 ^ 53
  while left > 0 do
    left = left - 1
    local found = redis.call('ZRANGE', B .. 'g', left, left, 'WITHSCORES')
    local ids = redis.call('LRANGE', B .. 'i:' .. found[1], 0, -1)
    local records = mget('s', ids)
    for index = #ids, 1, -1 do
      local id, record, body = ids[index], records[index], nil
      if not record and (unseen or first) then
        body = redis.call('HGET', B .. 'j', id)
        record = fresh(body)
      end
      local _, seq
      if record then _, _, _, _, seq = open(F, record) end
      if not first or seq < below then
        looked = looked + 1
        if record and isWanted(record) and show(id, body or redis.call('HGET', B .. 'j', id), record) then return answer(seq) end
        if looked >= most and seq then return answer(seq) end
      end
    end
    first = false
    if looked >= most then return answer(tonumber(found[2])) end
  end
  return answer(nil)
end

local below = tonumber(ARGV[2]) or 2 ^ 53
local places = placesToPick()
if places then return pick(places, below) end
return walk(below, tonumber(ARGV[3]))
`,
);
