/** The steps of jobs: see "Jobs do durable work" in store.ts. Their packed form is in layout.ts, their keys are in keys.ts. */
import { MAX_STEPS, MAX_STEPS_BYTES, MAX_STEPS_READ_BYTES } from "../../../core/steps.ts";
import { STATE, STEP_KIND, STEP_STATE } from "../../numbers.ts";
import { SHAPE_NAMES } from "../shape.ts";
import { bucketOf, HEAD, HEAD_FLAG, isSet, RECORD, RECORD_FLAG, STEP, STEP_HAS, STEPS, STEPS_FIELD, STEPS_OF } from "../layout.ts";
import { LIMITS } from "./limits.ts";
import { LANES, LEDGER, RECORDS, REFUSAL, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";
import { TRANSITION } from "./transition.ts";

/** Lua: the names of the steps of a job, and of their values. */
export const stepsKey = (kind: keyof typeof STEPS_OF, id: string): string => `B .. '${STEPS_OF[kind]}' .. ${id}`;

/** After RECORDS: reads and writes the steps of one job. Values are never looked into. */
export const STEPS_OF_JOB = `
-- How many there are, and the bytes of their values.
local function stepsOf(id)
  local key, life, bytes, size = ${stepsKey("heads", "id")}, 1, 0, 0
  local found = redis.call('HGET', key, ${STEPS_FIELD})
  if found then
    life, bytes = open('${STEPS.format()}', found)
    size = redis.call('HLEN', key) - 1
  end
  return { id = id, key = key, values = ${stepsKey("values", "id")}, isNew = not found, life = life, bytes = bytes, size = size }
end

local function readStep(head)
  local ${STEP.names}, at = open('${STEP.format()}', head)
  return {
    kind = kind, state = state, attempt = attempt, startedAt = startedAt, endedAt = endedAt,
    dueAt = ${isSet("has", STEP_HAS.dueAt)} and dueAt or nil, hasValue = ${isSet("has", STEP_HAS.value)}, bytes = bytes,
    by = ${isSet("has", STEP_HAS.by)} and sub(head, at, at + length - 1) or nil, detail = ${isSet("has", STEP_HAS.detail)} and sub(head, at + length) or nil
  }
end

local function stepOf(steps, name)
  local head = redis.call('HGET', steps.key, name)
  return head and readStep(head) or nil
end

local function writeStep(steps, name, step)
  local by, detail, has = step.by or '', step.detail or '', step.hasValue and ${STEP_HAS.value} or 0
  if step.dueAt then has = has + ${STEP_HAS.dueAt} end
  if step.by then has = has + ${STEP_HAS.by} end
  if step.detail then has = has + ${STEP_HAS.detail} end
  local head = ${STEP.pack({
    kind: "step.kind",
    state: "step.state",
    attempt: "step.attempt",
    startedAt: "step.startedAt",
    endedAt: "step.endedAt",
    dueAt: "step.dueAt or 0",
    bytes: "step.bytes",
    length: "#by",
  })} .. by .. detail
  redis.call('HSET', steps.key, name, head)
end

-- In place of what has its name. The value may be nil.
local function putStep(steps, name, step, value, before)
  step.hasValue, step.bytes = value ~= nil, value and #value or 0
  writeStep(steps, name, step)
  if value then redis.call('HSET', steps.values, name, value)
  elseif before and before.hasValue then redis.call('HDEL', steps.values, name) end
  steps.bytes = steps.bytes + step.bytes - (before and before.bytes or 0)
end

-- The first steps of a job also mark its body.
local function saveSteps(steps)
  redis.call('HSET', steps.key, ${STEPS_FIELD}, pack('${STEPS.format()}', steps.life, steps.bytes))
  if not steps.isNew then return end
  local bodies = ${bucketOf("bodies", "steps.id")}
  local body = redis.call('HGET', bodies, steps.id)
  local flags = string.byte(body, ${HEAD.at.flags + 1})
  if ${isSet("flags", HEAD_FLAG.hasSteps)} then return end
  redis.call('HSET', bodies, steps.id, sub(body, 1, ${HEAD.at.flags}) .. string.char(flags + ${HEAD_FLAG.hasSteps}) .. sub(body, ${HEAD.at.flags + 2}))
end

-- A step of a running handler, as it is stored: see NEW_STEP in ../steps.ts. An open one keeps its time.
local function newStep(at, before, attempt)
  local kind, state, has = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local isOpen, dueAt = state == ${STEP_STATE.open}, ${isSet("has", STEP_HAS.dueAt)} and now + tonumber(ARGV[at + 4]) or nil
  if isOpen and before and before.state == ${STEP_STATE.open} then dueAt = before.dueAt end
  return {
    kind = kind, state = state, dueAt = dueAt, detail = ${isSet("has", STEP_HAS.detail)} and ARGV[at + 5] or nil,
    startedAt = before and before.startedAt or now, endedAt = isOpen and 0 or now, attempt = before and before.attempt or attempt
  }, ${isSet("has", STEP_HAS.value)} and ARGV[at + 6] or nil
end
`;

/** How many arguments `newStep` reads: name, kind, state, what it has, milliseconds until it ends, detail, value. */
export const ARGS_OF_STEP = 7;

/**
 * Stores steps under leases. It begins with a write that may need memory, so that a full server refuses it with nothing done.
 * In: now; (id, fence, number of steps, steps …) each. Out: one letter each: o ok, s stale, c cancelled, f full.
 */
export const KEEP_STEPS: Script = script(
  "keepSteps",
  TIME,
  RECORDS,
  REFUSAL,
  STEPS_OF_JOB,
  `
local answers, p = {}, 2

-- What was there under the names of the given steps; nil if they do not fit.
local function befores(steps, first, till)
  local found, size, bytes, lengths = {}, steps.size, steps.bytes, {}
  for at = first, till, ${ARGS_OF_STEP} do
    local name, has = ARGV[at], tonumber(ARGV[at + 3])
    if not lengths[name] then
      found[name] = stepOf(steps, name)
      if not found[name] then size = size + 1 end
      lengths[name] = found[name] and found[name].bytes or 0
    end
    local length = ${isSet("has", STEP_HAS.value)} and #ARGV[at + 6] or 0
    bytes, lengths[name] = bytes + length - lengths[name], length
  end
  if size > math.max(${MAX_STEPS}, steps.size) or bytes > ${MAX_STEPS_BYTES} then return nil end
  return found
end

while p <= #ARGV do
  local id, fence, answer = ARGV[p], tonumber(ARGV[p + 1]), 's'
  local first, till = p + 3, p + 2 + ${ARGS_OF_STEP} * tonumber(ARGV[p + 2])
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
  if record then
    local state, flags, present, attempt = ${RECORD.open("record", "state", "flags", "fence", "attempt")}
    if state ~= ${STATE.running} or present ~= fence then answer = refusal(state, flags, present, fence)
    else
      local steps = stepsOf(id)
      local found = befores(steps, first, till)
      answer = found and 'o' or 'f'
      if found then
        for at = first, till, ${ARGS_OF_STEP} do
          local name = ARGV[at]
          local step, value = newStep(at, found[name], attempt)
          putStep(steps, name, step, value, found[name])
          found[name] = step
        end
        saveSteps(steps)
        redis.call('HSET', ${bucketOf("records", "id")}, id, ${RECORD.cut("record", "state", "attempt")} .. pack('${RECORD.format("retries", "retries")}', 0)
          .. ${RECORD.cut("record", "snoozes", "startedAt")} .. pack('${RECORD.format("updatedAt", "updatedAt")}', now) .. ${RECORD.rest("record", "over")})
      end
    end
  end
  answers[#answers + 1] = answer
  p = till + 1
end
return table.concat(answers)
`,
);

/**
 * Reads steps in the order of their names, by bytes. Under a lease it first ends those whose time has come.
 * In: now; id; fence, or ""; "1" and the name to begin after, or "". Out: nil; or { now, life, (name, step, value) …, "1" if there are more }.
 * A step without a value has "" there.
 */
export const READ_STEPS: Script = script(
  "readSteps",
  TIME,
  RECORDS,
  STEPS_OF_JOB,
  `
local id, fence, after = ARGV[2], tonumber(ARGV[3]), ARGV[4] ~= '' and sub(ARGV[4], 2) or nil
if redis.call('HEXISTS', ${bucketOf("bodies", "id")}, id) == 0 then return nil end
if fence then
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
  if not record then return nil end
  local state, present = ${RECORD.open("record", "state", "fence")}
  if state ~= ${STATE.running} or present ~= fence then return nil end
end

-- A comparison of texts would go by the locale of the server.
local function isBefore(a, b)
  for at = 1, math.min(#a, #b) do
    local one, two = string.byte(a, at), string.byte(b, at)
    if one ~= two then return one < two end
  end
  return #a < #b
end

local steps = stepsOf(id)
local all, heads, names = redis.call('HGETALL', steps.key), {}, {}
for index = 1, #all, 2 do
  local name = all[index]
  if name ~= ${STEPS_FIELD} then
    heads[name] = all[index + 1]
    if not after or isBefore(after, name) then names[#names + 1] = name end
  end
end
for name, head in pairs(fence and heads or {}) do
  local state = ${STEP.open("head", "state")}
  local step = state == ${STEP_STATE.open} and readStep(head)
  if step and step.dueAt and step.dueAt <= now then
    ${ALWAYS}
    step.state, step.endedAt = step.kind == ${STEP_KIND.sleep} and ${STEP_STATE.done} or ${STEP_STATE.timeout}, now
    writeStep(steps, name, step)
    heads[name] = redis.call('HGET', steps.key, name)
  end
end
table.sort(names, isBefore)

local list, bytes, hasMore = {}, 0, ''
for index, name in ipairs(names) do
  local length = ${STEP.open("heads[name]", "bytes")}
  bytes = bytes + length
  if index > 1 and bytes > ${MAX_STEPS_READ_BYTES} then
    hasMore = '1'
    break
  end
  list[#list + 1] = name
  list[#list + 1] = heads[name]
  list[#list + 1] = length > 0 and redis.call('HGET', steps.values, name) or ''
end
return { now, steps.life, list, hasMore }
`,
);

/**
 * Ends steps from outside of their attempts. It begins with a write that may need memory, as KEEP_STEPS does.
 * In: now; shape of the transition that wakes a job; (id, the states it applies to, name, kind, state, "1" if it has a value, value, by, life or "") each.
 * Out: { answers, lanes, hints }; an answer is { a letter, number }: o ok, W ok and the job was woken (its lane), l late (the state of the
 *     step), f full, r refused (the state of the job), m missing.
 */
export const END_STEPS: Script = script(
  "endSteps",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  TRANSITION,
  STEPS_OF_JOB,
  `
local answers, records, shape = {}, {}, readShape(2)

local function endStep(id, from, name, kind, state, value, by, life)
  local record = records[id] or redis.call('HGET', ${bucketOf("records", "id")}, id)
  if not record then
    local body = redis.call('HGET', ${bucketOf("bodies", "id")}, id)
    if not body then return { 'm', 0 } end
    record = fresh(body)
  end
  local status, lane, attempt = ${RECORD.open("record", "state", "lane", "attempt")}
  if not string.find(from, ',' .. status .. ',', 1, true) then return { 'r', status } end
  laneOf(lane)
  local steps = stepsOf(id)
  local before = stepOf(steps, name)
  local wasOpen = before and before.state == ${STEP_STATE.open}
  if (life and life ~= steps.life) or (before and before.kind ~= kind) then return { 'l', before and before.state or ${STEP_STATE.open} } end
  if before and not wasOpen then
    if before.by == by then return { 'o', lane } end
    if before.state ~= ${STEP_STATE.failed} then return { 'l', before.state } end
  end
  local bytes = steps.bytes + (value and #value or 0) - (before and before.bytes or 0)
  local isTooMany = not before and steps.size >= ${MAX_STEPS}
  if state ~= ${STEP_STATE.failed} and (isTooMany or bytes > ${MAX_STEPS_BYTES}) then return { 'f', 0 } end
  local step = { kind = kind, state = state, startedAt = now, endedAt = now, attempt = attempt, by = by }
  if before then step.startedAt, step.attempt, step.dueAt, step.detail = before.startedAt, before.attempt, before.dueAt, before.detail end
  putStep(steps, name, step, value, before)
  saveSteps(steps)
  if not wasOpen or status ~= ${STATE.blocked} then return { 'o', lane } end
  records[id] = transition(id, record, shape, 0)
  return { 'W', lane }
end

for p = ${2 + SHAPE_NAMES.length}, #ARGV, 9 do
  local id, from, name, kind, state, hasValue, value, by, life = unpack(ARGV, p, p + 8)
  answers[#answers + 1] = endStep(id, from, name, tonumber(kind), tonumber(state), hasValue == '1' and value or nil, by, tonumber(life))
end
flush()
writeLedger()
return { answers, laneNames(), ringList() }
`,
);

/**
 * After STEPS_OF_JOB and LEAVE_NOTICE: what a move means for the steps of a job that has some or was called. `which`, the state it moves to,
 * and `ending` are those of the move; `line` is the client's own line of the body.
 */
export const MOVE_STEPS = `
local function moveSteps(id, flags, line, fence, which, to, ending)
  if ${isSet("flags", HEAD_FLAG.hasSteps)} then
    local steps = which ~= '' and stepsOf(id)
    if which == 'forget' then
      redis.call('DEL', steps.key, steps.values)
      steps.life, steps.bytes = steps.life + 1, 0
    elseif which == 'retry' then
      for _, name in ipairs(redis.call('HKEYS', steps.key)) do
        local step = name ~= ${STEPS_FIELD} and stepOf(steps, name)
        if step and step.state == ${STEP_STATE.failed} then
          redis.call('HDEL', steps.key, name)
          redis.call('HDEL', steps.values, name)
          steps.bytes = steps.bytes - step.bytes
        end
      end
    end
    if steps then saveSteps(steps) end
    if to == ${STATE.cancelled} then leaveNotice('c' .. id) end
  end
  if ending ~= '' and ${isSet("flags", HEAD_FLAG.called)} then leaveNotice('e' .. id .. format('%d', fence) .. ' ' .. ending .. '\\n' .. line) end
end
`;

/**
 * After STEPS_OF_JOB: suspends a job. The waits that its settlement has are arguments from one place on. Answers the record and the shape to
 * apply, and when the job is due.
 */
export const SUSPEND = `
local function suspend(id, record, shape, delay, first, waits)
  local flags, attempt = ${RECORD.open("record", "flags", "attempt")}
  local steps, soonest, hasEnded = stepsOf(id), nil, false
  for at = first, first + ${ARGS_OF_STEP} * (waits - 1), ${ARGS_OF_STEP} do
    local name = ARGV[at]
    local step, value = stepOf(steps, name), nil
    if not step then
      step, value = newStep(at, nil, attempt)
      putStep(steps, name, step, value, nil)
    end
    hasEnded = hasEnded or step.state ~= ${STEP_STATE.open}
    if step.dueAt and (not soonest or step.dueAt < soonest) then soonest = step.dueAt end
  end
  saveSteps(steps)
  record = ${RECORD.cut("record", "state")} .. string.char(flags + ${RECORD_FLAG.resumed}) .. ${RECORD.rest("record", "priority")}
  if hasEnded then return record, setmetatable({ to = ${STATE.pending} }, { __index = shape }), 0 end
  return record, shape, soonest and math.max(0, soonest - now) or delay
end
`;
