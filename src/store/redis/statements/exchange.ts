import { MARKS_PER_FENCE, STATE } from "../../numbers.ts";
import { SHAPE_NAMES } from "../shape.ts";
import { BUCKET, bucketOf, KIND_DIGITS, LIMITED_BYTE, MEMBER, RECORD } from "../layout.ts";
import { COMPLETE, STARTED_AFTER } from "./complete.ts";
import { FACETS } from "./facets.ts";
import { GRANT } from "./grant.ts";
import { INSERT_JOBS } from "./insert.ts";
import { LIMITS, ROOM, tellFreed } from "./limits.ts";
import { LANES, LEDGER, RECORDS, REFUSAL, TIME } from "./parts.ts";
import { TAKE } from "./take.ts";
import { TRANSITION } from "./transition.ts";
import { MARK_OF_TRY, REPEATS } from "./repeats.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/** After GRANT: what this turn of this worker was granted and still runs, with its lease renewed. */
const GRANT_AGAIN = `
local function grantAgain(claim)
  local jobs, records, untilWhen = claim.jobs, claim.records, now + claim.leaseMs
  for from = 0, redis.call('ZCARD', B .. 'r') - 1, 500 do
    local members, ids = redis.call('ZRANGE', B .. 'r', from, from + 499), {}
    for index, member in ipairs(members) do ids[index] = ${MEMBER.rest("member")} end
    for index, record in ipairs(getJobs('${BUCKET.records}', ids)) do
      local lane, turn, wl = ${RECORD.open("record", "lane", "turn", "wl")}
      if turn == claim.turn and sub(record, ${RECORD.bytes + 1}, ${RECORD.bytes} + wl) == claim.worker and #jobs < claim.limit * 2 then
        jobs[#jobs + 1] = ids[index]
        jobs[#jobs + 1] = redis.call('HGET', ${bucketOf("bodies", "ids[index]")}, ids[index])
        records[#records + 1] = #jobs / 2 - 1
        records[#records + 1] = ${RECORD.cut("record", "state", "updatedAt")} .. pack('${RECORD.format("over", "over")}', untilWhen) .. ${RECORD.rest("record", "ran")}
        laneOf(lane)
      end
    end
  end
  for index = 1, #jobs, 2 do
    redis.call('HSET', ${bucketOf("records", "jobs[index]")}, jobs[index], records[index + 1])
    redis.call('ZADD', B .. 'r', untilWhen, ${RECORD.cut("records[index + 1]", "seq")} .. jobs[index])
  end
end
`;

export const PARTS: readonly string[] = [
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  ROOM,
  TRANSITION,
  REFUSAL,
  COMPLETE,
  GRANT,
  TAKE,
  GRANT_AGAIN,
  MARK_OF_TRY,
  REPEATS,
  ALWAYS,
];

/** What settlements with steps add to BODY, in Lua: before a transition, and once a settlement is applied. */
interface Additions {
  readonly before: string;
  readonly applied: string;
}

/** From argument `p` on: settles, then claims. Does not write the counts yet. */
export const bodyWith = ({ before, applied }: Additions): string => `
-- The record of a job that was held for a time before its handler was called.
local function startedLater(record, held)
  if held == 0 then return record end
  local startedAt = ${RECORD.open("record", "startedAt")}
  return ${RECORD.cut("record", "state", "runAt")} .. pack('${RECORD.format("startedAt", "startedAt")}', ${STARTED_AFTER}) .. ${RECORD.rest("record", "updatedAt")}
end

local shapes, given = {}, tonumber(ARGV[p])
p = p + 1
for index = 1, given do
  local shape = readShape(p)
  shape.results, shape.errors = shape.result == 2 and 1 or 0, shape.error == 2 and 1 or 0
  shape.length = 3 + shape.held + shape.uses + shape.delay + shape.results + shape.errors
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
  local found = getJobs('${BUCKET.records}', ids)
  for index, record in ipairs(found) do
    records[ids[index]] = record
    if record and byte(record, ${RECORD.at.lane + 1}) >= ${LIMITED_BYTE} and not limitsInUse then limits().loadRunning(found, ids, 0) end
  end
  for index, id in ipairs(ids) do
    local shape, fence, record, answer = shapeOf[index], tonumber(ARGV[p + 1]), records[id], 's'
    if record then
      local state, flags, present, over, settled = ${RECORD.open("record", "state", "flags", "fence", "over", "settled")}
      local mark, patient = fence * ${MARKS_PER_FENCE} + shape.outcome + 1, shape.ifExpired == 1
      if state == ${STATE.running} and present == fence then
        if not patient or over <= now then
          local ran, held, more = tonumber(ARGV[p + 2]), shape.held == 1 and tonumber(ARGV[p + 3]) or 0, p + 3 + shape.held
          if shape.uses == 1 then
            local unstarted, hold, spend = string.match(ARGV[more], '^(%d) (%S*) (%S+)$')
            limits().use(laneOf(${RECORD.open("record", "lane")}), id, unstarted == '1', tonumber(hold), tonumber(spend))
            more = more + 1
          end
          if shape.plainEnd == 1 then
            local result = shape.results == 1 and ARGV[more] or nil
            records[id] = complete(id, record, flags, ran, held, pack('${RECORD.format("settled", "settled")}', mark), result)
            local lane = laneOf((${RECORD.open("record", "lane")}))
            if lane.isLimited and limits().ended(lane, id) then rings.work[lane.queue.name] = true end
          else
            local delay = shape.delay == 1 and tonumber(ARGV[more]) or nil
            local result = shape.results == 1 and ARGV[more + shape.delay] or nil
            local error = shape.errors == 1 and ARGV[more + shape.delay + shape.results] or nil
            ${before}
            records[id] = transition(id, startedLater(record, held), shape, delay, ran, result, error, mark)
          end
          answer = 'o'
          ${applied}
        end
      elseif settled == mark and not patient then answer = 'o'
      else answer = refusal(state, flags, present, fence) end
    end
    answers[index] = answer
    p = p + shape.length
  end
end

leaveLeases()
setJobs('${BUCKET.records}', endSets)
countEnds()
-- Before anybody claims, what was settled is written: a job may be released and taken again by one call.
flush()

local claims = {}
local total, try = tonumber(ARGV[p]), ARGV[p + 1]
p = p + 2
local isTryLate = try ~= '' and redis.call('EXISTS', markOf(try)) == 1
for index = 1, total do
  local claim = { worker = ARGV[p], turn = tonumber(ARGV[p + 1]), asker = ARGV[p + 3], leaseMs = tonumber(ARGV[p + 4]), limit = tonumber(ARGV[p + 5]), jobs = {}, records = {}, sets = {} }
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
    local limit = claim.limit - #claim.jobs / 2
    if takesMore and limit > 0 and queueOf(queue).known and not queueOf(queue).paused then
      local members, again
      if queueOf(queue).keyed or queueOf(queue).limits then members, again = takeLimited(queueOf(queue), types, limit)
      else members = takeFrom(queue, lanesOf(queue, types), limit) end
      if again and (not claim.again or again < claim.again) then claim.again = again end
      grant(members, claim, queueOf(queue))
      setJobs('${BUCKET.records}', claim.sets, claim.buckets)
      claim.sets = {}
    end
  end
  p = p + queues + 1
  claims[index] = { claim.jobs, claim.records, claim.again or -1 }
end
${tellFreed("rings.work[name] = true")}
`;

const BODY = `
local p = 2
${bodyWith({ before: "", applied: "" })}
`;

const ANSWER = "return { now, table.concat(answers), claims, laneNames(), withoutDeadLetters(), ringList() }";

/**
 * Settles leases and grants others, in one partition.
 *
 * In: now; number of shapes, each as in SHAPE_NAMES; number of settlements, (three digits for the shape and the id, fence, run time or "",
 *     and what the shape has of time held, use of limits, delay, result and error) each; number of claims, the name of this try ("": none), (worker, turn, mode, name
 *     of the repeat or "", lease, limit, number of types or "*", types …, number of queues, queues …) each. mode: "n" claims; "a" returns
 *     what the turn was granted before, claims nothing, and leaves a mark for the try, or else for the turn.
 * Out: { now, a letter per settlement (o ok, s stale, c cancelled), claims as { jobs, records } of GRANT and when to ask again (-1: at no certain time), lanes as (number, queue, type) …,
 *     names of queues without dead letters, hints }
 */
export const EXCHANGE: Script = script("exchange", ...PARTS, BODY, "writeLedger()", ANSWER);

/**
 * Inserts the follow-up jobs of settlements for which `follows`, a condition on `number`, holds. After BODY and FACETS: p is at a
 * comma-separated list of their numbers, followed by one job for each number. `decided` is added once it is known which jobs are new.
 */
export const follow = (follows: string, decided: string): string => `
local work = rings.work
do
  local after = {}
  for number in string.gmatch(ARGV[p], '%d+') do after[#after + 1] = tonumber(number) end
  local kindsAt = p + 1
  local jobsAt = kindsAt + 1 + 5 * tonumber(ARGV[kindsAt])
  for index = #after, 1, -1 do
    local number = after[index]
    if not (${follows}) then table.remove(ARGV, jobsAt + index - 1) end
  end
  ${INSERT_JOBS}
  p = kindsAt
  readKinds()
  decideAll()
  ${decided}
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
export const EXCHANGE_FOLLOWED: Script = script("exchange-followed", ...PARTS, BODY, FACETS, follow("answers[number] == 'o'", ""), ANSWER);
