/** Flows: see "Jobs run after each other" in store.ts. Their keys and fields are in keys.ts and layout.ts, the codec is in ../flows.ts. */
import { MAX_STEPS_READ_BYTES } from "../../../core/steps.ts";
import { FLOW_BUCKETS, FLOW_FIELD, flowKey, MOST_BESIDE_HEAD } from "../layout.ts";
import { FACETS } from "./facets.ts";
import { idIn, INSERT_JOBS, insertThen } from "./insert.ts";
import { LIMITS } from "./limits.ts";
import { LEAVE_NOTICE } from "./notices.ts";
import { LANES, LEDGER, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** How many arguments one command gets: even for names and texts of members, and far below what Lua can unpack. */
const MOST_ARGUMENTS = 2_000;

/**
 * After TIME. Members come by bucket, and under the names of their fields: (bucket, number of arguments, arguments …) each, after the number of buckets.
 * So a script makes no text for a member.
 */
const MEMBERS = `
local function bucketKey(key, bucket) return key .. ':' .. bucket end

-- The place behind them.
local function eachBucket(at, visit)
  local left = tonumber(ARGV[at])
  at = at + 1
  while left > 0 do
    local last = at + 1 + tonumber(ARGV[at + 1])
    visit(ARGV[at], at + 2, last)
    at, left = last + 1, left - 1
  end
  return at
end

-- How many fields were not there.
local function setFields(key, first, last)
  local new = 0
  for from = first, last, ${MOST_ARGUMENTS} do
    new = new + redis.call('HSET', key, unpack(ARGV, from, math.min(from + ${MOST_ARGUMENTS - 1}, last)))
  end
  return new
end

-- How many members stand beside the head.
local function countBeside(key, hasBuckets)
  return (redis.call('HLEN', key) - (hasBuckets and 3 or 2)) / 2
end

-- Adds so many members, from an argument on. The place behind them.
local function addMembers(key, count, at, hasBuckets)
  if count > 0 and not hasBuckets and countBeside(key, false) + count > ${MOST_BESIDE_HEAD} then
    hasBuckets = true
    redis.call('HSET', key, '${FLOW_FIELD.buckets}', ${FLOW_BUCKETS})
  end
  return eachBucket(at, function(bucket, first, last) setFields(hasBuckets and bucketKey(key, bucket) or key, first, last) end)
end
`;

/**
 * Stores a flow and its job as INSERT stores a job.
 * In: now; base, "1" if registered, and indexes as with INSERT; at which argument the job begins; head; number of members; members;
 *     notices …; the job as INSERT_JOBS reads it. Out: as with INSERT. Only if the job is new, the rest is stored.
 */
export const INSERT_FLOW: Script = script(
  "insertFlow",
  TIME,
  RECORDS,
  LANES,
  LEDGER,
  LIMITS,
  FACETS,
  INSERT_JOBS,
  LEAVE_NOTICE,
  MEMBERS,
  `p = tonumber(ARGV[5])`,
  insertThen(`
if created == 1 then
  local key = ${flowKey(idIn("ARGV[first]"))}
  redis.call('HSET', key, '${FLOW_FIELD.version}', 1, '${FLOW_FIELD.head}', ARGV[6])
  for at = addMembers(key, tonumber(ARGV[7]), 8, false), p - 1 do leaveNotice(ARGV[at]) end
end`),
);

/**
 * Reads members. What is asked for comes as members do, with the fields of their plans and states; the bucket 0 stands for the key of the head.
 * In: now; id; "1" to read no more text than one read returns, and at least one member; fields. Out: nil if there is no such flow; else
 *     { now, version, head, (plan, state) … in the order of the fields, each nil if there is no such member }.
 */
export const READ_FLOW: Script = script(
  "readFlow",
  TIME,
  MEMBERS,
  `
local key, isBounded = ${flowKey("ARGV[2]")}, ARGV[3] == '1'
local version, head, hasBuckets = unpack(redis.call('HMGET', key, '${FLOW_FIELD.version}', '${FLOW_FIELD.head}', '${FLOW_FIELD.buckets}'))
if not version then return nil end
local isMixed = hasBuckets and countBeside(key, true) > 0
local list, bytes, isFull = {}, 0, false

local function readSome(one, other, from, till)
  local found = redis.call('HMGET', one, unpack(ARGV, from, till))
  local others = other and redis.call('HMGET', other, unpack(ARGV, from, till)) or found
  for index = 1, #found, 2 do
    local plan, state = found[index] or others[index], found[index + 1] or others[index + 1]
    bytes = bytes + #(plan or '') + #(state or '')
    isFull = isFull or (isBounded and #list > 0 and bytes > ${MAX_STEPS_READ_BYTES})
    if isFull then return end
    list[#list + 1] = plan
    list[#list + 1] = state
  end
end

-- With a bound, few at once: their texts are read before it is known how long they are.
local step = isBounded and 20 or ${MOST_ARGUMENTS}
eachBucket(4, function(bucket, first, last)
  local one, other = key, nil
  if hasBuckets and bucket ~= '0' then
    one = bucketKey(key, bucket)
    if isMixed then other = key end
  end
  for from = first, last, step do
    if not isFull then readSome(one, other, from, math.min(from + step - 1, last)) end
  end
end)
return { now, version, head, list }
`,
);

/**
 * Reads names of members, until there are enough: those beside the head, then bucket by bucket. In each they have no order: it would take longer to
 * sort them here, where everybody waits.
 * In: now; id; bucket to begin with, 0 for the key of the head; "" or a field that is in that bucket or beside the head: begin where it is; how many.
 * Out: nil if there is no such flow; else { next bucket, or -1 at the end; (bucket, the fields of its states) … }.
 */
export const FLOW_NAMES: Script = script(
  "flowNames",
  TIME,
  MEMBERS,
  `
local key, bucket, left = ${flowKey("ARGV[2]")}, tonumber(ARGV[3]), tonumber(ARGV[5])
local version, hasBuckets = unpack(redis.call('HMGET', key, '${FLOW_FIELD.version}', '${FLOW_FIELD.buckets}'))
if not version then return nil end
if ARGV[4] ~= '' and redis.call('HEXISTS', key, ARGV[4]) == 1 then bucket = 0 end
local last, lists = hasBuckets and ${FLOW_BUCKETS} or 0, {}
while bucket <= last and left > 0 do
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', bucket == 0 and key or bucketKey(key, bucket))) do
    if string.byte(field) == ${FLOW_FIELD.state.charCodeAt(0)} then fields[#fields + 1] = field end
  end
  lists[#lists + 1] = bucket
  lists[#lists + 1] = fields
  bucket, left = bucket + 1, left - #fields
end
return { bucket <= last and bucket or -1, lists }
`,
);

/**
 * Changes a flow of this version. It begins with a write that may need memory, so that a full server refuses it with nothing done.
 * In: now; id; version; head; the states as members come; number of new members; these; notices …. Out: o ok, s stale, m missing.
 */
export const CHANGE_FLOW: Script = script(
  "changeFlow",
  TIME,
  RECORDS,
  LEAVE_NOTICE,
  MEMBERS,
  `
local key = ${flowKey("ARGV[2]")}
local version, hasBuckets = unpack(redis.call('HMGET', key, '${FLOW_FIELD.version}', '${FLOW_FIELD.buckets}'))
if not version then return 'm' end
if version ~= ARGV[3] then return 's' end
redis.call('HSET', key, '${FLOW_FIELD.head}', ARGV[4])
redis.call('HINCRBY', key, '${FLOW_FIELD.version}', 1)

-- A state without a plan is dropped again. That takes less time than to ask before whether each member is there: it nearly always is.
local function setStates(where, first, last)
  if setFields(where, first, last) == 0 then return end
  for at = first, last, 2 do
    if redis.call('HEXISTS', where, '${FLOW_FIELD.plan}' .. sub(ARGV[at], 2)) == 0 then redis.call('HDEL', where, ARGV[at]) end
  end
end

local isMixed = hasBuckets and countBeside(key, true) > 0
local at = eachBucket(5, function(bucket, first, last)
  if not isMixed then return setStates(hasBuckets and bucketKey(key, bucket) or key, first, last) end
  for place = first, last, 2 do
    setStates(redis.call('HEXISTS', key, ARGV[place]) == 1 and key or bucketKey(key, bucket), place, place + 1)
  end
end)
for notice = addMembers(key, tonumber(ARGV[at]), at + 1, hasBuckets), #ARGV do leaveNotice(ARGV[notice]) end
return 'o'
`,
);
