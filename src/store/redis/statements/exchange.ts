import { COUNTER, MARKS_PER_FENCE, STATE, tallyCell } from "../../numbers.ts";
import { REPEAT_REMEMBERED_MS } from "../../store.ts";
import { SHAPE_NAMES } from "../codec.ts";
import { ENDED, HEAD, HEAD_FLAG, isSet, KIND_DIGITS, MEMBER, RECORD, RECORD_FLAG } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { INSERT_JOBS } from "./insert.ts";
import { LANES, LEDGER, RECORDS, REFUSAL, TIME, TRANSITION } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/** After TRANSITION: the plain end of a job (see core/lifecycle.ts). EXCHANGE does what transition() would, by cutting bytes. */
const COMPLETE = `
local stamp = ${ENDED.pack({ over: "now" })}
local stamps = stamp .. stamp -- updatedAt and over
local NO_ERROR = pack('${RECORD.format("el", "el")}', 0)

-- How records begin after it, by whether their key is another's.
local function describeEnd(shape)
  local hasResult = shape.result == 2 and ${RECORD_FLAG.hasResult} or 0
  shape.first = {}
  for _, keyGone in ipairs({ 0, ${RECORD_FLAG.keyGone} }) do
    shape.first[keyGone] = pack('${RECORD.format("state", "flags")}', ${STATE.completed}, hasResult + keyGone)
  end
end

local ends, endLeft, endSets = 0, {}, {}

-- Jobs of one lane and priority are counted together: kind is the four bytes that tell these.
local completed = {}
local function countCompleted()
  for kind, times in pairs(completed) do
    local priority, lane = open('${RECORD.format("priority", "lane")}', kind)
    local place = laneOf(lane)
    add(place.queue.tally, ${tallyCell(STATE.running, 0)} + level(priority), -times)
    add(place.queue.tally, ${tallyCell(STATE.completed, 0)} + level(priority), times)
    count(place, ${COUNTER.completed}, times)
  end
end
`;

/** After TRANSITION: jobs leave their lanes in rank order and become running. */
const TAKE = `
local function step(head)
  head.rank, head.seq = tonumber(head.found[head.at + 1]), ${MEMBER.open("head.found[head.at]", "seq")}
end

-- Up to limit members over several lanes: some heads of each are read, merged, and read again where they ran out.
local function merge(queue, lanes, limit)
  local heads, size = {}, math.max(4, math.ceil(2 * limit / #lanes))
  for _, lane in ipairs(lanes) do
    local key = B .. 'w:' .. lane
    local found = redis.call('ZRANGE', key, 0, size - 1, 'WITHSCORES')
    if #found > 0 then
      local head = { key = key, lane = lane, found = found, at = 1, taken = 0 }
      step(head)
      heads[#heads + 1] = head
    else
      redis.call('SREM', B .. 'a:' .. queue, lane)
    end
  end
  local taken = {}
  while #taken < limit and #heads > 0 do
    local best, place = heads[1], 1
    for index = 2, #heads do
      local head = heads[index]
      if head.rank < best.rank or (head.rank == best.rank and head.seq < best.seq) then best, place = head, index end
    end
    taken[#taken + 1] = best.found[best.at]
    best.at = best.at + 2
    best.taken = best.taken + 1
    if best.at > #best.found then
      redis.call('ZREMRANGEBYRANK', best.key, 0, best.taken - 1)
      best.found = #best.found == 2 * size and redis.call('ZRANGE', best.key, 0, size - 1, 'WITHSCORES') or {}
      best.taken, best.at = 0, 1
    end
    if #best.found > 0 then step(best)
    else
      table.remove(heads, place)
      redis.call('SREM', B .. 'a:' .. queue, best.lane)
    end
  end
  for _, head in ipairs(heads) do
    if head.taken > 0 then redis.call('ZREMRANGEBYRANK', head.key, 0, head.taken - 1) end
  end
  return taken
end

local function single(queue, lane, limit)
  -- Faster than ZPOPMIN, which would also write each score as text.
  local taken = redis.call('ZRANGE', B .. 'w:' .. lane, 0, limit - 1)
  if #taken > 0 then redis.call('ZREMRANGEBYRANK', B .. 'w:' .. lane, 0, #taken - 1) end
  if #taken < limit then redis.call('SREM', B .. 'a:' .. queue, lane) end
  return taken
end

local function lanesOf(queue, types)
  if types == '*' then return redis.call('SMEMBERS', B .. 'a:' .. queue) end
  local fields, lanes, seen = {}, {}, {}
  for index, type in ipairs(types) do fields[index] = queue .. ' ' .. type end
  for _, lane in ipairs(mget('l', fields)) do
    if lane and not seen[lane] then
      seen[lane] = true
      lanes[#lanes + 1] = lane
    end
  end
  return lanes
end

local function takeFrom(queue, types, limit)
  local lanes = lanesOf(queue, types)
  if #lanes == 0 then return lanes end
  if #lanes == 1 then return single(queue, lanes[1], limit) end
  return merge(queue, lanes, limit)
end

-- The record of a job that is granted, if somebody had it before.
local function granted(record, claim)
  local ${RECORD.names}, at = open(F, record)
  local kept = (${isSet("flags", RECORD_FLAG.keyGone)} and ${RECORD_FLAG.keyGone} or 0) + (${isSet("flags", RECORD_FLAG.hasResult)} and ${RECORD_FLAG.hasResult} or 0)
  return ${RECORD.pack({
    state: STATE.running,
    flags: "kept",
    fence: "fence + 1",
    attempt: "attempt + 1",
    startedAt: "now",
    updatedAt: "now",
    over: "now + claim.leaseMs",
    turn: "claim.turn",
    wl: "#claim.worker",
    pl: 0,
  })} .. claim.worker .. sub(record, at + wl + pl)
end

-- Gives the jobs to the claim; its answer gets (id, body, record) of each.
local function grant(members, claim, queue)
  local ids, sets, leases, size, length = {}, {}, {}, #claim.answer, 0
  for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
  local bodies, records = mget('j', ids), mget('s', ids)
  local untilWhen, answer, counted = now + claim.leaseMs, claim.answer, {}
  -- As text, because the server would write the number as text again for each job.
  local leaseEnd = string.format('%.0f', untilWhen)
  -- Most were never touched: all but priority, lane, sequence and runAt is the same for them.
  local granting = ${RECORD.packNew({
    state: STATE.running,
    fence: 1,
    attempt: 1,
    startedAt: "now",
    updatedAt: "now",
    over: "untilWhen",
    ran: -1,
    turn: "claim.turn",
    wl: "#claim.worker",
  })} .. claim.worker
  local begin, middle, tail = ${RECORD.cut("granting", "state", "flags")}, ${RECORD.cut("granting", "fence", "snoozes")}, ${RECORD.rest("granting", "startedAt")}
  for index, id in ipairs(ids) do
    local body, record = bodies[index], records[index]
    if body then
      if record then record = granted(record, claim)
      elseif ${isSet(`string.byte(body, ${HEAD.at.flags + 1})`, HEAD_FLAG.scheduled)} then record = granted(fresh(body), claim)
      else record = begin .. ${HEAD.cut("body", "priority", "seq")} .. middle .. ${HEAD.cut("body", "created")} .. tail end
      local kind = ${HEAD.cut("body", "priority", "lane")}
      counted[kind] = (counted[kind] or 0) + 1
      sets[length + 1], sets[length + 2] = id, record
      leases[length + 1], leases[length + 2] = leaseEnd, members[index]
      length = length + 2
      answer[size + 1], answer[size + 2], answer[size + 3] = id, body, record
      size = size + 3
    end
  end
  for kind, times in pairs(counted) do
    local priority, lane = open('${HEAD.format("priority", "lane")}', kind)
    laneOf(lane)
    add(queue.tally, ${tallyCell(STATE.pending, 0)} + level(priority), -times)
    add(queue.tally, ${tallyCell(STATE.running, 0)} + level(priority), times)
  end
  many('HSET', B .. 's', sets)
  many('ZADD', B .. 'r', leases)
end

-- What this turn of this worker was granted and still runs, with its lease renewed.
local function grantAgain(claim)
  local answer, untilWhen = claim.answer, now + claim.leaseMs
  for from = 0, redis.call('ZCARD', B .. 'r') - 1, 500 do
    local members, ids = redis.call('ZRANGE', B .. 'r', from, from + 499), {}
    for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
    for index, record in ipairs(mget('s', ids)) do
      local lane, turn, wl = ${RECORD.open("record", "lane", "turn", "wl")}
      if turn == claim.turn and sub(record, ${RECORD.bytes + 1}, ${RECORD.bytes} + wl) == claim.worker and #answer < claim.limit * 3 then
        answer[#answer + 1] = ids[index]
        answer[#answer + 1] = redis.call('HGET', B .. 'j', ids[index])
        answer[#answer + 1] = ${RECORD.cut("record", "state", "updatedAt")} .. pack('${RECORD.format("over", "over")}', untilWhen) .. ${RECORD.rest("record", "ran")}
        laneOf(lane)
      end
    end
  end
  for index = 1, #answer, 3 do
    redis.call('HSET', B .. 's', answer[index], answer[index + 2])
    redis.call('ZADD', B .. 'r', untilWhen, ${RECORD.cut("answer[index + 2]", "seq")} .. answer[index])
  end
end
`;

/**
 * After TIME: a try of a claim that arrives after its repeat takes nothing, because nobody waits for its answer. The repeat leaves a mark
 * for it: if the worker repeats, for the whole turn, with the name of the repeat; if the store repeats, for this try only, because other
 * looks of the same turn may follow.
 */
const REPEATS = `
local function markOf(name) return B .. 'y:' .. name end

local function isLate(claim)
  local asker = redis.call('GET', markOf(claim.worker .. ' ' .. claim.turn))
  return asker and asker ~= claim.asker
end

local function markRepeat(claim, try)
  if try ~= '' then redis.call('SET', markOf(try), 1, 'PX', ${REPEAT_REMEMBERED_MS})
  else redis.call('SET', markOf(claim.worker .. ' ' .. claim.turn), claim.asker, 'PX', ${REPEAT_REMEMBERED_MS}, 'NX') end
end
`;

const PARTS = [TIME, RECORDS, LANES, LEDGER, TRANSITION, REFUSAL, COMPLETE, TAKE, REPEATS, ALWAYS];

/** Settles, then claims. Does not write the counts yet. */
const BODY = `
local p = 3
local shapes = {}
for index = 1, tonumber(ARGV[2]) do
  local shape = readShape(p)
  if shape.plainEnd == 1 then describeEnd(shape) end
  shape.results, shape.errors = shape.result == 2 and 1 or 0, shape.error == 2 and 1 or 0
  shape.length = 3 + shape.held + shape.delay + shape.results + shape.errors
  shapes[string.format('%0${KIND_DIGITS}d', index)] = shape
  p = p + ${SHAPE_NAMES.length}
end

local answers, settlements = {}, tonumber(ARGV[p])
p = p + 1
if settlements > 0 then
  local ids, records, shapeOf, at = {}, {}, {}, p
  for index = 1, settlements do
    local shape = shapes[sub(ARGV[at], 1, ${KIND_DIGITS})]
    ids[index] = sub(ARGV[at], ${KIND_DIGITS + 1})
    shapeOf[index] = shape
    at = at + shape.length
  end
  for index, record in ipairs(mget('s', ids)) do records[ids[index]] = record end
  for index, id in ipairs(ids) do
    local shape, fence, record, answer = shapeOf[index], tonumber(ARGV[p + 1]), records[id], 's'
    if record then
      local state, flags, lane, present, runAt, startedAt, over, settled, wl, pl =
        ${RECORD.open("record", "state", "flags", "lane", "fence", "runAt", "startedAt", "over", "settled", "wl", "pl")}
      local mark, patient = fence * ${MARKS_PER_FENCE} + shape.outcome + 1, shape.ifExpired == 1
      if state == ${STATE.running} and present == fence then
        if not patient or over <= now then
          local place, ran, more = laneOf(lane), tonumber(ARGV[p + 2]), p + 3 + shape.held
          if shape.held == 1 then
            startedAt = math.min(startedAt + tonumber(ARGV[p + 3]), now)
            record = ${RECORD.cut("record", "state", "runAt")} .. pack('${RECORD.format("startedAt", "startedAt")}', startedAt) .. ${RECORD.rest("record", "updatedAt")}
          end
          if shape.plainEnd == 1 then
            local kind = ${RECORD.cut("record", "priority", "lane")}
            completed[kind] = (completed[kind] or 0) + 1
            ends = ends + 1
            endLeft[ends] = ${RECORD.cut("record", "seq")} .. id
            record = shape.first[flags % ${2 * RECORD_FLAG.keyGone}] .. ${RECORD.cut("record", "priority", "startedAt")} .. stamps
              .. pack('${RECORD.format("ran", "settled")}', ran, mark) .. ${RECORD.cut("record", "turn", "pl")} .. NO_ERROR
              .. sub(record, ${RECORD.bytes + 1}, ${RECORD.bytes} + wl + pl) .. (shape.results == 1 and ARGV[more] or '')
            endSets[2 * ends - 1] = id
            endSets[2 * ends] = record
            local ended = place.queue.ended
            ended[#ended + 1] = stamp .. id
            records[id] = record
            countTimes(place, ran, startedAt - runAt)
          else
            local delay = shape.delay == 1 and tonumber(ARGV[more]) or nil
            local result = shape.results == 1 and ARGV[more + shape.delay] or nil
            local error = shape.errors == 1 and ARGV[more + shape.delay + shape.results] or nil
            records[id] = transition(id, record, shape, delay, ran, result, error, mark)
          end
          answer = 'o'
        end
      elseif settled == mark and not patient then answer = 'o'
      else answer = refusal(state, flags, present, fence) end
    end
    answers[index] = answer
    p = p + shape.length
  end
end

many('ZREM', B .. 'r', endLeft)
many('HSET', B .. 's', endSets)
countCompleted()
-- Before anybody claims, what was settled is written: a job may be released and taken again by one call.
flush()

local claims = {}
local total, try = tonumber(ARGV[p]), ARGV[p + 1]
p = p + 2
local isTryLate = try ~= '' and redis.call('EXISTS', markOf(try)) == 1
for index = 1, total do
  local claim = { worker = ARGV[p], turn = tonumber(ARGV[p + 1]), asker = ARGV[p + 3], leaseMs = tonumber(ARGV[p + 4]), limit = tonumber(ARGV[p + 5]), answer = {} }
  local again, types = ARGV[p + 2] == 'a', '*'
  p = p + 7
  if ARGV[p - 1] ~= '*' then
    types = {}
    for place = 1, tonumber(ARGV[p - 1]) do types[place] = ARGV[p + place - 1] end
    p = p + #types
  end
  local queues = tonumber(ARGV[p])
  if again then
    markRepeat(claim, try)
    if claim.turn > 0 then grantAgain(claim) end
  end
  local takesMore = not again and not isTryLate and not (claim.turn > 0 and isLate(claim))
  for place = 1, queues do
    local queue = ARGV[p + place]
    local limit = claim.limit - #claim.answer / 3
    if takesMore and limit > 0 and queueOf(queue).known and not queueOf(queue).paused then
      grant(takeFrom(queue, types, limit), claim, queueOf(queue))
    end
  end
  p = p + queues + 1
  claims[index] = claim.answer
end
`;

const ANSWER = "return { now, table.concat(answers), claims, laneNames(), withoutDeadLetters(), ringList() }";

/**
 * Settles leases and grants others, in one partition.
 *
 * In: now; number of shapes, each as in SHAPE_NAMES; number of settlements, (three digits for the shape and the id, fence, run time or "",
 *     and what the shape has of time held, delay, result and error) each; number of claims, the name of this try ("": none), (worker, turn, mode, name
 *     of the repeat or "", lease, limit, number of types or "*", types …, number of queues, queues …) each. mode: "n" claims; "a" returns
 *     what the turn was granted before, claims nothing, and leaves a mark for the try, or else for the turn.
 * Out: { now, a letter per settlement (o ok, s stale, c cancelled), claims as lists of (id, body, record) …, lanes as (number, queue, type)
 *     …, names of queues without dead letters, hints }
 */
export const EXCHANGE: Script = script("exchange", ...PARTS, BODY, "writeLedger()", ANSWER);

/**
 * Inserts the follow-up jobs of applied settlements. After BODY and FACETS: p is at a comma-separated list of their numbers, followed
 * by one job for each number.
 */
const FOLLOW = `
local work = rings.work
do
  local after = {}
  for number in string.gmatch(ARGV[p], '%d+') do after[#after + 1] = tonumber(number) end
  local kindsAt = p + 1
  local jobsAt = kindsAt + 1 + 5 * tonumber(ARGV[kindsAt])
  for index = #after, 1, -1 do
    if answers[after[index]] ~= 'o' then table.remove(ARGV, jobsAt + index - 1) end
  end
  ${INSERT_JOBS}
  p = kindsAt
  readKinds()
  decideAll()
  local last = tonumber(redis.call('HGET', B .. 'v', 'seq') or 0)
  storeAll(math.max(micros, last + 1), last, nil)
  for queue in pairs(rings.work) do work[queue] = true end
  -- Inserting has written all figures of this call, unless there was nothing to insert.
  if created == 0 then writeLedger() end
end
`;

/**
 * The same with follow-up jobs. A separate script, because few settlements have any, and every call pays for every function of its script.
 *
 * In: as above; then the numbers of the settlements with follow-up jobs, separated by commas, and a job for each as INSERT_JOBS reads them.
 *     The queues of these jobs are registered.
 */
export const EXCHANGE_FOLLOWED: Script = script("exchange-followed", ...PARTS, BODY, FACETS, FOLLOW, ANSWER);
