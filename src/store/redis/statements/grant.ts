import { BUCKET, HEAD, HEAD_FLAG, isSet, MEMBER, RECORD, RECORD_FLAG } from "../layout.ts";
import { STATE, tallyCell } from "../../numbers.ts";

/** From this many jobs on, a claim makes sure that the leases are not kept in a form that the server searches from the start. */
const MANY_LEASES = 16;
/** A member that is longer makes the server keep a sorted set as a skip list, also after the member is gone. */
const LONGEST_IN_SHORT_SET = 64;

/**
 * After LEDGER: jobs leave their lanes in rank order and become running.
 *
 * The server's Lua hashes every byte of every text that it makes, so this makes few and short ones. It answers without the record of a job
 * that nobody has touched before: the claim tells what is in it (see readGranted in codec.ts).
 */
export const GRANT = `
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
  local taken = redis.call('ZRANGE', B .. 'w:' .. lane, '0', format('%d', limit - 1))
  if #taken > 0 then redis.call('ZREMRANGEBYRANK', B .. 'w:' .. lane, '0', format('%d', #taken - 1)) end
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

local function takeFrom(queue, lanes, limit)
  if #lanes == 0 then return lanes end
  if #lanes == 1 then return single(queue, lanes[1], limit) end
  return merge(queue, lanes, limit)
end

-- The record of a job that is granted, if somebody had it before.
local function granted(record, claim)
  local ${RECORD.names}, at = open(F, record)
  local kept = (${isSet("flags", RECORD_FLAG.keyGone)} and ${RECORD_FLAG.keyGone} or 0) + (${isSet("flags", RECORD_FLAG.hasResult)} and ${RECORD_FLAG.hasResult} or 0)
  if ${isSet("flags", RECORD_FLAG.resumed)} then kept = kept + ${RECORD_FLAG.free} end
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

-- Gives the jobs to the claim: its jobs get (id, body) of each; its records get (place among the jobs from 0, record) of those that somebody
-- had before. The caller has to write the claim's sets, (id, record) …, to the claim's buckets; what is in them before is written
-- here, if it goes to another bucket.
local function grant(members, claim, queue)
  if #members == 0 then return end
  local jobs, touched, untilWhen = claim.jobs, claim.records, now + claim.leaseMs
  local ids, leases, size, length, counted = {}, {}, #jobs, 0, {}
  for index = 1, #members do ids[index] = ${MEMBER.rest("members[index]")} end
  local bodies, buckets = getJobs('${BUCKET.bodies}', ids)
  local records = getJobs('${BUCKET.records}', ids, buckets)
  if claim.buckets ~= buckets and not (type(claim.buckets) == 'table' and type(buckets) == 'table') then
    setJobs('${BUCKET.records}', claim.sets, claim.buckets)
    claim.sets, claim.buckets = {}, buckets
  end
  local sets = claim.sets
  local written = #sets
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
  for index = 1, #ids do
    local id, body, record = ids[index], bodies[index], records[index]
    if body then
      local flags, priority, high, mid, low = string.byte(body, ${HEAD.at.flags + 1}, ${HEAD.at.seq})
      if record or ${isSet("flags", HEAD_FLAG.scheduled)} then
        record = granted(record or fresh(body), claim)
        touched[#touched + 1] = size / 2
        touched[#touched + 1] = record
      else record = begin .. ${HEAD.cut("body", "priority", "seq")} .. middle .. ${HEAD.cut("body", "created")} .. tail end
      local kind = ((priority * 256 + high) * 256 + mid) * 256 + low
      counted[kind] = (counted[kind] or 0) + 1
      sets[written + length + 1], sets[written + length + 2] = id, record
      leases[length + 1], leases[length + 2] = leaseEnd, members[index]
      length = length + 2
      jobs[size + 1], jobs[size + 2] = id, body
      size = size + 2
    end
  end
  for kind, times in pairs(counted) do
    local priority, lane = splitKind(kind)
    laneOf(lane)
    add(queue.tally, ${tallyCell(STATE.pending, 0)} + level(priority), -times)
    add(queue.tally, ${tallyCell(STATE.running, 0)} + level(priority), times)
  end
  if length >= ${2 * MANY_LEASES} then
    -- With a lease, because the set would be gone with its last member.
    local long = string.rep('~', ${LONGEST_IN_SHORT_SET + 1})
    redis.call('ZADD', B .. 'r', leaseEnd, long, leaseEnd, leases[2])
    redis.call('ZREM', B .. 'r', long)
  end
  many('ZADD', B .. 'r', leases)
end
`;
