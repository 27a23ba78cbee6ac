import { USUAL_WEIGHT } from "../../../core/limits.ts";
import { CLOCK_STEP_MS, STEPS_A_MS } from "../../../core/rate.ts";
import { STATE, tallyCells } from "../../numbers.ts";
import { bucketOf, isSet, KEY_LINE, LIMIT_KEY, LIMITED_BYTE, RECORD, RECORD_FLAG, settingsOf } from "../layout.ts";
import { LIMIT_LINES } from "./limit-lines.ts";
import { limitsKey, NAMED } from "./limit-names.ts";
import { LIMIT_WRITES } from "./limit-writes.ts";

const RUNNING = tallyCells("running");

/** After LEDGER: how many leases a queue may have at once (nil: any number), how many it had before this call, and how many it has more now. */
export const ROOM = `
local function leasesOf(queue)
  if queue.most == nil then
    local most = queue.limits and cjson.decode(queue.limits).running or cjson.null
    queue.most = most ~= cjson.null and most
  end
  if not queue.most then return nil end
  local more = 0
  if not queue.ran then
    queue.ran = 0
    for _, count in ipairs(redis.call('HMGET', B .. 't:' .. queue.name, ${RUNNING.join(", ")})) do queue.ran = queue.ran + (tonumber(count) or 0) end
  end
  for cell = ${RUNNING[0]}, ${RUNNING.at(-1)} do more = more + (queue.tally[cell] or 0) end
  return queue.most, queue.ran, more
end
`;

/** Lua, after ROOM: calls `tell` with each queue that had no room for a lease before this call, and has some now. */
export const tellFreed = (tell: string): string => `
for name, queue in pairs(queues) do
  if queue.limits then
    local most, ran, more = leasesOf(queue)
    if most and ran >= most and ran + more < most then ${tell} end
  end
end
`;

/**
 * After LEDGER: limit keys and their lines (see layout.ts), as src/store/memory/limit-keys.ts and turns.ts have them. What a call changes of a
 * key, a ring or the lines that stand aside is collected, and written once.
 *
 * It is one function, because a script pays at every call for each function that it defines, and most calls meet no limit.
 */
export const LIMITS_FUNCTION = `function limits()
  if limitsInUse then return limitsInUse end
  local L, call, dirty, added, used, ringIds, due = {}, redis.call, {}, {}, {}, {}, {}
  limitsInUse = L
  ${NAMED}
  L.namedAll = namedAll
  local function some(value)
    if value ~= cjson.null then return value end
    return nil
  end

  -- The limits of a queue, and what this call knows of its keys and rings.
  function L.of(queue)
    local found = queue.turns
    if found then return found end
    local stored = call('HMGET', ${settingsOf("queue.name")}, 'own', 'unkeyed', 'changed')
    local given = queue.limits and cjson.decode(queue.limits) or {}
    local perKey = given.perKey or {}
    found = {
      running = some(given.running), rate = some(given.rate), hasOwn = stored[1], isChanged = stored[3],
      perKey = { running = some(perKey.running), rate = some(perKey.rate), waiting = some(perKey.waiting), weight = ${USUAL_WEIGHT} },
      weight = stored[2] and cjson.decode(stored[2]).weight or ${USUAL_WEIGHT},
      keys = {}, prefix = ${limitsKey("k", "queue.name")} .. ' ', rings = {}, aside = {}, started = {}, ended = {}
    }
    queue.turns = found
    used[#used + 1] = queue
    return found
  end

  -- Rates: the same operations on doubles as in core/rate.ts.
  local function intervalOf(rate)
    return math.ceil(rate.periodMs / rate.units * ${STEPS_A_MS}) / ${STEPS_A_MS}
  end

  local function busyBy(state, interval)
    if state.interval == 0 or state.busy <= now - ${CLOCK_STEP_MS} then return now end
    if state.interval == interval then return state.busy end
    return now + ((state.busy - now) / state.interval) * interval
  end

  function L.wait(rate, state, cost)
    if cost == 0 then return 0 end
    local interval = intervalOf(rate)
    local freeAt = busyBy(state, interval) - (rate.burst - math.min(cost, rate.burst)) * interval
    if freeAt <= now then return 0 end
    return math.max(1, math.ceil(freeAt - now))
  end

  function L.take(rate, state, units)
    if units == 0 then return end
    local interval = intervalOf(rate)
    state.busy, state.interval, state.isTaken = busyBy(state, interval) + units * interval, interval, true
  end

  -- Counts what is not back yet by the present rate, from now on. Whether that is a change.
  function L.rescale(rate, state)
    local interval = intervalOf(rate)
    if state.interval == 0 or state.interval == interval then return false end
    state.busy, state.interval, state.isTaken = busyBy(state, interval), interval, true
    return true
  end

  -- What the rate of a queue remembers.
  function L.rateOf(queue)
    local turns = L.of(queue)
    if not turns.state then
      local busy, interval = string.match(call('HGET', ${limitsKey("v", "queue.name")}, 'rate') or '0 0', '^(%S+) (%S+)$')
      turns.state = { busy = tonumber(busy), interval = tonumber(interval) }
    end
    return turns.state
  end

  function L.ring(queue, id)
    local ring = L.of(queue).rings[id]
    if ring then return ring end
    local time, unkeyed = string.match(call('HGET', ${limitsKey("v", "queue.name")}, id) or '0 0', '^(%S+) (%S+)$')
    ring = { id = id, name = B .. 'lr:' .. id, time = tonumber(time), unkeyed = tonumber(unkeyed), changes = {} }
    queue.turns.rings[id] = ring
    return ring
  end

  -- Names are made once: the server's Lua hashes every byte of every text.
  local function ringId(lane, priority)
    local number = lane * 256 + priority
    ringIds[number] = ringIds[number] or format('%d %d', lane, priority)
    return ringIds[number]
  end

  local function readKey(queue, name, stored, text, own)
    local running, waiting, pending, aside = 0, 0, 0, 0
    if text then running, waiting, pending, aside = ${LIMIT_KEY.open("text", "running", "waiting", "pending", "aside")} end
    -- Eight fields, so that the table is made in one step.
    local key = { name = name, queue = queue, stored = stored, text = text, running = running, waiting = waiting, pending = pending, aside = aside }
    if not text then key.held, key.busy, key.interval, key.resting, key.lines = 0, 0, 0, 0, {} end
    if own then key.own = own end
    queue.turns.keys[name] = key
  end

  local function newLine(key, lane, priority, place, size, tag, seq)
    local line = {
      key = key, lane = lane, priority = priority, place = place, size = size, tag = tag, seq = seq, ring = ringId(lane, priority),
      name = false, member = false, asideName = false, jobs = false, at = 1, gone = 0
    }
    key.lines[line.ring] = line
    return line
  end

  -- Reads the rest of what is stored of a key: most ends of a lease only count.
  function L.whole(key)
    if key.lines then return key end
    local text, at, lane, priority, place, size, tag, seq = key.text, nil, nil, nil, nil, nil, nil, nil
    key.lines = {}
    key.held, key.busy, key.interval, key.resting, at = ${LIMIT_KEY.open("text", "held", "busy", "interval", "resting")}
    while at <= #text do
      lane, priority, place, size, tag, seq, at = open('${KEY_LINE.format()}', text, at)
      newLine(key, lane, priority, place, size, tag, seq)
    end
    return key
  end

  -- What is stored of these keys, and under which names.
  function L.texts(turns, names)
    local stored = namedAll(turns.prefix, names)
    if #stored <= 500 then return #stored == 0 and stored or call('MGET', unpack(stored)), stored end
    local texts = {}
    for from = 1, #stored, 500 do
      for _, text in ipairs(call('MGET', unpack(stored, from, math.min(from + 499, #stored)))) do texts[#texts + 1] = text end
    end
    return texts, stored
  end

  -- Reads what is stored of these keys.
  function L.load(queue, names)
    local turns, new = L.of(queue), {}
    local keys = turns.keys
    for _, name in ipairs(names) do
      if keys[name] == nil then
        keys[name] = false
        new[#new + 1] = name
      end
    end
    local texts, stored = L.texts(turns, new)
    local own = turns.hasOwn and mget('lo:' .. queue.name, new)
    for index, name in ipairs(new) do readKey(queue, name, stored[index], texts[index], own and own[index]) end
  end

  function L.key(queue, name)
    local key = L.of(queue).keys[name]
    if key then return key end
    L.load(queue, { name })
    return queue.turns.keys[name]
  end

  -- What applies to a key: limitsOfKey in core/limits.ts.
  function L.limitsOf(key)
    local perKey = key.queue.turns.perKey
    if not key.own then return perKey end
    if key.limits then return key.limits end
    local own = cjson.decode(key.own)
    local function pick(field)
      if own[field] == nil then return perKey[field] end
      return some(own[field])
    end
    key.limits = { running = pick('running'), rate = pick('rate'), waiting = pick('waiting'), weight = own.weight or ${USUAL_WEIGHT} }
    return key.limits
  end

  function L.touch(key)
    dirty[key] = true
  end

  ${LIMIT_LINES}
  -- The limit key of each job that was asked for.
  L.keyOf = {}
  local function nameIn(id)
    local _, _, _, name = keyIn(call('HGET', ${bucketOf("bodies", "id")}, id))
    return name
  end
  local function keyOf(queue, id, state)
    local name = L.keyOf[id] or (state == ${STATE.running} and call('HGET', ${limitsKey("h", "queue.name")}, id)) or nameIn(id)
    L.keyOf[id] = name
    return L.key(queue, name)
  end

  -- Reads the limit keys of running jobs, given by their records and ids, which begin after a place.
  function L.loadRunning(records, ids, before)
    local byLane = {}
    for index, record in ipairs(records) do
      if record and string.byte(record, ${RECORD.at.lane + 1}) >= ${LIMITED_BYTE} then
        local lane = ${RECORD.open("record", "lane")}
        local list = byLane[lane] or {}
        byLane[lane] = list
        list[#list + 1] = ids[before + index]
      end
    end
    for lane, ids in pairs(byLane) do
      local queue, names = laneOf(lane).queue, {}
      for index, name in ipairs(mget('lh:' .. queue.name, ids)) do
        if name then
          L.keyOf[ids[index]] = name
          names[#names + 1] = name
        end
      end
      L.load(queue, names)
    end
  end

  -- A job with a limit key changes its state. Whether lines of its key may start again.
  function L.moved(lane, id, member, priority, from, to, runAt)
    local queue = lane.queue
    local key = keyOf(queue, id, from)
    dirty[key] = true
    if from == ${STATE.pending} then drop(key, lane.number, priority, member) end
    if from < ${STATE.running} then key.waiting = key.waiting - 1 end
    if to < ${STATE.running} then key.waiting = key.waiting + 1 end
    if to == ${STATE.pending} then L.add(key, lane.number, priority, runAt, member) end
    if from ~= ${STATE.running} then return false end
    key.running = key.running - 1
    local ended = queue.turns.ended
    ended[#ended + 1] = id
    return L.reconsider(key)
  end

  -- The same for a job that runs and is completed.
  function L.ended(lane, id)
    local queue = lane.queue
    local key = keyOf(queue, id, ${STATE.running})
    local ended = queue.turns.ended
    ended[#ended + 1] = id
    key.running = key.running - 1
    dirty[key] = true
    return key.aside > 0 and L.reconsider(key)
  end

  -- The same for many such jobs of a queue. What is stored of most keys only gets another count.
  function L.endedAll(queue, ids)
    local turns, names, ends, sets, size, isFreed = L.of(queue), {}, {}, {}, 0, false
    local ended = turns.ended
    for index, name in ipairs(mget('lh:' .. queue.name, ids)) do
      name = name or nameIn(ids[index])
      local before = ends[name]
      if not before then names[#names + 1] = name end
      ends[name] = (before or 0) + 1
      ended[#ended + 1] = ids[index]
    end
    local texts, stored = L.texts(turns, names)
    for index, name in ipairs(names) do
      local text, running, waiting, pending, aside = texts[index], nil, nil, nil, 1
      if text and not turns.keys[name] then running, waiting, pending, aside = ${LIMIT_KEY.open("text", "running", "waiting", "pending", "aside")} end
      if aside == 0 and (running > ends[name] or pending > 0) then
        sets[size + 1], sets[size + 2] = stored[index], pack('${LIMIT_KEY.format("running", "running")}', running - ends[name]) .. ${LIMIT_KEY.rest("text", "waiting")}
        size = size + 2
      else
        local key = L.key(queue, name)
        key.running = key.running - ends[name]
        dirty[key] = true
        isFreed = L.reconsider(key) or isFreed
      end
    end
    for from = 1, size, 500 do call('MSET', unpack(sets, from, math.min(from + 499, size))) end
    return isFreed
  end

  -- What a settlement says of the rates and the limit key of its job, while it still runs.
  function L.use(lane, id, unstarted, hold, spend)
    local queue, units = lane.queue, spend
    local turns = L.of(queue)
    if unstarted then
      local flags = ${RECORD.open(`call('HGET', ${bucketOf("records", "id")}, id)`, "flags")}
      local _, _, _, _, cost = keyIn(call('HGET', ${bucketOf("bodies", "id")}, id))
      if not (${isSet("flags", RECORD_FLAG.free)}) then units = units - cost end
    end
    if units ~= 0 and turns.rate then L.take(turns.rate, L.rateOf(queue), units) end
    if not lane.isLimited then return end
    local key = L.whole(keyOf(queue, id, ${STATE.running}))
    local rate = L.limitsOf(key).rate
    if units ~= 0 and rate then L.take(rate, key, units) end
    if hold then key.held = math.max(key.held, now + math.ceil(hold)) end
    dirty[key] = true
  end

  ${LIMIT_WRITES}
  return L
end
`;

/** The same as a local function. */
export const LIMITS = `local ${LIMITS_FUNCTION}`;
