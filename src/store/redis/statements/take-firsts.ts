import { USUAL_WEIGHT } from "../../../core/limits.ts";
import { KEY_LINE, LIMIT_KEY, LINE_PLACE, MEMBER } from "../layout.ts";

/** Where the fields of a key's first line begin in the text of the key, counted from 1. */
const lineAt = (field: keyof typeof KEY_LINE.at): number => LIMIT_KEY.bytes + KEY_LINE.at[field] + 1;

/** Of a key: nothing stands aside, nothing is held, no rate remembers anything; and the beginning of its line, up to the place. */
const packMiddle = (place: number): string =>
  `pack('${LIMIT_KEY.format("aside")}${KEY_LINE.format("lane", "place").slice(1)}', 0, 0, 0, 0, 0, lane, priority, ${place})`;

/**
 * A part of TAKE: the usual claim of a queue with many keys. It takes one job from each of the first lines of a ring, as long as they belong
 * to keys without limits of their own, which have no other line and nothing that this does not know. The rest is for the whole way, which makes tables of keys
 * and lines: those cost several times what the jobs themselves do.
 *
 * A line whose key is now at its limit stays where it is: most have room again when their turn comes, and those that have none stand aside
 * then. Whoever is told that there is nothing to take has looked at all of them, so nobody waits for a hint that does not come.
 */
export const TAKE_FIRSTS = `
  local function takeFirsts(id, lane, priority)
    local ring = L.ring(queue, id)
    local found, names = call('ZRANGE', ring.name, '0', format('%d', limit - 1)), {}
    -- With fewer lines, several jobs of each are taken.
    if #found < limit then return end
    for index = 1, limit do names[index] = ${MEMBER.rest("found[index]")} end
    L.forget(queue)
    local texts, stored = L.texts(turns, names)
    local own = turns.hasOwn and mget('lo:' .. queue.name, names)
    local lines = L.namedAll(B .. 'lw:' .. id .. ' ', names)
    local most, time, first, size, started = turns.perKey.running or math.huge, ring.time, nil, 0, turns.started
    local sets, adds, drops, tags, before = {}, {}, {}, {}, #started
    local middle, emptied = ${packMiddle(LINE_PLACE.ring)}, ${packMiddle(LINE_PLACE.nowhere)}
    for index = 1, limit do
      local text = texts[index]
      if own and own[index] then break end
      if not text or #text ~= ${LIMIT_KEY.bytes + KEY_LINE.bytes} or sub(text, ${LIMIT_KEY.at.aside + 1}, ${lineAt("place")}) ~= middle then break end
      local running, waiting, pending = ${LIMIT_KEY.open("text", "running", "waiting", "pending")}
      local tag = open('${KEY_LINE.format("tag", "tag")}', text, ${lineAt("tag")})
      -- Not if it is at its limit, or if a line that was taken from goes before it.
      if running >= most or (first and tag > first) then break end
      local member = call('ZPOPMIN', lines[index])[1]
      if not member then break end
      if tag > time then time = tag end
      tag = time + ${1 / USUAL_WEIGHT}
      first = first or tag
      size = size + 1
      members[size] = member
      started[before + 2 * size - 1], started[before + 2 * size] = ${MEMBER.rest("member")}, names[index]
      local place = middle
      if pending > 1 then
        local score = tags[tag]
        if not score then
          score = format('%.17g', tag)
          tags[tag] = score
        end
        adds[#adds + 1] = score
        adds[#adds + 1] = found[index]
      else
        place = emptied
        drops[#drops + 1] = found[index]
      end
      sets[2 * size - 1], sets[2 * size] = stored[index], pack('${LIMIT_KEY.format("running", "pending")}', running + 1, waiting - 1, pending - 1) .. place
        .. pack('${KEY_LINE.format("size", "tag")}', pending - 1, tag) .. sub(text, ${lineAt("seq")})
    end
    if size == 0 then return end
    ring.time, ring.isMoved = time, true
    many('ZADD', ring.name, adds)
    many('ZREM', ring.name, drops)
    many('ZREM', B .. 'w:' .. format('%d', lane), members)
    for from = 1, 2 * size, 500 do call('MSET', unpack(sets, from, math.min(from + 499, 2 * size))) end
    count = size
  end
`;
