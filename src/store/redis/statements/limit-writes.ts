import { KEY_LINE, LIMIT_KEY, LIMITED_LANE } from "../layout.ts";
import { limitsKey } from "./limit-names.ts";

/** How long the tags of a limit key without jobs are kept, while other lines of their rings have jobs. */
const KEPT_TAGS_MS = 60_000;
/** From this many jobs on, a claim makes sure that the holders of keys are not kept in a form that the server searches from the start. */
const MANY_HOLDERS = 16;
/** A field that is longer makes the server keep a hash as a table, also after the field is gone. */
const LONGEST_IN_SHORT_HASH = 64;

/** A part of LIMITS: writes what a call has changed. */
export const LIMIT_WRITES = `
  local function writeSet(name, changes)
    local adds, drops = {}, {}
    for member, score in pairs(changes) do
      if score then
        -- The server writes it with all digits, which takes no text of Lua.
        adds[#adds + 1] = score
        adds[#adds + 1] = member
      else drops[#drops + 1] = member end
    end
    many('ZADD', name, adds)
    many('ZREM', name, drops)
    return adds
  end

  -- Writes where lines stand, before somebody reads rings.
  function L.flush()
    for line, list in pairs(added) do many('ZADD', L.nameOf(line), list) end
    added = {}
    for _, queue in ipairs(used) do
      local turns, rings = queue.turns, {}
      for id, ring in pairs(turns.rings) do
        if next(ring.changes) then
          if #writeSet(ring.name, ring.changes) > 0 then
            rings[#rings + 1] = format('%d', -tonumber(string.match(id, ' (.*)$')))
            rings[#rings + 1] = id
          end
          ring.changes = {}
        end
      end
      many('ZADD', ${limitsKey("p", "queue.name")}, rings)
      if next(turns.aside) then
        writeSet(${limitsKey("a", "queue.name")}, turns.aside)
        if turns.isChanged then
          local members = {}
          for member in pairs(turns.aside) do members[#members + 1] = member end
          many('ZREM', ${limitsKey("b", "queue.name")}, members)
        end
        turns.aside = {}
      end
    end
  end

  -- The text of a key's lines, without those that may be forgotten: the tag of an empty line matters while others of its type have jobs.
  local function linesOf(key)
    local text, hasTags = '', false
    for id, line in pairs(key.lines) do
      local ring = line.size == 0 and L.ring(key.queue, id)
      if ring and line.tag > ring.time and ring.hasJobs == nil then
        local lane = B .. 'w:'
        ring.hasJobs = call('EXISTS', lane .. format('%d', line.lane), lane .. format('%d', line.lane % ${LIMITED_LANE})) > 0
      end
      if ring and (line.tag <= ring.time or not ring.hasJobs) then key.lines[id] = nil
      else
        hasTags = hasTags or ring
        text = text .. pack('${KEY_LINE.format()}', line.lane, line.priority, line.place, line.size, line.tag, line.seq)
      end
    end
    return text, hasTags
  end

  local function writeKeys()
    local sets, size, drops, rests = {}, 0, {}, {}
    for key in pairs(dirty) do
      local isBusy = key.running > 0 or key.pending > 0
      if isBusy and not key.lines then
        -- Only counted.
        sets[size + 1], sets[size + 2] = key.stored, pack('${LIMIT_KEY.format("running", "waiting")}', key.running, key.waiting) .. ${LIMIT_KEY.rest("key.text", "pending")}
        size = size + 2
      else
        local lines, hasTags = linesOf(L.whole(key))
        local rest = not isBusy and (key.waiting > 0 and math.huge or math.ceil(math.max(key.held, key.busy, hasTags and now + ${KEPT_TAGS_MS} or 0)))
        local isIdle = rest and rest <= now
        if key.resting == 1 or (rest and not isIdle) then
          local resting = rests[key.queue] or {}
          rests[key.queue] = resting
          resting[key.name] = not isIdle and rest
        end
        key.resting = rest and not isIdle and 1 or 0
        if isIdle then
          if key.text then drops[#drops + 1] = key.stored end
          key.text = nil
        else
          key.text = ${LIMIT_KEY.pack(Object.fromEntries(["running", "waiting", "pending", "aside", "held", "busy", "interval", "resting"].map((name) => [name, `key.${name}`])))} .. lines
          sets[size + 1], sets[size + 2] = key.stored, key.text
          size = size + 2
        end
      end
    end
    dirty = {}
    for from = 1, size, 500 do call('MSET', unpack(sets, from, math.min(from + 499, size))) end
    for from = 1, #drops, 500 do call('DEL', unpack(drops, from, math.min(from + 499, #drops))) end
    for queue, resting in pairs(rests) do writeSet(${limitsKey("i", "queue.name")}, resting) end
  end

  -- Writes what is known of keys, and knows nothing of them from now on.
  function L.forget(queue)
    L.flush()
    writeKeys()
    queue.turns.keys = {}
  end

  -- Writes everything.
  function L.write()
    L.flush()
    for _, queue in ipairs(used) do
      local turns, values = queue.turns, {}
      for id, ring in pairs(turns.rings) do
        ring.hasJobs = nil
        if ring.isMoved then
          values[#values + 1] = id
          values[#values + 1] = format('%.17g %.17g', ring.time, ring.unkeyed)
          ring.isMoved = false
        end
      end
      if turns.state and turns.state.isTaken then
        values[#values + 1] = 'rate'
        values[#values + 1] = format('%.17g %.17g', turns.state.busy, turns.state.interval)
      end
      many('HSET', ${limitsKey("v", "queue.name")}, values)
      many('HDEL', ${limitsKey("h", "queue.name")}, turns.ended)
      if #turns.started >= ${2 * MANY_HOLDERS} then
        -- Longer than what the server keeps in a form that it searches from the start. With a holder, because the hash would be gone with it.
        local long = string.rep('~', ${LONGEST_IN_SHORT_HASH + 1})
        call('HSET', ${limitsKey("h", "queue.name")}, long, '', turns.started[1], turns.started[2])
        call('HDEL', ${limitsKey("h", "queue.name")}, long)
      end
      many('HSET', ${limitsKey("h", "queue.name")}, turns.started)
      turns.ended, turns.started = {}, {}
    end
    writeKeys()
  end
`;
