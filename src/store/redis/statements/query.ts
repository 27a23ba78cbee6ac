import { INTERNAL_MARK } from "../../../core/internal.ts";
import { SEARCHED_PAYLOAD_BYTES } from "../../../core/search.ts";
import { STATE, STAYING_STATES } from "../../numbers.ts";
import { MAX_CANDIDATES } from "../../store.ts";
import { HEAD, MEMBER, RECORD } from "../layout.ts";
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

/** In: now; id. Out: nil; or { record, history … }; the record is "" if nothing has changed the job yet. */
export const ATTEMPTS: Script = script(
  "attempts",
  TIME,
  `
local id = ARGV[2]
if redis.call('HEXISTS', B .. 'j', id) == 0 then return nil end
return { redis.call('HGET', B .. 's', id) or '', unpack(redis.call('LRANGE', B .. 'h:' .. id, 0, -1)) }
`,
);

/** Returns whether that is enough. `placeOf` says whether and where a job may have the search text; `isTired`, whether enough was read. */
const SHOW = `
local function show(id, body, record)
  body = body or redis.call('HGET', B .. 'j', id)
  local place = placeOf(id, body, record)
  if place then
    laneOf(laneIn(body))
    jobs[#jobs + 1] = id
    jobs[#jobs + 1], jobs[#jobs + 2] = summary(body, record)
    jobs[#jobs + 1] = place
    shown = shown + 1
  end
  return shown == want or isTired()
end
`;

/** Shows all jobs; with a tag, those that may have it: it is searched for in the JSON that has the tags. */
const SHOW_ALL = `
local tag = ARGV[12]
local function placeOf(_, body)
  if tag == '' then return 0 end
  local _, _, from = keyIn(body)
  return string.find(sub(body, from, string.find(body, '\\n', from, true)), tag, 1, true) and 0
end
local function isTired() return false end
${SHOW}
`;

/** Only counts jobs. Ends at the first job that was created too early: all that follow are older. */
const SHOW_NONE = `
local from, to = tonumber(ARGV[11]), tonumber(ARGV[3])
local function show(id, body)
  if from or to then
    body = body or redis.call('HGET', B .. 'j', id)
    local created = ${HEAD.open("body", "created")}
    isOver = from and created < from
    if isOver or (to and created >= to) then return isOver end
  end
  shown = shown + 1
  return false
end
`;

/** Counts jobs whose payload has the text; shows those that may have it elsewhere. */
const SHOW_DOUBTFUL = `
local function show(id, body, record)
  body = body or redis.call('HGET', B .. 'j', id)
  local place = placeOf(id, body, record)
  if place == 1 then shown = shown + 1
  elseif place then
    laneOf(laneIn(body))
    jobs[#jobs + 1] = id
    jobs[#jobs + 1], jobs[#jobs + 2] = summary(body, record)
    jobs[#jobs + 1] = place
  end
  return isTired()
end
`;

/**
 * Where a job has a text, or may have it: everything but the payload is compared in its packed form, and the reader of the answer checks
 * again. It stops after reading a number of bytes of bodies.
 */
const FIND_TEXT = `
local text, inJson, isLikeId = ARGV[14], ARGV[15], ARGV[16] == '1'
local find, lower, format = string.find, string.lower, string.format
local typeHas, triples, values, spent = {}, {}, {}, 0
for number = 0, 63 do values[sub('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', number + 1, number + 1)] = number end

local function isTired() return spent > ${4 * 1024 * 1024} end

local function has(packed)
  packed = lower(packed)
  return find(packed, text, 1, true) or find(packed, inJson, 1, true)
end

-- Each two characters of a packed id are three digits.
local function longId(id)
  local digits = {}
  for at = 1, 21, 2 do
    local pair = sub(id, at, at + 1)
    if not triples[pair] then triples[pair] = format('%03x', values[sub(pair, 1, 1)] * 64 + values[sub(pair, 2, 2)]) end
    digits[#digits + 1] = triples[pair]
  end
  local hex = table.concat(digits)
  return sub(hex, 1, 8) .. '-' .. sub(hex, 9, 12) .. '-' .. sub(hex, 13, 16) .. '-' .. sub(hex, 17, 20) .. '-' .. sub(hex, 21, 32)
end

-- 1: the text stands in the payload; 0: perhaps elsewhere; nil: nowhere.
local function placeOf(id, body, record)
  spent = spent + #body
  local _, _, from = keyIn(body)
  local line = find(body, '\\n', from, true)
  if find(lower(sub(body, line + 1, line + ${SEARCHED_PAYLOAD_BYTES})), text, 1, true) then return 1 end
  local number = laneIn(body)
  if typeHas[number] == nil then typeHas[number] = find(lower(laneOf(number).type), text, 1, true) and true or false end
  if typeHas[number] or has(sub(body, ${HEAD.bytes + 1}, line - 1)) or (isLikeId and find(longId(id), text, 1, true)) then return 0 end
  local wl, pl, el, at = ${RECORD.open("record", "wl", "pl", "el")}
  if el > 0 and has(sub(record, at + wl + pl, at + wl + pl + el - 1)) then return 0 end
  return nil
end
`;

const WANTED = `
local want, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local type, queue, low, high = ARGV[7], ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[10])
local leavesOut, isOwn = ARGV[13] ~= '1', {}
local jobs, looked, passed, shown, isState, isOver = {}, 0, 0, 0, {}, false
for state in string.gmatch(ARGV[4], '%d+') do isState[tonumber(state)] = true end

-- Whether a job is our own, and these are left out. Each is counted.
local function isLeftOut(number)
  if isOwn[number] == nil then isOwn[number] = string.find(laneOf(number).queue.name, '${INTERNAL_MARK}', 1, true) and true or false end
  if isOwn[number] then passed = passed + 1 end
  return isOwn[number]
end

local function isWanted(record)
  local priority, number = ${RECORD.open("record", "priority", "lane")}
  if leavesOut and isLeftOut(number) then return false end
  if not isState[string.byte(record)] then return false end
  if low and (priority < low or priority > high) then return false end
  if type == '' and queue == '' then return true end
  local lane = laneOf(number)
  return (type == '' or lane.type == type) and (queue == '' or lane.queue.name == queue)
end
`;

/**
 * Looks at jobs by falling sequence, from below a given one. Skips a job by its state before reading its body, which may be large.
 *
 * In: now; below, a sequence or ""; created before, or ""; the states wanted; how many jobs to show, and about how many to look at, at
 *     most; type and queue, or ""; lowest and highest priority, or ""; created from, or ""; a tag as JSON, or ""; "1" to include internal
 *     jobs.
 * Out: { jobs as (id, body, record, 1 if the payload has the search text) without payload and result …, below which sequence to go on ("":
 *     there are no more), how many were looked at, lanes, how many were shown, how many of those looked at were skipped internal jobs }
 */
const WAYS = `
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
  return size <= ${MAX_CANDIDATES} and places or nil
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
    local id, body = member[2], nil
    local record = redis.call('HGET', B .. 's', id)
    if not record then
      body = redis.call('HGET', B .. 'j', id)
      record = fresh(body)
    end
    looked = looked + 1
    if (isWanted(record) and show(id, body, record)) or looked >= most then return answer(member[1]) end
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
    if ${HEAD.open("body", "created")} < time then low = middle + 1 else high = middle end
  end
  return low
end

local function walk(below, before)
  local unseen = isState[${STATE.scheduled}] or isState[${STATE.pending}]
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
      local seq
      if record then seq = ${RECORD.open("record", "seq")} end
      if not first or seq < below then
        looked = looked + 1
        if record and isWanted(record) and show(id, body, record) then return answer(seq) end
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
`;

export const LIST: Script = script("list", TIME, RECORDS, LANES, SUMMARY, WANTED, SHOW_ALL, WAYS);

/** The same without jobs: only counts them. */
export const COUNT: Script = script("count", TIME, RECORDS, LANES, WANTED, SHOW_NONE, WAYS);

/** The same for jobs with a text. In: as LIST; the text in lower case; the same inside a JSON text; "1" if it may be part of an id. */
export const SEARCH: Script = script("search", TIME, RECORDS, LANES, SUMMARY, WANTED, FIND_TEXT, SHOW, WAYS);

/** The same, counted: how many have it in the payload; shows those that may have it elsewhere. */
export const COUNT_FOUND: Script = script("countFound", TIME, RECORDS, LANES, SUMMARY, WANTED, FIND_TEXT, SHOW_DOUBTFUL, WAYS);
