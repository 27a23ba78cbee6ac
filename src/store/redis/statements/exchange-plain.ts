import { MARKS_PER_FENCE, STATE } from "../../numbers.ts";
import { BUCKET, LIMITED_BYTE, RECORD } from "../layout.ts";
import { COMPLETE } from "./complete.ts";
import { GRANT } from "./grant.ts";
import { LIMITS_FUNCTION, ROOM, tellFreed } from "./limits.ts";
import { LANES, LEDGER, RECORDS, REFUSAL, TIME } from "./parts.ts";
import { TAKE_FUNCTION } from "./take.ts";
import { MARK_OF_TRY } from "./repeats.ts";
import { type Script, script } from "./script.ts";

/**
 * Settles and claims in one partition as EXCHANGE does, in the usual case: all settlements are plain ends of different jobs, and at most one
 * claim looks into one queue for the first time. A repeat must go to EXCHANGE.
 *
 * It is apart because a script pays at every call for each function that it defines, each table that it makes and each argument that it
 * reads. Counted in instructions of the server, a single job costs 70 % of EXCHANGE, and one of fifty 72 %.
 *
 * In: now; number of settlements; mark (settledMark, which has the fence), run time, time held and result ("": none), each as "=" and the
 *     value of all, or "" if each settlement has its own; ids …; then those of each, in this order. Then, if it claims: worker, turn, the name of this try, lease, limit,
 *     queue, "*" or types ….
 * Out: jobs and records of GRANT; lanes as (number, queue, type) …; names of queues without dead letters; names of queues that
 *     may start jobs again; the lengths of records, lanes and both names; a letter per settlement (o ok, s stale, c cancelled); when to ask again (-1: at no certain time); now
 */
export const EXCHANGE_PLAIN: Script = script(
  "exchangePlain",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  ROOM,
  REFUSAL,
  COMPLETE,
  GRANT,
  MARK_OF_TRY,
  `
local total = tonumber(ARGV[2])
local p = 6 + total
local function column(text)
  if text ~= '' then return sub(text, 2) end
  local first = p
  p = p + total
  return nil, first
end
local settled, settleds = column(ARGV[3])
local ran, rans = column(ARGV[4])
local held, helds = column(ARGV[5])
local result, results = column(ARGV[6])
settled, ran, held = tonumber(settled), tonumber(ran), tonumber(held)
if result == '' then result = nil end

local answers, fence, mark, marked, work, again = {}, nil, nil, nil, {}, nil
local found, buckets = getJobs('${BUCKET.records}', { unpack(ARGV, 7, 6 + total) })

local queue = ARGV[p + 1] and queueOf(ARGV[p + 6])
local isLimited = queue and (queue.keyed or queue.limits)
for i = 1, isLimited and 0 or total do
  if found[i] and byte(found[i], ${RECORD.at.lane + 1}) >= ${LIMITED_BYTE} then
    isLimited = true
    break
  end
end
-- Only then these functions are made.
local limits, takeLimited, limited
if isLimited then
  limited = {}
  ${LIMITS_FUNCTION}
  ${TAKE_FUNCTION}
end

for i = 1, total do
  local record, answer = found[i], 's'
  if record then
    if settleds then settled = tonumber(ARGV[settleds + i]) end
    if marked ~= settled then
      marked = settled
      fence = math.floor((settled - 1) / ${MARKS_PER_FENCE})
      mark = pack('${RECORD.format("settled", "settled")}', settled)
    end
    local state, flags, _, lane = byte(record, 1, ${RECORD.at.lane + 1})
    local f1, f2, f3, f4 = byte(record, ${RECORD.at.fence + 1}, ${RECORD.at.attempt})
    local present = ((f1 * 256 + f2) * 256 + f3) * 256 + f4
    if state == ${STATE.running} and present == fence then
      if rans then ran = tonumber(ARGV[rans + i]) end
      if helds then held = tonumber(ARGV[helds + i]) end
      if results then
        result = ARGV[results + i]
        if result == '' then result = nil end
      end
      complete(ARGV[6 + i], record, flags, ran, held, mark, result)
      if lane >= ${LIMITED_BYTE} then
        local place = laneOf((${RECORD.open("record", "lane")})).queue
        local ids = limited[place] or {}
        limited[place] = ids
        ids[#ids + 1] = ARGV[6 + i]
      end
      answer = 'o'
    elseif ${RECORD.cut("record", "settled")} == mark then answer = 'o'
    else answer = refusal(state, flags, present, fence) end
  end
  answers[i] = answer
end
if ends > 0 then
  leaveLeases()
  countEnds()
  for name, queue in pairs(queues) do many('RPUSH', B .. 'e:' .. name, queue.ended) end
  for queue, ids in pairs(limited or {}) do
    if limits().endedAll(queue, ids) then work[queue.name] = true end
  end
end

local claim = { worker = ARGV[p + 1], turn = tonumber(ARGV[p + 2] or 0), leaseMs = tonumber(ARGV[p + 4] or 0), jobs = {}, records = {}, sets = endSets, buckets = buckets }
if claim.worker and redis.call('EXISTS', markOf(ARGV[p + 3]), markOf(claim.worker .. ' ' .. ARGV[p + 2])) == 0 then
  local types, limit = '*', tonumber(ARGV[p + 5])
  if ARGV[p + 7] ~= '*' then
    -- One by one: there may be more than Lua can unpack.
    types = {}
    for place = p + 7, #ARGV do types[place - p - 6] = ARGV[place] end
  end
  if queue.known and not queue.paused then
    local members
    if queue.keyed or queue.limits then members, again = takeLimited(queue, types, limit)
    else members = takeFrom(queue.name, lanesOf(queue.name, types), limit) end
    grant(members, claim, queue)
  end
end
setJobs('${BUCKET.records}', claim.sets, claim.buckets)
${tellFreed("work[name] = true")}
writeLedger()

-- One list, because a list in a list costs as much as three of its entries.
local reply, size = claim.jobs, #claim.jobs
local function append(list)
  for index = 1, #list do reply[size + index] = list[index] end
  size = size + #list
  return #list
end
local records, lanes, failing = append(claim.records), append(laneNames()), append(withoutDeadLetters())
local freed = {}
for name in pairs(work) do freed[#freed + 1] = name end
append(freed)
append({ records, lanes, failing, #freed, table.concat(answers), again or -1, now })
return reply
`,
);
