import { REPEAT_REMEMBERED_MS } from "../../store.ts";

/**
 * After TIME: a try of a claim that arrives after its repeat takes nothing, because nobody waits for its answer. The repeat leaves a mark
 * for it: if the worker repeats, for the whole turn ("worker turn"), with the name of the repeat; if the store repeats, for this try only,
 * because other looks of the same turn may follow.
 */
export const MARK_OF_TRY = `
local function markOf(name) return B .. 'y:' .. name end
`;

/** After MARK_OF_TRY. */
export const REPEATS = `
local function isLate(claim)
  local asker = redis.call('GET', markOf(claim.worker .. ' ' .. claim.turn))
  return asker and asker ~= claim.asker
end

local function markRepeat(claim, try)
  if try ~= '' then redis.call('SET', markOf(try), 1, 'PX', ${REPEAT_REMEMBERED_MS})
  else redis.call('SET', markOf(claim.worker .. ' ' .. claim.turn), claim.asker, 'PX', ${REPEAT_REMEMBERED_MS}, 'NX') end
end
`;
