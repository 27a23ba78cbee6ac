import { COUNTERS_PER_TYPE, FIELDS_PER_TYPE, firstFieldOf } from "../../numbers.ts";
import { WHOLE_QUEUE } from "../../packed-times.ts";
import { TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** The field of an hour's hash that has the packed histograms of a type, by its lane. A number alone is a field of an older version. */
export const packedField = (lane: number): string => `t${lane}`;
export const laneOfField = (field: string): number | null => (field.startsWith("t") ? Number(field.slice(1)) : null);

/**
 * Reads the hashes of some periods.
 * In: now; how their keys begin; a field, or "" for all; (start, queue) each. Out: for each, the value of the field, or fields and values as
 * lines of one text: a reply for each of them would cost the reader more than all the rest.
 * Cost: every wanted field of these periods, so a caller asks for a few at once.
 */
export const READ_PERIODS: Script = script(
  "read-periods",
  TIME,
  `
local answer = {}
for index = 4, #ARGV, 2 do
  local key = B .. ARGV[2] .. ':' .. ARGV[index] .. ':' .. ARGV[index + 1]
  answer[#answer + 1] = ARGV[3] == '' and table.concat(redis.call('HGETALL', key), '\\n') or redis.call('HGET', key, ARGV[3])
end
return answer
`,
);

/**
 * Adds up the types of a queue in some periods, or takes the fields of one type alone.
 * In: now; how the keys of the periods begin; "1" for counters without histograms; the lane of the type, or ""; (start, queue) each. Out: for each, fields and amounts as lines.
 * Cost: every field of these periods, so a caller asks for a few at once.
 */
export const SUM_TYPES: Script = script(
  "sum-types",
  TIME,
  `
local answer, only = {}, tonumber(ARGV[4])
for index = 5, #ARGV, 2 do
  local found, sums, list = redis.call('HGETALL', B .. ARGV[2] .. ':' .. ARGV[index] .. ':' .. ARGV[index + 1]), {}, {}
  for at = 1, #found, 2 do
    local field = tonumber(found[at])
    local isTime = field >= ${firstFieldOf("run")}
    local perType = field < 0 and ${COUNTERS_PER_TYPE} or ${FIELDS_PER_TYPE}
    local lane = math.floor(math.abs(field) / perType)
    field = math.abs(field) % perType
    if (not isTime or ARGV[3] ~= '1') and (not only or lane == only) then sums[field] = (sums[field] or 0) + tonumber(found[at + 1]) end
  end
  for field, sum in pairs(sums) do
    list[#list + 1] = tostring(field)
    list[#list + 1] = string.format('%.0f', sum)
  end
  answer[#answer + 1] = table.concat(list, '\\n')
end
return answer
`,
);

/** Adds fields and amounts of a minute to the packed histograms of its hour: of their types, and of the whole queue. */
export const PACK = `
local function pack(hour, found)
  local byLane, moved = { [${WHOLE_QUEUE}] = {} }, 0
  for index = 1, #found, 2 do
    local typed, amount = tonumber(found[index]), tonumber(found[index + 1])
    if typed >= ${firstFieldOf("run")} then
      local lane, field = math.floor(typed / ${FIELDS_PER_TYPE}), tostring(typed % ${FIELDS_PER_TYPE})
      byLane[lane] = byLane[lane] or {}
      byLane[lane][field] = (byLane[lane][field] or 0) + amount
      local whole = byLane[${WHOLE_QUEUE}]
      whole[field] = (whole[field] or 0) + amount
      moved = moved + 1
    end
  end
  if moved == 0 then return 0 end
  for lane, amounts in pairs(byLane) do
    local name, list = '${packedField(0).slice(0, -1)}' .. tostring(lane), {}
    for field, amount in string.gmatch(redis.call('HGET', hour, name) or '', '(%d+):(%d+)') do
      amounts[field] = (amounts[field] or 0) + tonumber(amount)
    end
    for field, amount in pairs(amounts) do list[#list + 1] = field .. ':' .. string.format('%.0f', amount) end
    redis.call('HSET', hour, name, table.concat(list, ' '))
  end
  return moved
end
`;
