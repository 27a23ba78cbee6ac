/** Lists and counts of jobs: what is shown of each candidate. */
import { SEARCHED_PAYLOAD_BYTES } from "../../../core/search.ts";
import { bucketOf, HEAD, RECORD } from "../layout.ts";
import { BY_CREATION, BY_STATE, WANTED } from "./candidates.ts";
import { FACETS, wantedFacets } from "./facets.ts";
import { COUNT_BEFORE, LANES, RECORDS, SUMMARY, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** Adds a job to the answer. One that nobody has touched yet comes without a record. */
const ADD = `
local function add(id, body, record, place, at)
  laneOf(laneIn(body))
  jobs[#jobs + 1] = id
  jobs[#jobs + 1], jobs[#jobs + 2] = summary(body, record or fresh(body))
  jobs[#jobs + 1] = place
  jobs[#jobs + 1] = string.format('%.0f', at or 0)
end
`;

/** Returns whether that is enough. `placeOf` says whether and where a job may have the search text; `isTired`, whether enough was read. */
const SHOW = `
${ADD}
local function show(id, body, record, at)
  body = body or redis.call('HGET', ${bucketOf("bodies", "id")}, id)
  local place = placeOf(id, body, record)
  if place then
    add(id, body, record, place, at)
    shown = shown + 1
  end
  return shown == want or isTired()
end
`;

/** Shows all jobs with the wanted facets; with a tag, those that may have it: it is searched for in the JSON that has the tags. */
const SHOW_ALL = `
local tag = ARGV[12]
local function placeOf(_, body)
  if not hasFacets(body) or not hasLimitKey(body) then return nil end
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
  if from or to or wantedFacets or limitKey ~= '' then
    body = body or redis.call('HGET', ${bucketOf("bodies", "id")}, id)
    local created = ${HEAD.open("body", "created")}
    isOver = from and created < from
    if isOver or (to and created >= to) then return isOver end
    if not hasFacets(body) or not hasLimitKey(body) then return false end
  end
  shown = shown + 1
  return false
end
`;

/** Counts jobs whose payload has the text; shows those that may have it elsewhere. */
const SHOW_DOUBTFUL = `
${ADD}
local function show(id, body, record)
  body = body or redis.call('HGET', ${bucketOf("bodies", "id")}, id)
  local place = placeOf(id, body, record)
  if place == 1 then shown = shown + 1
  elseif place then add(id, body, record, place) end
  return isTired()
end
`;

/**
 * Where a job has a text, or may have it: everything but the payload is compared in its packed form, and the reader of the answer checks
 * again. It stops after reading a number of bytes of bodies.
 */
const FIND_TEXT = `
local text, inJson, isLikeId = ARGV[17], ARGV[18], ARGV[19] == '1'
local find, lower, format = string.find, string.lower, string.format
local typeHas, values, spent = {}, {}, 0
for number = 0, 63 do values[sub('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', number + 1, number + 1)] = number end

local function isTired() return spent > ${4 * 1024 * 1024} end

local function has(packed)
  packed = lower(packed)
  return find(packed, text, 1, true) or (inJson ~= text and find(packed, inJson, 1, true))
end

-- Each two characters of a packed id are three digits.
local triples = setmetatable({}, { __index = function (known, pair)
  known[pair] = format('%03x', values[sub(pair, 1, 1)] * 64 + values[sub(pair, 2, 2)])
  return known[pair]
end })
local function longId(id)
  local hex = string.gsub(id, '..', triples)
  return sub(hex, 1, 8) .. '-' .. sub(hex, 9, 12) .. '-' .. sub(hex, 13, 16) .. '-' .. sub(hex, 17, 20) .. '-' .. sub(hex, 21, 32)
end

-- 1: the text stands in the payload; 0: perhaps elsewhere; nil: nowhere.
local function placeOf(id, body, record)
  spent = spent + #body
  if not hasFacets(body) or not hasLimitKey(body) then return nil end
  local _, _, from = keyIn(body)
  local line = find(body, '\\n', from, true)
  if find(lower(sub(body, line + 1, line + ${SEARCHED_PAYLOAD_BYTES})), text, 1, true) then return 1 end
  local number = laneIn(body)
  if typeHas[number] == nil then typeHas[number] = find(lower(laneOf(number).type), text, 1, true) and true or false end
  if typeHas[number] or has(sub(body, ${HEAD.bytes + 1}, line - 1)) or (isLikeId and find(longId(id), text, 1, true)) then return 0 end
  if not record then return nil end
  local wl, pl, el, at = ${RECORD.open("record", "wl", "pl", "el")}
  if el > 0 and has(sub(record, at + wl + pl, at + wl + pl + el - 1)) then return 0 end
  return nil
end
`;

const COUNTED = [TIME, RECORDS, LANES, FACETS, wantedFacets("ARGV[13]"), WANTED];
const SEEN = [...COUNTED, SUMMARY];

export const LIST: Script = script("list", ...SEEN, SHOW_ALL, BY_CREATION);
export const LIST_BY_STATE: Script = script("listByState", ...SEEN, COUNT_BEFORE, SHOW_ALL, BY_STATE);

/** The same without jobs: only counts them. */
export const COUNT: Script = script("count", ...COUNTED, SHOW_NONE, BY_CREATION);
export const COUNT_BY_STATE: Script = script("countByState", ...COUNTED, COUNT_BEFORE, SHOW_NONE, BY_STATE);

/** The same for jobs with a text. In: as LIST; the text in lower case; the same inside a JSON text; "1" if it may be part of an id. */
export const SEARCH: Script = script("search", ...SEEN, FIND_TEXT, SHOW, BY_CREATION);
export const SEARCH_BY_STATE: Script = script("searchByState", ...SEEN, COUNT_BEFORE, FIND_TEXT, SHOW, BY_STATE);

/** The same, counted: how many have it in the payload; shows those that may have it elsewhere. */
export const COUNT_FOUND: Script = script("countFound", ...SEEN, FIND_TEXT, SHOW_DOUBTFUL, BY_CREATION);
export const COUNT_FOUND_BY_STATE: Script = script("countFoundByState", ...SEEN, COUNT_BEFORE, FIND_TEXT, SHOW_DOUBTFUL, BY_STATE);
