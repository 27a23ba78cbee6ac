import { counterOf } from "../../../core/counters.ts";
import { attemptOutcome, STATUSES } from "../../../core/job.ts";
import { ATTEMPT_OUTCOME, COUNTER, ENDED_STATES, KEPT_STATES, STATE, STAYING_STATES } from "../../numbers.ts";
import { SHAPE_NAMES } from "../shape.ts";
import { ATTEMPT, BUCKET, ENDED, isSet, LOSS, MEMBER, RECORD, RECORD_FLAG } from "../layout.ts";
import { isOneOf } from "./parts.ts";

/** Lua: how the last attempt of a job went, by its state. */
const OUTCOME_OF_LAST = STATUSES.map((status) => `[${STATE[status]}] = ${ATTEMPT_OUTCOME[attemptOutcome(status)]}`).join(", ");

/** Lua: the counter of each state that a job enters. */
const COUNTER_OF_STATE = STATUSES.flatMap((status) => {
  const counter = counterOf(status);
  return counter === null ? [] : [`[${STATE[status]}] = ${COUNTER[counter]}`];
}).join(", ");

/**
 * After LIMITS: one transition of one job, as the core decided it. It collects writes for flush() and counts for writeLedger(). SHAPE in
 * codec.ts defines its shape.
 */
export const TRANSITION = `
local left, sets, due, dead, blocked, timed, stories = {}, {}, {}, {}, {}, {}, {}
local rings = { work = {}, due = false, lease = false }
local COUNTER = { ${COUNTER_OF_STATE} }
local OUTCOME_OF_LAST = { ${OUTCOME_OF_LAST} }
local SHAPE = { ${SHAPE_NAMES.map((name) => `'${name}'`).join(", ")} }

local function readShape(at)
  local shape = {}
  for place, name in ipairs(SHAPE) do shape[name] = tonumber(ARGV[at + place - 1]) end
  return shape
end

local function attemptOf(number, worker, startedAt, endedAt, ran, outcome, error)
  return ${ATTEMPT.pack({ wl: "#worker" })} .. worker .. error
end

local function enter(id, member, state, priority, lane, runAt)
  if ${isOneOf("state", KEPT_STATES)} then
    local list = lane.queue.ended
    list[#list + 1] = ${ENDED.pack({ over: "now" })} .. id
  elseif state == ${STATE.pending} then
    local list = lane.entered
    list[#list + 1] = runAt - priority * lane.queue.headStart
    list[#list + 1] = member
    rings.work[lane.queue.name] = true
  elseif state <= ${STATE.retrying} then
    due[#due + 1] = runAt
    due[#due + 1] = member
    if not rings.due or runAt < rings.due then rings.due = runAt end
  elseif ${isOneOf("state", STAYING_STATES)} then
    dead[#dead + 1] = now
    dead[#dead + 1] = member
  elseif state == ${STATE.blocked} then
    blocked[#blocked + 1] = now
    blocked[#blocked + 1] = member
  end
end

local function leave(member, state, number)
  if state == ${STATE.running} then left[#left + 1] = member
  elseif state == ${STATE.pending} then redis.call('ZREM', B .. 'w:' .. number, member)
  elseif state <= ${STATE.retrying} then redis.call('ZREM', B .. 'd', member)
  elseif ${isOneOf("state", STAYING_STATES)} then redis.call('ZREM', B .. 'x', member)
  elseif state == ${STATE.blocked} then
    redis.call('ZREM', B .. 'b', member)
    redis.call('ZREM', B .. 'bd', member)
  end
end

-- The record after it.
local function transition(id, record, shape, delay, runMs, result, error, mark, keyGone)
  local ${RECORD.names}, at = open(F, record)
  local running, to, place, member = state == ${STATE.running}, shape.to, laneOf(lane), ${MEMBER.pack({})} .. id
  local queue, hasEnded = place.queue, ${isOneOf("to", ENDED_STATES)}
  local errorAt = at + wl + pl

  if ${isOneOf("state", ENDED_STATES)} and attempt > history then
    local outcome = OUTCOME_OF_LAST[state]
    local story = attemptOf(attempt, sub(record, at, at + wl - 1), startedAt, over, ran, outcome, sub(record, errorAt, errorAt + el - 1))
    stories[#stories + 1] = { id, story }
    history = attempt
  end
  local hasResult, kept = ${isSet("flags", RECORD_FLAG.hasResult)}, ''
  if shape.result == 1 then hasResult = false
  elseif shape.result == 2 then hasResult, kept = true, result
  elseif hasResult then kept = sub(record, errorAt + el) end
  if shape.error == 0 or (shape.errorOnlyIfRunning == 1 and not running) then error = el > 0 and sub(record, errorAt, errorAt + el - 1) or ''
  elseif shape.error == 1 then error = '' end
  if running and shape.ends == 1 then
    ran = runMs or now - startedAt
    if not hasEnded then
      stories[#stories + 1] = { id, attemptOf(attempt, sub(record, at, at + wl - 1), startedAt, now, ran, ${ATTEMPT_OUTCOME.failed}, error) }
      history = attempt
    end
  end
  if shape.retries == 1 then retries = retries + 1
  elseif shape.retries == 2 then retries, snoozes = retries - retries % ${LOSS}, 0 end
  if shape.losses == 1 then
    retries = retries + ${LOSS}
    count(place, ${COUNTER.lost}, 1)
    if running then rings.lease = true end
  elseif shape.losses == 2 then retries = retries % ${LOSS} end
  if running and shape.timed == 1 then countTimes(place, ran, startedAt - runAt) end
  if delay then runAt = now + delay end

  leave(member, state, lane)
  enter(id, member, to, priority, place, runAt)
  if delay and to == ${STATE.blocked} then
    timed[#timed + 1] = runAt
    timed[#timed + 1] = member
    if not rings.due or runAt < rings.due then rings.due = runAt end
  end
  if place.isLimited and limits().moved(place, id, member, priority, state, to, runAt) then rings.work[queue.name] = true end
  move(queue, priority, state, to)
  if COUNTER[to] then count(place, COUNTER[to], 1) end

  local changed = (keyGone or ${isSet("flags", RECORD_FLAG.keyGone)}) and ${RECORD_FLAG.keyGone} or 0
  if to == ${STATE.cancelled} and running then changed = changed + ${RECORD_FLAG.leaseCancelled} end
  if hasResult then changed = changed + ${RECORD_FLAG.hasResult} end
  if ${isSet("flags", RECORD_FLAG.resumed)} then changed = changed + ${RECORD_FLAG.resumed} end
  local after = ${RECORD.pack({
    state: "to",
    flags: "changed",
    fence: "fence + shape.bump",
    attempt: "attempt - shape.giveBack",
    snoozes: "snoozes + shape.snooze",
    updatedAt: "now",
    over: "hasEnded and now or 0",
    settled: "mark or settled",
    el: "#error",
  })} .. sub(record, at, errorAt - 1) .. error .. kept
  sets[#sets + 1] = id
  sets[#sets + 1] = after
  return after
end

local function flush()
  many('ZREM', B .. 'r', left)
  setJobs('${BUCKET.records}', sets)
  for number, lane in pairs(lanes) do
    if #lane.entered > 0 then
      many('ZADD', B .. 'w:' .. number, lane.entered)
      redis.call('SADD', B .. 'a:' .. lane.queue.name, number)
    end
  end
  many('ZADD', B .. 'd', due)
  for name, queue in pairs(queues) do many('RPUSH', B .. 'e:' .. name, queue.ended) end
  many('ZADD', B .. 'x', dead)
  many('ZADD', B .. 'b', blocked)
  many('ZADD', B .. 'bd', timed)
  for _, story in ipairs(stories) do redis.call('RPUSH', B .. 'h:' .. story[1], story[2]) end
end

-- { time until something is due that was not before (-1: nothing is), 1 if a lease ended, queues that got work … }
local function ringList()
  local list = { rings.due and math.max(0, rings.due - now) or -1, rings.lease and 1 or 0 }
  for queue in pairs(rings.work) do list[#list + 1] = queue end
  return list
end
`;
