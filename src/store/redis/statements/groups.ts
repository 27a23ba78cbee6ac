import { TREND_HOURS } from "../../../core/error-tally.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import { GROUP_AT, GROUP_LENGTH } from "../../stored-error.ts";
import { HEAD, MEMBER, RECORD } from "../layout.ts";
import { LANES, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/**
 * Counts dead and failed jobs by error group, lane and hours since their end, one stretch per call, last ended first. Reads a body only if a filter needs it.
 *
 * In: now; how many to skip, how many to look at; the states wanted; lowest and highest priority, created at or after, created before, tag
 *     (each "": any); the range of their end, as bounds of a sorted set.
 * Out: { (group, lane, hours, count, first end, last end, ids of the first and of the last) …, how many were looked at, lanes }
 */
export const GROUPS: Script = script(
  "groups",
  TIME,
  RECORDS,
  LANES,
  `
local skip, most, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local lowest, highest, from, to, tag = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local asksBody = from or to or tag ~= ''

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
  local body = redis.call('HGET', B .. 'j', id)
  local created = ${HEAD.open("body", "created")}
  if (from and created < from) or (to and created >= to) then return false end
  return tag == '' or isTagged(body)
end

local members = redis.call('ZREVRANGEBYSCORE', B .. 'x', ARGV[11], ARGV[10], 'LIMIT', skip, most)
local ids = {}
for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
local records, groups, rows = mget('s', ids), {}, {}
for index, id in ipairs(ids) do
  local state, priority, number, over, wl, pl, el, at = ${RECORD.open("records[index]", "state", "priority", "lane", "over", "wl", "pl", "el")}
  if el > 0 and isMeant(id, state, priority) then
    local group = sub(records[index], at + wl + pl + ${GROUP_AT - 1}, at + wl + pl + ${GROUP_AT + GROUP_LENGTH - 2})
    local hours = math.min(${TREND_HOURS}, math.max(0, math.floor((now - over) / ${HOUR_MS})))
    local key = group .. number .. ' ' .. hours
    local row = groups[key]
    if not row then
      laneOf(number)
      row = { group, number, hours, 0, over, over, id, id }
      groups[key] = row
      rows[#rows + 1] = row
    end
    row[4] = row[4] + 1
    if over < row[5] then row[5], row[7] = over, id end
    if over > row[6] then row[6], row[8] = over, id end
  end
end
return { rows, #members, laneNames() }
`,
);
