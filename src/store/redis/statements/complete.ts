import { COUNTER, STATE, tallyCell } from "../../numbers.ts";
import { ENDED, RECORD, RECORD_FLAG } from "../layout.ts";

/** Lua: as startedAfter in core/lifecycle.ts. */
export const STARTED_AFTER = "math.max(startedAt, math.min(startedAt + held, now))";

/**
 * After LEDGER: the plain end of a job (see core/lifecycle.ts), as transition() would write it. It reads bytes instead of unpacking fields,
 * and makes few texts, because the server's Lua hashes every byte of every text.
 */
export const COMPLETE = `
local byte = string.byte
local stamp = ${ENDED.pack({ over: "now" })}
local stamps = stamp .. stamp -- updatedAt and over
local ends, endLeft, endSets, completed, firsts = 0, {}, {}, {}, {}

-- How the record begins after it.
local function firstOf(flags)
  local first = firsts[flags] or pack('${RECORD.format("state", "flags")}', ${STATE.completed}, flags)
  firsts[flags] = first
  return first
end

-- What follows the settled mark, without an error or a result from before.
local function restOf(record, flags)
  local e1, e2, e3, e4 = byte(record, ${RECORD.at.el + 1}, ${RECORD.bytes})
  if flags < ${RECORD_FLAG.hasResult} and e1 + e2 + e3 + e4 == 0 then return ${RECORD.rest("record", "turn")} end
  local wl, pl = ${RECORD.open("record", "wl", "pl")}
  return ${RECORD.cut("record", "turn", "pl")} .. pack('${RECORD.format("el", "el")}', 0) .. sub(record, ${RECORD.bytes + 1}, ${RECORD.bytes} + wl + pl)
end

-- mark is packed; result may be nil. The record after it.
local function complete(id, record, flags, ran, held, mark, result)
  local priority, high, mid, low = byte(record, ${RECORD.at.priority + 1}, ${RECORD.at.seq})
  local r1, r2, r3, r4, r5, r6, s1, s2, s3, s4, s5, s6 = byte(record, ${RECORD.at.runAt + 1}, ${RECORD.at.updatedAt})
  local waited = (((((s1 - r1) * 256 + s2 - r2) * 256 + s3 - r3) * 256 + s4 - r4) * 256 + s5 - r5) * 256 + s6 - r6
  local number = (high * 256 + mid) * 256 + low
  local kind, place = priority * ${2 ** 24} + number, laneOf(number)
  completed[kind] = (completed[kind] or 0) + 1
  local times
  if held > 0 then
    local startedAt = ((((s1 * 256 + s2) * 256 + s3) * 256 + s4) * 256 + s5) * 256 + s6
    local later = ${STARTED_AFTER}
    waited = waited + later - startedAt
    times = ${RECORD.cut("record", "priority", "runAt")} .. pack('${RECORD.format("startedAt", "startedAt")}', later)
  else times = ${RECORD.cut("record", "priority", "startedAt")} end
  local after = firstOf(flags % ${2 * RECORD_FLAG.keyGone} + (result and ${RECORD_FLAG.hasResult} or 0)) .. times .. stamps
    .. pack('${RECORD.format("ran", "ran")}', ran) .. mark .. restOf(record, flags) .. (result or '')
  ends = ends + 1
  endLeft[ends] = ${RECORD.cut("record", "seq")} .. id
  endSets[2 * ends - 1], endSets[2 * ends] = id, after
  local ended = place.queue.ended
  ended[#ended + 1] = stamp .. id
  countTimes(place, ran, waited)
  return after
end

-- It needs no memory, and comes before the other writes: see ALWAYS in script.ts.
local function leaveLeases()
  many('ZREM', B .. 'r', endLeft)
end

local function countEnds()
  for kind, times in pairs(completed) do
    local priority, lane = splitKind(kind)
    local place = laneOf(lane)
    add(place.queue.tally, ${tallyCell(STATE.running, 0)} + level(priority), -times)
    add(place.queue.tally, ${tallyCell(STATE.completed, 0)} + level(priority), times)
    count(place, ${COUNTER.completed}, times)
  end
end
`;
