import { ID_CHARS, KIND_DIGITS, LENGTH_DIGITS, LIMIT_DIGITS } from "../layout.ts";

/** Where the id, the length of the key, and the key begin in the argument of a job. */
export const ID_FROM = 1 + KIND_DIGITS;
export const LENGTH_FROM = ID_FROM + ID_CHARS;
export const KEY_FROM = LENGTH_FROM + LENGTH_DIGITS;

/** A part of INSERT_JOBS, after LIMITS: reads the costs and limit keys of jobs, and refuses those of a key that is full. */
export const INSERT_LIMITS = `
-- The cost and the limit key of a job, and where its body begins.
local function readLimit(argument, at)
  local cost, length = tonumber(sub(argument, at, at + ${LIMIT_DIGITS.cost - 1})), tonumber(sub(argument, at + ${LIMIT_DIGITS.cost}, at + ${LIMIT_DIGITS.cost + LIMIT_DIGITS.length - 1}))
  at = at + ${LIMIT_DIGITS.cost + LIMIT_DIGITS.length}
  return { cost = cost, name = sub(argument, at, at + length - 1), bodyAt = at + length }
end

-- Answers a job whose limit key has as many waiting jobs as it may have. Whether it did; otherwise the key has one more from now on.
local function isFull(i, kind, limit)
  local queue, key = kind.queue, limits().key(kind.queue, limit.name)
  local most = limits().limitsOf(key).waiting
  if not most or key.waiting < most or kind.isCalled then
    key.waiting = key.waiting + 1
    return false
  end
  -- The job takes no place of the queue.
  if queue.room then queue.room = queue.room + 1 end
  answer(i, 'l', most)
  return true
end

-- Reads the limit keys of all jobs at once.
local function loadLimits(ids)
  local byQueue, all = {}, {}
  for i = 1, #ids do
    local argument = ARGV[first + i - 1]
    local kind = kinds[sub(argument, 1, ${KIND_DIGITS})]
    if kind.costed then
      local at = kind.keyed and ${KEY_FROM} + tonumber(sub(argument, ${LENGTH_FROM}, ${KEY_FROM - 1})) or ${LENGTH_FROM}
      local limit = readLimit(argument, at)
      all[i] = limit
      if kind.isLimited then
        local names = byQueue[kind.queue] or {}
        byQueue[kind.queue] = names
        names[#names + 1] = limit.name
      end
    end
  end
  for queue, names in pairs(byQueue) do limits().load(queue, names) end
  return all
end
`;
