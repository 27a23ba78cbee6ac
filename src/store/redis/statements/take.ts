import { STRICT_HEAD_START_MS } from "../../../core/rank.ts";
import { bucketOf, HEAD, HEAD_FLAG, isSet, LIMITED_LANE, LINE_PLACE, MEMBER, RECORD, RECORD_FLAG } from "../layout.ts";
import { limitsKey } from "./limit-names.ts";
import { TAKE_FIRSTS } from "./take-firsts.ts";

/** By priority, then types in turn, then the line of a ring with the lowest tag; jobs without a key are a line, too. */
const IN_TURNS = `
    -- Lines that were taken from wait in 'back'.
    local function firstOf(turn)
      while turn.at > #turn.read and turn.hasMore do readRing(turn) end
      local line, back = turn.read[turn.at], turn.back[turn.backAt]
      if back and (not line or back.tag < line.tag or (back.tag == line.tag and back.seq < line.seq)) then return back, true end
      return line, false
    end
    local function pass(turn, isBack)
      if isBack then turn.backAt = turn.backAt + 1 else turn.at = turn.at + 1 end
    end
    local function putBack(turn, line)
      local back, at = turn.back, #turn.back
      while at >= turn.backAt and (back[at].tag > line.tag or (back[at].tag == line.tag and back[at].seq > line.seq)) do
        back[at + 1] = back[at]
        at = at - 1
      end
      back[at + 1] = line
    end
    local function start(ring, tag, weight)
      ring.time = math.max(ring.time, tag)
      ring.isMoved = true
      return ring.time + 1 / weight
    end

    -- A source is what jobs of one type are taken from. In another order each time, so that no type is always the first.
    local sources, sourceOf = {}, {}
    local function source(lane)
      if not sourceOf[lane] then
        sourceOf[lane] = { turns = {}, taken = {} }
        sources[#sources + 1] = sourceOf[lane]
      end
      return sourceOf[lane]
    end
    for _, reader in ipairs(readers) do source(reader.number).reader = reader end
    for _, turn in ipairs(rings) do
      local ofLane = source(turn.lane).turns
      ofLane[#ofLane + 1] = turn
    end
    local shift = micros % #sources

    -- Of the highest priority, the source that gave the fewest so far.
    local function nextSource()
      local best, top
      if #sources == 1 then
        best = sources[1]
        local reader, turn = best.reader, best.turns[1]
        if not reader then return turn and best, turn and turn.priority end
        return best, turn and turn.priority > reader.priority and turn.priority or reader.priority
      end
      for index = 1, #sources do
        local one = sources[(index + shift - 1) % #sources + 1]
        local priority, turn = one.reader and one.reader.priority, one.turns[1]
        if turn and (not priority or turn.priority > priority) then priority = turn.priority end
        if priority and (not best or priority > top or (priority == top and (one.taken[priority] or 0) < (best.taken[priority] or 0))) then
          best, top = one, priority
        end
      end
      return best, top
    end

    local from, priority, turn, reader, line, isBack
    function nextJob()
      while true do
        from, priority = nextSource()
        if not from then return nil end
        turn, reader = from.turns[1], from.reader
        if turn and turn.priority ~= priority then turn = nil end
        if reader and reader.priority ~= priority then reader = nil end
        while true do
          line, isBack = nil, nil
          if turn then line, isBack = firstOf(turn) end
          if not line then
            -- All lines of the ring stand aside, or are empty.
            if turn then table.remove(from.turns, 1) end
            turn = nil
            if reader then return reader.found[reader.at] end
            break
          end
          local lines, member = #turn.read - turn.at + 1 + #turn.back - turn.backAt + 1, nil
          local time, unkeyed = turn.ring.time, turn.ring.unkeyed
          if not (reader and math.max(unkeyed, time) < math.max(line.tag, time)) then member = mayStart(line, lines) end
          if reader and (line.place == ${LINE_PLACE.ring}) then
            -- If both may start at the same time, the job that came first does.
            local ours, its = math.max(unkeyed, time), math.max(line.tag, time)
            if ours < its or (ours == its and reader.seq < ${MEMBER.open("member", "seq")}) then
              line = nil
              return reader.found[reader.at]
            end
          end
          if member then return member end
          pass(turn, isBack)
        end
      end
    end

    function take(cost)
      from.taken[priority] = (from.taken[priority] or 0) + 1
      if line then
        pass(turn, isBack)
        line.tag = start(turn.ring, line.tag, L.limitsOf(line.key).weight)
        if takeLine(line, cost) then
          turn.ring.changes[line.member] = line.tag
          putBack(turn, line)
        end
      else
        if turn then turn.ring.unkeyed = start(turn.ring, turn.ring.unkeyed, turns.weight) end
        from.reader = takePlain(reader)
      end
    end
`;

/** The lowest rank first, over lanes and all lines that may start. */
const BY_RANK = `
    local lines, at, line, reader = {}, 1, nil, nil
    local function rankLine(one)
      local due = call('ZRANGE', L.nameOf(one), one.gone, one.gone, 'WITHSCORES')
      if not due[1] then return false end
      one.rank, one.first = tonumber(due[2]) - one.priority * queue.headStart, ${MEMBER.open("due[1]", "seq")}
      return true
    end
    local function isBefore(a, b)
      return a.rank < b.rank or (a.rank == b.rank and a.first < b.first)
    end
    for _, turn in ipairs(rings) do
      while true do
        for _, one in ipairs(turn.read) do
          if rankLine(one) then lines[#lines + 1] = one end
        end
        if not turn.hasMore then break end
        readRing(turn)
      end
    end
    table.sort(lines, isBefore)
    local left = {}
    for index, one in ipairs(readers) do left[index] = one end

    function nextJob()
      reader = nil
      for _, one in ipairs(left) do
        if not reader or one.rank < reader.rank or (one.rank == reader.rank and one.seq < reader.seq) then reader = one end
      end
      while true do
        line = lines[at]
        if reader and (not line or reader.rank < line.rank or (reader.rank == line.rank and reader.seq < line.first)) then
          line = nil
          return reader.found[reader.at]
        end
        if not line then return nil end
        local member = mayStart(line, #lines - at + 1)
        if member then return member end
        at = at + 1
      end
    end

    function take(cost)
      if line then
        at = at + 1
        if takeLine(line, cost) and rankLine(line) then
          local place = #lines
          while place >= at and isBefore(line, lines[place]) do
            lines[place + 1] = lines[place]
            place = place - 1
          end
          lines[place + 1] = line
        end
      elseif not takePlain(reader) then
        for index, one in ipairs(left) do
          if one == reader then
            table.remove(left, index)
            break
          end
        end
      end
    end
`;

/**
 * After GRANT, ROOM and LIMITS: takes pending jobs of a queue that has limits or jobs with limit keys, as src/store/memory/take.ts does. Returns
 * the members that were taken, in order, and in how many milliseconds the next may start, or nil.
 *
 * Cost: the lanes and rings of the claim; the jobs that it takes; and the lines that it finds at a limit, each of which stands aside then. Rings
 * and lines are read in stretches as long as what is left to take, so neither the number of keys nor that of waiting jobs enters. With a head
 * start that is not strict, all lines that may start are read.
 */
export const TAKE_FUNCTION = `function takeLimited(queue, types, limit)
  local L, call = limits(), redis.call
  local turns = L.of(queue)
  L.wake(queue)
  L.flush()

  if turns.rate then L.rescale(turns.rate, L.rateOf(queue)) end
  local most, ran, more = leasesOf(queue)
  if most then limit = math.min(limit, most - ran - more) end
  if limit <= 0 then return {}, L.nextTime(queue) end

  local plain, wanted, isStrict = {}, {}, queue.headStart == ${STRICT_HEAD_START_MS}
  for _, lane in ipairs(lanesOf(queue.name, types)) do
    local number = tonumber(lane)
    if number < ${LIMITED_LANE} then plain[#plain + 1] = lane end
    wanted[number % ${LIMITED_LANE}] = true
  end

  local function hasJobs(lanes)
    for _, lane in ipairs(lanes) do
      if call('EXISTS', B .. 'w:' .. lane) == 1 then return true end
    end
    return false
  end

  local members, count = {}, 0
  ${TAKE_FIRSTS}
  -- The rings of the claim, those with the highest priority first.
  local asked = {}
  for _, id in ipairs(call('ZRANGE', ${limitsKey("p", "queue.name")}, 0, -1)) do
    local lane, priority = string.match(id, '^(%d+) (.*)$')
    lane = tonumber(lane)
    if wanted[lane % ${LIMITED_LANE}] then asked[#asked + 1] = { id = id, lane = lane, priority = tonumber(priority) } end
  end
  local highest, other = asked[1], asked[2]
  local isSimple = highest and isStrict and not (other and other.priority == highest.priority) and not (turns.rate or turns.perKey.rate)
  if isSimple and not hasJobs(plain) then
    takeFirsts(highest.id, highest.lane, highest.priority)
    if count == limit then return members, L.nextTime(queue) end
  end

  local function readRing(turn)
    local size = isStrict and limit - count or 500
    local found, names = call('ZRANGE', turn.ring.name, turn.next, turn.next + size - 1), {}
    for index, member in ipairs(found) do names[index] = ${MEMBER.rest("member")} end
    L.load(queue, names)
    turn.next, turn.hasMore, turn.read, turn.at = turn.next + size, #found == size, {}, 1
    for index, name in ipairs(names) do
      local line = L.whole(turns.keys[name]).lines[turn.ring.id]
      if line and line.place == ${LINE_PLACE.ring} then
        line.member = found[index]
        turn.read[#turn.read + 1] = line
      end
    end
  end

  local rings = {}
  for _, one in ipairs(asked) do
    local turn = { ring = L.ring(queue, one.id), lane = one.lane % ${LIMITED_LANE}, priority = one.priority, next = 0, back = {}, backAt = 1 }
    readRing(turn)
    if #turn.read > 0 then rings[#rings + 1] = turn
    elseif not turn.hasMore then call('ZREM', ${limitsKey("p", "queue.name")}, one.id) end
  end
  if #rings == 0 and count == 0 and not turns.rate then return takeFrom(queue.name, plain, limit), L.nextTime(queue) end

  -- The units that the start of a job takes. One that was suspended has paid; without steps it was not.
  local function costOf(member)
    local id = ${MEMBER.rest("member")}
    local body = call('HGET', ${bucketOf("bodies", "id")}, id)
    local _, _, _, _, cost = keyIn(body)
    if string.byte(body, ${HEAD.at.flags + 1}) >= ${HEAD_FLAG.hasSteps} then
      local record = call('HGET', ${bucketOf("records", "id")}, id)
      local flags = record and ${RECORD.open("record", "flags")} or 0
      if ${isSet("flags", RECORD_FLAG.resumed)} then return 0 end
    end
    return cost
  end

  -- Lanes of jobs without a key: some heads of each are read, and read again where they ran out.
  local size = math.max(4, math.ceil(2 * limit / math.max(1, #plain)))
  local function readLane(reader)
    reader.found, reader.at, reader.taken = call('ZRANGE', reader.key, 0, size - 1, 'WITHSCORES'), 1, 0
  end
  local function stepLane(reader)
    if reader.at > #reader.found then
      if reader.taken > 0 then call('ZREMRANGEBYRANK', reader.key, 0, reader.taken - 1) end
      readLane(reader)
    end
    if #reader.found == 0 then
      call('SREM', B .. 'a:' .. queue.name, reader.lane)
      return nil
    end
    step(reader)
    reader.priority = isStrict and -math.floor(reader.rank / ${STRICT_HEAD_START_MS}) or 0
    return reader
  end
  local readers = {}
  for _, lane in ipairs(plain) do
    local reader = { key = B .. 'w:' .. lane, lane = lane, number = tonumber(lane) }
    readLane(reader)
    if stepLane(reader) then readers[#readers + 1] = reader end
  end

  -- Lines: the members of the next jobs, of which there are about as many as each line may get.
  local touched, gone = {}, {}
  local function headOf(line, lines)
    if not line.jobs or line.at > #line.jobs then
      local from, till = '0', '0'
      if line.gone > 0 or lines < limit - count then
        local most = math.max(1, math.min(line.size, math.ceil((limit - count) / math.max(1, lines))))
        from, till = format('%d', line.gone), format('%d', line.gone + most - 1)
      end
      line.jobs, line.at = call('ZRANGE', L.nameOf(line), from, till), 1
    end
    return line.jobs[line.at]
  end

  -- The first job of a line, if its key has room for it. If not, the line stands aside.
  local function mayStart(line, lines)
    local key, member = line.key, nil
    local most = L.limitsOf(key)
    if most.rate and L.rescale(most.rate, key) then L.touch(key) end
    if key.held > now then L.sleep(line, key.held)
    elseif most.running and key.running >= most.running then L.park(line)
    else
      member = headOf(line, lines)
      local wait = member and most.rate and L.wait(most.rate, key, costOf(member)) or 0
      if not member then
        key.pending, line.size = key.pending - line.size, 0
        L.leave(line)
      elseif wait > 0 then
        member = nil
        L.sleep(line, now + wait)
      end
    end
    return member
  end

  -- Takes the first job of a line. Whether the line stays among those that may start.
  local function takeLine(line, cost)
    local key, member = line.key, line.jobs[line.at]
    local most = L.limitsOf(key)
    touched[line], line.at, line.gone, line.size = true, line.at + 1, line.gone + 1, line.size - 1
    key.running, key.waiting, key.pending = key.running + 1, key.waiting - 1, key.pending - 1
    if most.rate then L.take(most.rate, key, cost or costOf(member)) end
    local list, started = gone[line.lane] or {}, turns.started
    gone[line.lane] = list
    list[#list + 1] = member
    started[#started + 1] = ${MEMBER.rest("member")}
    started[#started + 1] = key.name
    if line.size == 0 then L.leave(line)
    elseif most.running and key.running >= most.running then L.park(line)
    else
      L.touch(key)
      return true
    end
    return false
  end

  local function takePlain(reader)
    reader.at, reader.taken = reader.at + 2, reader.taken + 1
    return stepLane(reader)
  end

  -- What nextJob found, and 'take' takes.
  local nextJob, take
  if isStrict and #rings > 0 then
    ${IN_TURNS}
  else
    ${BY_RANK}
  end

  local wait
  while count < limit do
    local member, cost = nextJob(), nil
    if not member then break end
    if turns.rate then
      cost = costOf(member)
      local ms = L.wait(turns.rate, L.rateOf(queue), cost)
      if ms > 0 then
        wait = ms
        break
      end
      L.take(turns.rate, L.rateOf(queue), cost)
    end
    take(cost)
    count = count + 1
    members[count] = member
  end

  for _, reader in ipairs(readers) do
    if reader.taken > 0 then call('ZREMRANGEBYRANK', reader.key, 0, reader.taken - 1) end
  end
  for line in pairs(touched) do
    call('ZREMRANGEBYRANK', line.name, '0', line.gone == 1 and '0' or format('%d', line.gone - 1))
    line.jobs, line.gone = false, 0
  end
  for lane, list in pairs(gone) do many('ZREM', B .. 'w:' .. lane, list) end
  L.flush()
  return members, wait or L.nextTime(queue)
end
`;

/** The same as a local function. */
export const TAKE = `local ${TAKE_FUNCTION}`;
