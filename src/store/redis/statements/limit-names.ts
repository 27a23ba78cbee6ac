/** Lua: part of a queue's names of keys, with the letter of the kind. See keys.ts. */
export const limitsKey = (letter: string, queue: string): string => `B .. 'l${letter}:' .. ${queue}`;

/** Lua, after TIME: the name of a limit key inside names of keys. */
export const NAMED = `
local NO_SLASH = { ['%'] = '%25', ['/'] = '%2F' }
local function named(key)
  if string.find(key, '[%%/]') then return (string.gsub(key, '[%%/]', NO_SLASH)) end
  return key
end
`;
