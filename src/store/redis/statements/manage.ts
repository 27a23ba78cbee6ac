import { FLOW_QUEUES } from "../../../core/flow.ts";
import { MAX_MANUAL_CHANGES } from "../../../core/manual-change.ts";
import { KEPT_STATES, STATE, STAYING_STATES } from "../../numbers.ts";
import { changeText } from "../../stored-manual-change.ts";
import { FACETS_BEGIN } from "../codec.ts";
import { SHAPE_NAMES } from "../shape.ts";
import { BUCKET, bucketOf, FLOW_FIELD, flowKey, HEAD, HEAD_FLAG, holderId, isSet, RECORD, tagOf } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { isOneOf, KEY_BUCKET, LANES, LEDGER, RECORDS, SUMMARY, TIME } from "./parts.ts";
import { LIMITS, ROOM, tellFreed } from "./limits.ts";
import { LEAVE_NOTICE } from "./notices.ts";
import { MOVE_STEPS, STEPS_OF_JOB, stepsKey } from "./steps.ts";
import { TRANSITION } from "./transition.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/** After RECORDS. */
export const OWN_KEY = `
${KEY_BUCKET}
-- The holder of a key if it is this job.
local function ownKey(id, field)
  local found = redis.call('HGET', keyBucket(field), field)
  return found and ${holderId("found")} == id and found or nil
end
`;

/**
 * After LEDGER and FACETS: removes all of a job except its key, which is left to the caller. It also clears the creation index: an empty
 * list disappears, and its entry in the zset with it.
 */
export const FORGET = `
-- Asked once for each bucket: most have no job that was changed by hand.
local changed = {}
local function hasChanges(id)
  local tag = ${tagOf("id")}
  if changed[tag] == nil then changed[tag] = redis.call('EXISTS', ${bucketOf("changes", "id")}) == 1 end
  return changed[tag]
end

local function forget(id, body, record)
  local state, priority, lane, seq, history, logs = ${RECORD.open("record", "state", "priority", "lane", "seq", "history", "logs")}
  redis.call('HDEL', ${bucketOf("bodies", "id")}, id)
  redis.call('HDEL', ${bucketOf("records", "id")}, id)
  if history > 0 then redis.call('DEL', B .. 'h:' .. id) end
  if logs > 0 then redis.call('DEL', B .. 'o:' .. id) end
  if hasChanges(id) then redis.call('HDEL', ${bucketOf("changes", "id")}, id) end
  local flags = string.byte(body, ${HEAD.at.flags + 1})
  if flags >= ${HEAD_FLAG.hasSteps} then redis.call('DEL', ${stepsKey("heads", "id")}, ${stepsKey("values", "id")}) end
  if ${isSet("flags", HEAD_FLAG.faceted)} then
    for field, value in pairs(facetsIn(body)) do
      redis.call('ZREM', facetIndex(laneOf(lane).queue.name, field, value), ${RECORD.cut("record", "seq")} .. id)
    end
  end
  if ${isOneOf("state", STAYING_STATES)} then redis.call('ZREM', B .. 'x', ${RECORD.cut("record", "seq")} .. id) end
  if ${FLOW_QUEUES.map((name) => `laneOf(lane).queue.name == '${name}'`).join(" or ")} then
    local flow = ${flowKey("id")}
    for bucket = 1, tonumber(redis.call('HGET', flow, '${FLOW_FIELD.buckets}') or 0) do redis.call('UNLINK', flow .. ':' .. bucket) end
    redis.call('UNLINK', flow)
  end
  local chunk = redis.call('ZREVRANGEBYSCORE', B .. 'g', seq, '-inf', 'LIMIT', 0, 1)[1]
  if chunk then
    redis.call('LREM', B .. 'i:' .. chunk, 1, id)
    if redis.call('EXISTS', B .. 'i:' .. chunk) == 0 then redis.call('ZREM', B .. 'g', chunk) end
  end
  move(laneOf(lane).queue, priority, state, nil)
end
`;

/** After FACETS. */
const EDIT = `
-- A body up to its payload, with other facets: in JSON, or "" for none. Its indexes change with them.
local function withFacets(id, shown, record, facets)
  local queue, seq = laneOf(laneIn(shown)).queue.name, ${RECORD.open("record", "seq")}
  local member, flags = ${RECORD.cut("record", "seq")} .. id, string.byte(shown, ${HEAD.at.flags + 1})
  local _, _, from = keyIn(shown)
  local line = sub(shown, from, -2)
  if ${isSet("flags", HEAD_FLAG.faceted)} then
    for field, value in pairs(facetsIn(shown)) do redis.call('ZREM', facetIndex(queue, field, value), member) end
    local at = string.find(line, '${FACETS_BEGIN}', 1, true)
    line = at == 2 and '' or sub(line, 1, at - 2) .. '}'
    flags = flags - ${HEAD_FLAG.faceted}
  end
  if facets ~= '' then
    for field, value in pairs(cjson.decode(facets)) do redis.call('ZADD', facetIndex(queue, field, value), seq, member) end
    line = (line == '' and '{' or sub(line, 1, -2) .. ',') .. '"facets":' .. facets .. '}'
    flags = flags + ${HEAD_FLAG.faceted}
  end
  return sub(shown, 1, ${HEAD.at.flags}) .. string.char(flags) .. sub(shown, ${HEAD.at.flags + 2}, from - 1) .. line .. '\\n'
end
`;

/**
 * Applies a move.
 * In: now; the states it applies to; delay or ""; run time or ""; result; error; the caller's part of a change by hand, or ""; the
 * new payload, or "", and its facets in JSON, or ""; what it does to steps, or ""; the ending in JSON, or ""; its shape; ids.
 * Out: { answers, lanes, hints, how many notices it left }; an answer is "" (missing), a number (the state that forbade it), or { was, body, record } without payload
 * and result.
 */
export const CHANGE: Script = script(
  "change",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  ROOM,
  TRANSITION,
  SUMMARY,
  OWN_KEY,
  FACETS,
  EDIT,
  STEPS_OF_JOB,
  LEAVE_NOTICE,
  MOVE_STEPS,
  ALWAYS,
  `
local from, delay, runMs, result, error, manual, payload, facets, shape =
  ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], readShape(12)
local answers, ids, records = {}, {}, {}
for index = ${12 + SHAPE_NAMES.length}, #ARGV do ids[#ids + 1] = ARGV[index] end
local bodies = getJobs('${BUCKET.bodies}', ids)
for index, record in ipairs(getJobs('${BUCKET.records}', ids)) do records[ids[index]] = record or (bodies[index] and fresh(bodies[index])) end

-- A key that has expired may be another's by now: the job goes on without it for good.
local function losesKey(id, body, state, over)
  local text, ttl = keyIn(body)
  if not text or not ${isOneOf("state", KEPT_STATES)} or over + ttl > now then return false end
  local field = laneOf(laneIn(body)).queue.name .. ' ' .. text
  if ownKey(id, field) then redis.call('HDEL', keyBucket(field), field) end
  return true
end

local function keepManualChange(id, state, attempt)
  local lines, former = ${changeText("..", "now", "state", "attempt", "manual")}, redis.call('HGET', ${bucketOf("changes", "id")}, id)
  if former then
    local _, ends = string.gsub(former, '\\n', '')
    if ends + 1 >= ${MAX_MANUAL_CHANGES} then former = sub(former, string.find(former, '\\n', 1, true) + 1) end
    lines = former .. '\\n' .. lines
  end
  redis.call('HSET', ${bucketOf("changes", "id")}, id, lines)
end

for index, id in ipairs(ids) do
  local body, record = bodies[index], records[id]
  if not body then answers[index] = ''
  else
    local state, attempt, over = ${RECORD.open("record", "state", "attempt", "over")}
    if not string.find(from, ',' .. state .. ',', 1, true) then answers[index] = state
    else
      if state == ${STATE.running} then rings.lease = true end
      local after = transition(id, record, shape, delay, runMs, result, error, nil, losesKey(id, body, state, over))
      records[id] = after
      if manual ~= '' then keepManualChange(id, state, attempt) end
      local shown, shownRecord = summary(body, after)
      local flags = string.byte(body, ${HEAD.at.flags + 1})
      if flags >= ${HEAD_FLAG.called} then
        local _, _, lineAt = keyIn(shown)
        moveSteps(id, flags, sub(shown, lineAt, -2), ${RECORD.open("after", "fence")}, ARGV[10], shape.to, ARGV[11])
      end
      -- What lists show of a body is all before its payload.
      if payload ~= '' then
        shown = withFacets(id, shown, after, facets)
        redis.call('HSET', ${bucketOf("bodies", "id")}, id, shown .. payload)
      end
      answers[index] = { state, shown, shownRecord }
    end
  end
end
flush()
${tellFreed("rings.work[name] = true")}
writeLedger()
return { answers, laneNames(), ringList(), noticesLeft }
`,
);

/**
 * Deletes ended jobs.
 * In: now; the states it applies to; ids. Out: { answers, lanes } as above, with the job as it was.
 */
export const REMOVE: Script = script(
  "remove",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  SUMMARY,
  FACETS,
  OWN_KEY,
  FORGET,
  ALWAYS,
  `
local answers = {}
for index = 3, #ARGV do
  local id = ARGV[index]
  local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
  if not body then answers[index - 2] = ''
  else
    local record = redis.call('HGET', ${bucketOf("records", "id")}, id) or fresh(body)
    local state, lane = ${RECORD.open("record", "state", "lane")}
    if not string.find(ARGV[2], ',' .. state .. ',', 1, true) then answers[index - 2] = state
    else
      answers[index - 2] = { state, summary(body, record) }
      local text = keyIn(body)
      local field = text and laneOf(lane).queue.name .. ' ' .. text
      if field and ownKey(id, field) then redis.call('HDEL', keyBucket(field), field) end
      forget(id, body, record)
    end
  end
end
writeLedger()
return { answers, laneNames() }
`,
);
