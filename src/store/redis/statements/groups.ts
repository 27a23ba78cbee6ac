import { TREND_HOURS } from "../../../core/error-tally.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import { GROUP_AT, GROUP_LENGTH } from "../../stored-error.ts";
import { BUCKET, bucketOf, HEAD, ID_CHARS, MEMBER, RECORD } from "../layout.ts";
import { FACETS, wantedFacets } from "./facets.ts";
import { LANES, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/**
 * Looks at dead and failed jobs, one stretch per call, last ended first. Reads a body only if a filter needs it. Between this part and
 * COUNT_ALL stands `count(id, lane, over, group)`, which is called for each job that matches; the group is "" without an error.
 *
 * In: now; how many to skip, how many to look at; the states wanted; lowest and highest priority, created at or after, created before, tag,
 *     facets as JSON (each "": any); the range of their end, as bounds of a sorted set; a limit key ("": any).
 * Out: { rows, how many were looked at, lanes }; a row is { name, lane, count … }
 */
const MATCHING = `
local skip, most, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local lowest, highest, from, to, tag = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local limitKey = ARGV[13]
local asksBody = from or to or tag ~= '' or wantedFacets or limitKey ~= ''

local function isTagged(body)
  local _, _, text = keyIn(body)
  local line = sub(body, text, string.find(body, '\\n', text, true) - 1)
  if line == '' then return false end
  for _, each in ipairs(cjson.decode(line).tags or {}) do
    if each == tag then return true end
  end
  return false
end

local function isMeant(id, state, priority)
  if not string.find(wanted, ',' .. state .. ',', 1, true) then return false end
  if lowest and (priority < lowest or priority > highest) then return false end
  if not asksBody then return true end
  local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
  local created = ${HEAD.open("body", "created")}
  if (from and created < from) or (to and created >= to) then return false end
  if limitKey ~= '' then
    local _, _, _, own = keyIn(body)
    if own ~= limitKey then return false end
  end
  return hasFacets(body) and (tag == '' or isTagged(body))
end

local rows, rowOf = {}, {}
-- The row of a name in a lane, made of these values if there is none.
local function rowFor(name, lane, ...)
  local key = lane .. ' ' .. name
  local row = rowOf[key]
  if not row then
    laneOf(lane)
    row = { name, lane, 0, ... }
    rowOf[key] = row
    rows[#rows + 1] = row
  end
  row[3] = row[3] + 1
  return row
end
`;

const COUNT_ALL = `
local members = redis.call('ZREVRANGEBYSCORE', B .. 'x', ARGV[12], ARGV[11], 'LIMIT', skip, most)
local ids = {}
for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
local records = getJobs('${BUCKET.records}', ids)
for index, id in ipairs(ids) do
  local state, priority, number, over, wl, pl, el, at = ${RECORD.open("records[index]", "state", "priority", "lane", "over", "wl", "pl", "el")}
  if isMeant(id, state, priority) then
    local group = el > 0 and sub(records[index], at + wl + pl + ${GROUP_AT - 1}, at + wl + pl + ${GROUP_AT + GROUP_LENGTH - 2}) or ''
    count(id, number, over, group)
  end
end
return { rows, #members, laneNames() }
`;

const PARTS = [TIME, RECORDS, LANES, FACETS, wantedFacets("ARGV[10]"), MATCHING];

/**
 * Whether an id is lower than another: base64url does not sort as its bytes do. (The order of the sorted set, by sequence, would not do: other
 * engines go by the id, and so does what adds up the lanes.)
 */
const ID_ORDER = `
local function digit(byte)
  if byte == 45 then return 62 end
  if byte == 95 then return 63 end
  return byte < 58 and byte + 4 or byte < 91 and byte - 65 or byte - 71
end
local function isLower(id, other)
  for at = 1, ${ID_CHARS} do
    local one, two = string.byte(id, at), string.byte(other, at)
    if one ~= two then return digit(one) < digit(two) end
  end
  return false
end
`;

/** By error group and hours since the end. A row is { group and hours, lane, count, first end, last end, ids of the first and of the last }. */
export const GROUPS: Script = script(
  "groups",
  ...PARTS,
  ID_ORDER,
  `
local function count(id, lane, over, group)
  if group == '' then return end
  local hours = math.min(${TREND_HOURS}, math.max(0, math.floor((now - over) / ${HOUR_MS})))
  local row = rowFor(group .. ' ' .. hours, lane, over, over, id, id)
  if over < row[4] or (over == row[4] and isLower(id, row[6])) then row[4], row[6] = over, id end
  if over > row[5] or (over == row[5] and isLower(row[7], id)) then row[5], row[7] = over, id end
end
`,
  COUNT_ALL,
);

/** By the value of a facet. In, after the others: the field; an error group, or "" for any. A row is { value or "", lane, count }. */
export const FACET_VALUES: Script = script(
  "facetValues",
  ...PARTS,
  `
local field, wantedGroup = ARGV[14], ARGV[15]
local function count(id, lane, _, group)
  if wantedGroup ~= '' and group ~= wantedGroup then return end
  rowFor(facetsIn(redis.call('HGET', ${bucketOf("bodies", "id")}, id))[field] or '', lane)
end
`,
  COUNT_ALL,
);
