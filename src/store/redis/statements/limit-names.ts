/** Lua: part of a queue's names of keys, with the letter of the kind. See keys.ts. */
export const limitsKey = (letter: string, queue: string): string => `B .. 'l${letter}:' .. ${queue}`;

/** Lua, after TIME: the name of a limit key inside names of keys. */
export const NAMED = `
local NO_SLASH = { ['%'] = '%25', ['/'] = '%2F' }
local function named(key)
  if string.find(key, '[%%/]') then return (string.gsub(key, '[%%/]', NO_SLASH)) end
  return key
end

-- The same for many keys, each after a prefix. To look at all of them at once is much faster than at each.
local function namedAll(prefix, keys)
  local list, all = {}, table.concat(keys)
  if string.find(all, '%', 1, true) or string.find(all, '/', 1, true) then
    for index = 1, #keys do list[index] = prefix .. named(keys[index]) end
  else
    for index = 1, #keys do list[index] = prefix .. keys[index] end
  end
  return list
end
`;
