import { WAITING } from "../../../core/job.ts";
import { HOUR_MS, MINUTE_MS } from "../../../core/time-units.ts";
import { COUNTER, COUNTERS_PER_TYPE, LEVELS, STATE, tallyCells, THRESHOLDS } from "../../numbers.ts";
import { digits } from "../codec.ts";
import { BUCKET, HEAD, KIND_DIGITS, MEMBER, settingsOf, TAG } from "../layout.ts";
import { appendToIndex } from "./insert.ts";
import { ADD_TO_PERIOD, headStartIn, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/**
 * Stores jobs of one partition as INSERT does, in the usual case: all are due now, have neither key nor facets, their ids are new, and their
 * queues are registered, have room, and have had jobs of these types. In any other case it does nothing, and INSERT must be called.
 *
 * It is apart because a script pays at every call for each function that it defines and each table that it makes. Counted in instructions
 * of the server, a single job costs 50 % of INSERT, and one of fifty 60 %.
 *
 * In: now; number of kinds; the bucket of all jobs, or if there are several, (bucket, number of jobs and a comma) … in the order of the jobs;
 *     (queue, type, priority) of each kind; jobs with different ids, (id, body) each. If there are several kinds, digits for the kind come before the id. Id and
 *     body are apart, because the server's Lua hashes every byte of every text that is cut out of another.
 * Out: now, or "whole" if INSERT must be called.
 */
export const INSERT_PLAIN: Script = script(
  "insertPlain",
  TIME,
  ADD_TO_PERIOD,
  `
local call, sub, pack, format = redis.call, string.sub, struct.pack, string.format
local kindsGiven = tonumber(ARGV[2])
local first = 3 + 3 * kindsGiven
local total = (#ARGV - first) / 2
local kinds = {}
for index = 1, kindsGiven do
  local at = 3 * index + 1
  local queue, priority = ARGV[at], tonumber(ARGV[at + 2])
  local found = call('HMGET', ${settingsOf("queue")}, 'known', 'headStart', 'capacity', 'lastTyped')
  local lane = tonumber(call('HGET', B .. 'l', queue .. ' ' .. ARGV[at + 1]) or nil)
  if not found[1] or not lane then return 'whole' end
  local room = tonumber(found[3])
  if room then
    for _, count in ipairs(call('HMGET', B .. 't:' .. queue, ${tallyCells(...WAITING).join(", ")})) do room = room - (tonumber(count) or 0) end
    if room < total then return 'whole' end
  end
  local lastTyped = tonumber(found[4])
  kinds[format('%0${KIND_DIGITS}d', index)] = {
    queue = queue, lane = lane, set = {}, length = 0,
    head = pack('${HEAD.format("created", "lane")}', now, 0, priority, lane),
    rank = format('%.0f', now - priority * ${headStartIn("found[2]")}),
    cell = ${STATE.pending * LEVELS.length} + (${THRESHOLDS.map(({ level, from }) => `priority >= ${from} and ${level}`).join(" or ")} or 0),
    counter = (not lastTyped or lane <= lastTyped) and -(lane * ${COUNTERS_PER_TYPE} + ${COUNTER.enqueued}) or ${COUNTER.enqueued}
  }
end

-- With a single kind, no job says which it has.
local ids, only = {}, kindsGiven == 1 and kinds['${digits(1, KIND_DIGITS)}'] or nil
for i = 1, total do
  local id = ARGV[first + 2 * i - 1]
  ids[i] = only and id or sub(id, ${KIND_DIGITS + 1})
end
local buckets, lasts, from = { B .. '${BUCKET.bodies}' .. sub(ARGV[3], 1, ${TAG.to - TAG.from}) }, { total }, 1
if #ARGV[3] > ${TAG.to - TAG.from} then
  local last, run = 0, 0
  for tag, length in string.gmatch(ARGV[3], '(${".".repeat(TAG.to - TAG.from)})(%d+),') do
    last, run = last + tonumber(length), run + 1
    buckets[run], lasts[run] = B .. '${BUCKET.bodies}' .. tag, last
  end
end
for run, bucket in ipairs(buckets) do
  for _, known in ipairs(call('HMGET', bucket, unpack(ids, from, lasts[run]))) do
    if known then return 'whole' end
  end
  from = lasts[run] + 1
end

local had = call('HMGET', B .. 'v', 'seq', 'jobs')
local base, already = math.max(micros, tonumber(had[1] or 0) + 1), tonumber(had[2] or 0)
-- The first write. It may need memory, so that a full server refuses here, with nothing done.
call('HSET', B .. 'v', 'seq', format('%.0f', base + total - 1), 'jobs', format('%.0f', already + total))
local bodies = {}
for i = 1, total do
  local id, seq = ids[i], base + i - 1
  local kind, packed = only or kinds[sub(ARGV[first + 2 * i - 1], 1, ${KIND_DIGITS})], ${MEMBER.pack({})}
  bodies[2 * i - 1], bodies[2 * i] = id, kind.head .. packed .. ARGV[first + 2 * i]
  local set, length = kind.set, kind.length
  set[length + 1], set[length + 2] = kind.rank, packed .. id
  kind.length = length + 2
end
from = 1
for run, bucket in ipairs(buckets) do
  call('HSET', bucket, unpack(bodies, from, 2 * lasts[run]))
  from = 2 * lasts[run] + 1
end
${appendToIndex("base + at - 1")}

local minute, hour = format('%.0f', now - now % ${MINUTE_MS}), format('%.0f', now - now % ${HOUR_MS})
for _, kind in pairs(kinds) do
  local queue, times = kind.queue, kind.length / 2
  call('ZADD', B .. 'w:' .. kind.lane, unpack(kind.set))
  call('SADD', B .. 'a:' .. queue, kind.lane)
  call('HINCRBY', B .. 't:' .. queue, kind.cell, times)
  addTo('m', minute, minute, queue, B .. 'm:' .. minute .. ':' .. queue, kind.counter, times)
  addTo('h', hour, hour, queue, B .. 'h:' .. hour .. ':' .. queue, kind.counter, times)
  call('HINCRBY', B .. 'c:' .. queue, kind.counter, times)
end
return now
`,
);
