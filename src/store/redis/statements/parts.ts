/** Parts that scripts share. Each says what it needs to stand before it. */

/** now, micros (real time, also when a test turns `now`), and B, the beginning of all names. */
export const TIME = `
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local now = tonumber(ARGV[1]) or math.floor(micros / 1000)
local B = string.sub(KEYS[1], 1, -2)
`;

/**
 * The two packed forms, and bulk calls.
 *
 * F, a state record: state, flags (1 its key is another's, 2 a cancel ended its lease, 4 it has a result), priority, lane, sequence, fence,
 * attempt, retries (and LOSS for each attempt that was lost: a byte of each), snoozes, runAt, startedAt, updatedAt, the end (of its lease while it runs, of the job when it is over, else 0), run time
 * (-1: none), the last settlement (fence × 8 + outcome + 1), turn of the claim, highest attempt in the history, number of log lines, lengths
 * of worker, progress and error; then these three, and the result.
 *
 * H, the head of a body: createdAt, flags (1 scheduled: runAt follows; 2 keyed: ttl, length and text of the key follow), priority, lane,
 * sequence; then what the client packed, in which scripts know only the first line end: what follows is the payload.
 *
 * Members of sorted sets are the sequence in seven bytes and the id, so that equal scores go by sequence.
 *
 * What every job goes through is cut and joined from these bytes by their places, because to unpack and pack twenty fields takes as long as
 * all commands for the job together.
 */
export const RECORDS = `
local F = '>BBbI3I7I4I4I2I2I6I6I6I6dI5I4I4I2I2I4I4'
local H = '>I6BbI3I7'
local LOSS = 256
local pack, open, sub = struct.pack, struct.unpack, string.sub

local function many(command, key, args)
  for from = 1, #args, 500 do
    redis.call(command, key, unpack(args, from, math.min(from + 499, #args)))
  end
end

local function mget(key, ids)
  if #ids <= 500 then
    if #ids == 0 then return {} end
    return redis.call('HMGET', B .. key, unpack(ids))
  end
  local all = {}
  for from = 1, #ids, 500 do
    for _, value in ipairs(redis.call('HMGET', B .. key, unpack(ids, from, math.min(from + 499, #ids)))) do all[#all + 1] = value end
  end
  return all
end

-- The record of a job that nobody has touched yet.
local function fresh(body)
  local created, flags, priority, lane, seq, at = open(H, body)
  local state, run = 2, created
  if flags % 2 == 1 then
    state = 0
    run = open('>I6', body, at)
  end
  return pack(F, state, 0, priority, lane, seq, 0, 0, 0, 0, run, 0, created, 0, -1, 0, 0, 0, 0, 0, 0, 0)
end

-- The key of a body and its ttl, or nil, and where the client's own text begins.
local function keyIn(body)
  local _, flags, _, _, _, at = open(H, body)
  if flags % 2 == 1 then at = at + 6 end
  if flags < 2 then return nil, 0, at end
  local ttl, length, from = open('>I6B', body, at)
  return sub(body, from, from + length - 1), ttl, from + length
end

local function laneIn(body)
  return (open('>I3', body, 9))
end

local function level(priority)
  if priority >= 20 then return 3 elseif priority >= 10 then return 2 elseif priority >= 0 then return 1 end
  return 0
end
`;

/**
 * After RECORDS: queues and lanes that a call has to do with, each read once. What a call changes of a queue's figures is added up there. A
 * lane's number means nothing outside of its partition, and may change when the server lost data: replies always tell the names.
 */
export const LANES = `
local queues, lanes = {}, {}

local function queueOf(name)
  local queue = queues[name]
  if queue then return queue end
  local found = redis.call('HMGET', B .. 'q:' .. name, 'known', 'paused', 'headStart', 'deadLetters', 'capacity')
  queue = {
    name = name, known = found[1], paused = found[2] == '1', headStart = tonumber(found[3]) or 8796093022208,
    deadLetters = found[4] ~= '0', capacity = tonumber(found[5]), tally = {}, counts = {}, ended = {}
  }
  queues[name] = queue
  return queue
end

local function laneOf(number)
  local lane = lanes[number]
  if lane then return lane end
  local text = redis.call('HGET', B .. 'n', number)
  local space = string.find(text, ' ', 1, true)
  lane = { queue = queueOf(sub(text, 1, space - 1)), type = sub(text, space + 1), entered = {} }
  lanes[number] = lane
  return lane
end

-- (number, queue, type) of all that were asked for.
local function laneNames()
  local list = {}
  for number, lane in pairs(lanes) do
    list[#list + 1] = number
    list[#list + 1] = lane.queue.name
    list[#list + 1] = lane.type
  end
  return list
end

local function withoutDeadLetters()
  local list = {}
  for name, queue in pairs(queues) do
    if not queue.deadLetters then list[#list + 1] = name end
  end
  return list
end
`;

/**
 * After LANES: tallies (state × 4 + level) and counters (0 enqueued, 1 completed, 2 failed, 3 dead, 4 retried, 5 cancelled, 6 lost; RUN and
 * WAIT + bucket for the histograms, of which only the minutes are kept).
 */
export const LEDGER = `
local RUN, WAIT = 1000, 2000

local function add(row, cell, times)
  row[cell] = (row[cell] or 0) + times
end

local function move(queue, priority, from, to)
  local level = level(priority)
  if from then add(queue.tally, from * 4 + level, -1) end
  if to then add(queue.tally, to * 4 + level, 1) end
end

local buckets = {}
local function bucket(ms)
  if not (ms > 1) then return 0 end
  local known = buckets[ms]
  if known then return known end
  known = math.ceil(math.log(ms) / math.log(2) * 4)
  while known > 0 and 2 ^ ((known - 1) / 4) >= ms do known = known - 1 end
  while 2 ^ (known / 4) < ms do known = known + 1 end
  if known > 107 then known = 107 end
  buckets[ms] = known
  return known
end

-- A field that has just the added number was not there: the period may be new, and has to be found again by its start.
local function addTo(period, start, queue, metric, times)
  local text = string.format('%.0f', start)
  local sum = redis.call('HINCRBY', B .. period .. ':' .. text .. ':' .. queue, metric, times)
  if sum == times then redis.call('ZADD', B .. 'p' .. period, start, text .. ' ' .. queue) end
end

local function writeLedger()
  local minute, hour = now - now % 60000, now - now % 3600000
  for name, queue in pairs(queues) do
    for cell, change in pairs(queue.tally) do
      if change ~= 0 then redis.call('HINCRBY', B .. 't:' .. name, cell, change) end
    end
    for metric, times in pairs(queue.counts) do
      addTo('m', minute, name, metric, times)
      if metric < RUN then
        addTo('h', hour, name, metric, times)
        redis.call('HINCRBY', B .. 'c:' .. name, metric, times)
      end
    end
  end
end
`;

/** How many numbers a shape has. */
export const SHAPE_FIELDS = 13;

/**
 * After LEDGER: one transition of one job, as the core decided it. Writes are gathered and made by flush(), figures by writeLedger().
 * A shape is the part of a transition that many share: { to, bump, give back, retries (1 add, 2 reset), snooze, result (1 null, 2 given),
 * error (1 null, 2 given), error only if running, ends the attempt, outcome, only if expired, 1 if a delay is given, losses (1 add, 2 reset) }.
 */
export const TRANSITION = `
local left, sets, due, dead, stories = {}, {}, {}, {}, {}
local rings = { work = {}, due = false, lease = false }
local COUNTER = { [1] = 4, [4] = 1, [5] = 5, [6] = 2, [7] = 3 }

local function attemptOf(number, worker, startedAt, endedAt, ran, outcome, error)
  return pack('>I4I6I6dBI2', number, startedAt, endedAt, ran, outcome, #worker) .. worker .. error
end

local function enter(id, member, state, priority, lane, runAt)
  if state == 4 or state == 5 then
    local list = lane.queue.ended
    list[#list + 1] = pack('>I6', now) .. id
  elseif state == 2 then
    local list = lane.entered
    list[#list + 1] = runAt - priority * lane.queue.headStart
    list[#list + 1] = member
    rings.work[lane.queue.name] = true
  elseif state < 2 then
    due[#due + 1] = runAt
    due[#due + 1] = member
    if not rings.due or runAt < rings.due then rings.due = runAt end
  elseif state > 5 then
    dead[#dead + 1] = now
    dead[#dead + 1] = member
  end
end

local function leave(member, state, number)
  if state == 3 then left[#left + 1] = member
  elseif state == 2 then redis.call('ZREM', B .. 'w:' .. number, member)
  elseif state < 2 then redis.call('ZREM', B .. 'd', member)
  elseif state > 5 then redis.call('ZREM', B .. 'x', member) end
end

-- The record after it, and how long the attempt ran.
local function transition(id, record, shape, delay, runMs, result, error, mark, keyGone)
  local state, flags, priority, number, seq, fence, attempt, retries, snoozes, runAt, startedAt, _, over, ran, settled, turn, history, logs,
    wl, pl, el, at = open(F, record)
  local running, to, lane, member = state == 3, shape[1], laneOf(number), pack('>I7', seq) .. id
  local queue = lane.queue
  local errorAt = at + wl + pl

  if state > 3 and attempt > history then
    local outcome = 3
    if state == 4 then outcome = 1 elseif state == 5 then outcome = 2 end
    local story = attemptOf(attempt, sub(record, at, at + wl - 1), startedAt, over, ran, outcome, sub(record, errorAt, errorAt + el - 1))
    stories[#stories + 1] = { id, story }
    history = attempt
  end
  local hasResult, kept = flags >= 4, ''
  if shape[6] == 1 then hasResult = false
  elseif shape[6] == 2 then hasResult, kept = true, result
  elseif hasResult then kept = sub(record, errorAt + el) end
  if shape[7] == 0 or (shape[8] == 1 and not running) then error = el > 0 and sub(record, errorAt, errorAt + el - 1) or ''
  elseif shape[7] == 1 then error = '' end
  if running and shape[9] == 1 then
    ran = runMs or now - startedAt
    if to < 4 then
      stories[#stories + 1] = { id, attemptOf(attempt, sub(record, at, at + wl - 1), startedAt, now, ran, 3, error) }
      history = attempt
    end
  end
  if shape[4] == 1 then retries = retries + 1
  elseif shape[4] == 2 then retries, snoozes = retries - retries % LOSS, 0 end
  if shape[13] == 1 then retries = retries + LOSS
  elseif shape[13] == 2 then retries = retries % LOSS end
  if delay then runAt = now + delay end

  leave(member, state, number)
  enter(id, member, to, priority, lane, runAt)
  move(queue, priority, state, to)
  if COUNTER[to] then add(queue.counts, COUNTER[to], 1) end

  local changed = (keyGone or flags % 2 == 1) and 1 or 0
  if to == 5 and running then changed = changed + 2 end
  if hasResult then changed = changed + 4 end
  local after = pack(F, to, changed, priority, number, seq, fence + shape[2], attempt - shape[3], retries, snoozes + shape[5], runAt, startedAt,
    now, to > 3 and now or 0, ran, mark or settled, turn, history, logs, wl, pl, #error) .. sub(record, at, errorAt - 1) .. error .. kept
  sets[#sets + 1] = id
  sets[#sets + 1] = after
  return after, ran
end

local function flush()
  many('ZREM', B .. 'r', left)
  many('HSET', B .. 's', sets)
  for number, lane in pairs(lanes) do
    if #lane.entered > 0 then
      many('ZADD', B .. 'w:' .. number, lane.entered)
      redis.call('SADD', B .. 'a:' .. lane.queue.name, number)
    end
  end
  many('ZADD', B .. 'd', due)
  for name, queue in pairs(queues) do many('RPUSH', B .. 'e:' .. name, queue.ended) end
  many('ZADD', B .. 'x', dead)
  for _, story in ipairs(stories) do redis.call('RPUSH', B .. 'h:' .. story[1], story[2]) end
end

-- { time until something is due that was not before (-1: nothing is), 1 if a lease ended, queues that got work … }
local function ringList()
  local list = { rings.due and math.max(0, rings.due - now) or -1, rings.lease and 1 or 0 }
  for queue in pairs(rings.work) do list[#list + 1] = queue end
  return list
end
`;

/** After RECORDS: what lists show of a job: its body without the payload, its record without the result. */
export const SUMMARY = `
local function summary(body, record)
  local _, _, text = keyIn(body)
  local line = string.find(body, '\\n', text, true)
  local _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, wl, pl, el, from = open(F, record)
  return sub(body, 1, line), sub(record, 1, from + wl + pl + el - 1)
end
`;

/** After RECORDS: why a lease does not hold: c it was cancelled, s it is stale. */
export const REFUSAL = `
local function refusal(state, flags, present, fence)
  if state == 5 and math.floor(flags / 2) % 2 == 1 and present == fence + 1 then return 'c' end
  return 's'
end
`;
