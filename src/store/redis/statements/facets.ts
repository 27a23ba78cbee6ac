import { FACETS_BEGIN } from "../codec.ts";

/** After RECORDS: the facets of jobs (see core/facets.ts), and the names of their indexes (see keys.ts). */
export const FACETS = `
-- They stand at the end of the client's own line.
local function facetsIn(body)
  local _, _, from = keyIn(body)
  local line = sub(body, from, string.find(body, '\\n', from, true) - 1)
  local _, at = string.find(line, '${FACETS_BEGIN}', 1, true)
  return at and cjson.decode(sub(line, at, -2)) or {}
end

-- Keys.facet makes the same name. Neither a queue nor a field has a space in it. No name of a key has a slash.
local NO_SLASH = { ['%'] = '%25', ['/'] = '%2F' }
local function facetIndex(queue, field, value)
  return B .. 'p:' .. queue .. ' ' .. string.gsub(field .. ' ' .. value, '[%%/]', NO_SLASH)
end
`;

/** After FACETS: whether a job has the wanted facets, which are an argument in JSON, or "" for none. */
export const wantedFacets = (argument: string): string => `
local wantedFacets = ${argument} ~= '' and cjson.decode(${argument}) or nil

local function hasFacets(body)
  if not wantedFacets then return true end
  local facets = facetsIn(body)
  for field, value in pairs(wantedFacets) do
    if facets[field] ~= value then return false end
  end
  return true
end
`;
