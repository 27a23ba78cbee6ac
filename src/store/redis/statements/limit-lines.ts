import { LINE_PLACE, MEMBER, settingsOf } from "../layout.ts";
import { limitsKey } from "./limit-names.ts";

/** How many lines one step of a claim wakes, and how many such steps it makes for lines that stood aside before a limit changed. */
const WOKEN_AT_ONCE = 500;
const STEPS_OF_CHANGED = 4;

/** A part of LIMITS: where lines stand, and which jobs they have. As src/store/memory/turns.ts has it. */
export const LIMIT_LINES = `
  function L.nameOf(line)
    line.name = line.name or B .. 'lw:' .. line.ring .. ' ' .. named(line.key.name)
    return line.name
  end

  local function memberOf(line)
    line.member = line.member or pack('${MEMBER.format()}', line.seq) .. line.key.name
    return line.member
  end

  local function asideOf(line)
    line.asideName = line.asideName or line.ring .. ' ' .. line.key.name
    return line.asideName
  end

  function L.leave(line)
    local key = line.key
    if line.place == ${LINE_PLACE.ring} then L.ring(key.queue, line.ring).changes[memberOf(line)] = false
    elseif line.place ~= ${LINE_PLACE.nowhere} then
      key.aside = key.aside - 1
      key.queue.turns.aside[asideOf(line)] = false
    end
    line.place = ${LINE_PLACE.nowhere}
    dirty[key] = true
  end

  -- A line that comes back has waited for its limits, not for its turn: it begins at the present time of the ring.
  function L.enter(line)
    L.leave(line)
    local ring = L.ring(line.key.queue, line.ring)
    if line.tag < ring.time then line.tag = ring.time end
    line.place = ${LINE_PLACE.ring}
    ring.changes[memberOf(line)] = line.tag
  end

  -- It may start at this time.
  function L.sleep(line, at)
    L.leave(line)
    line.place = ${LINE_PLACE.asleep}
    line.key.aside = line.key.aside + 1
    line.key.queue.turns.aside[asideOf(line)] = at
  end

  -- It may start when a lease of its key ends.
  function L.park(line)
    L.sleep(line, math.huge)
    line.place = ${LINE_PLACE.parked}
  end

  -- Looks at all lines of a key again: a lease ended, or a limit changed. Whether one of them stood aside.
  function L.reconsider(key)
    if key.aside == 0 then return false end
    for _, line in pairs(L.whole(key).lines) do
      if line.place == ${LINE_PLACE.asleep} or line.place == ${LINE_PLACE.parked} then L.enter(line) end
    end
    return true
  end

  -- Puts a pending job into the line of its key. From now on claims have to look at limits.
  function L.add(key, lane, priority, runAt, member)
    local queue, lines = key.queue, L.whole(key).lines
    if not queue.keyed then
      call('HSET', ${settingsOf("queue.name")}, 'keyed', 1)
      queue.keyed = '1'
    end
    local line = lines[ringId(lane, priority)] or newLine(key, lane, priority, ${LINE_PLACE.nowhere}, 0, 0, 0)
    local list = added[line]
    if not list then
      list = {}
      added[line] = list
    end
    due[runAt] = due[runAt] or format('%.0f', runAt)
    list[#list + 1] = due[runAt]
    list[#list + 1] = member
    line.size, key.pending = line.size + 1, key.pending + 1
    -- How long a line sleeps depends on what its first job costs.
    local head = line.place == ${LINE_PLACE.asleep} and call('ZRANGE', L.nameOf(line), 0, 0, 'WITHSCORES')
    if head and (runAt < tonumber(head[2]) or (runAt == tonumber(head[2]) and (${MEMBER.open("member", "seq")}) < (${MEMBER.open("head[1]", "seq")}))) then
      L.enter(line)
    elseif line.place == ${LINE_PLACE.nowhere} then
      line.seq, line.member = ${MEMBER.open("member", "seq")}, ${MEMBER.cut("member", "seq")} .. key.name
      L.enter(line)
    end
    dirty[key] = true
  end

  -- Takes a pending job out of its line.
  local function drop(key, lane, priority, member)
    local line = L.whole(key).lines[ringId(lane, priority)]
    local isFirst = line and line.place == ${LINE_PLACE.asleep} and call('ZRANGE', L.nameOf(line), 0, 0)[1] == member
    if not line or call('ZREM', L.nameOf(line), member) == 0 then return end
    line.size, key.pending = line.size - 1, key.pending - 1
    if line.size == 0 then L.leave(line) elseif isFirst then L.enter(line) end
  end

  -- Wakes lines: those whose time has come, and those that stood aside before a limit changed.
  local function wakeSome(queue, members)
    local lines, names = {}, {}
    for index, member in ipairs(members) do lines[index], names[index] = string.match(member, '^(%d+ %-?%d+) (.*)$') end
    L.load(queue, names)
    for index, name in ipairs(names) do
      local line = L.whole(queue.turns.keys[name]).lines[lines[index]]
      if line and (line.place == ${LINE_PLACE.asleep} or line.place == ${LINE_PLACE.parked}) then L.enter(line)
      else queue.turns.aside[members[index]] = false end
    end
    L.flush()
    return #members == ${WOKEN_AT_ONCE}
  end

  function L.wake(queue)
    local turns, steps = L.of(queue), 0
    while turns.isChanged and steps < ${STEPS_OF_CHANGED} do
      steps = steps + 1
      if not wakeSome(queue, call('ZRANGE', ${limitsKey("b", "queue.name")}, 0, ${WOKEN_AT_ONCE - 1})) then
        turns.isChanged = false
        call('HDEL', ${settingsOf("queue.name")}, 'changed')
      end
    end
    repeat
      local due = call('ZRANGEBYSCORE', ${limitsKey("a", "queue.name")}, '-inf', format('%.0f', now), 'LIMIT', 0, ${WOKEN_AT_ONCE})
    until #due == 0 or not wakeSome(queue, due)
  end

  -- In how long the next line may start that waits for a time. If a claim has not woken all that it should, it asks again soon.
  function L.nextTime(queue)
    if queue.turns.isChanged then return 1 end
    local soonest = call('ZRANGE', ${limitsKey("a", "queue.name")}, 0, 0, 'WITHSCORES')[2]
    local at = soonest and tonumber(soonest)
    return at and at < math.huge and math.max(1, at - now) or nil
  end
`;
