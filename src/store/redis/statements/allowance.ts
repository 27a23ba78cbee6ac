import { SHARE, SLACK } from "../../../core/allowance.ts";
import { TIME } from "./parts.ts";
import { plainScript, type Script } from "./script.ts";

/**
 * Takes a share of an allowance, as takeShare in core/allowance.ts says. The key vanishes when nothing of it is in use any more.
 * In: now; units; the time in which they come back. Out: what was taken; how long to wait.
 */
export const SPEND: Script = plainScript(
  "spend",
  TIME,
  `
local units, per = tonumber(ARGV[2]), tonumber(ARGV[3])
local interval = per / units
local from = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or now), now), now + per)
local function keep(freeAt)
  redis.call('SET', KEYS[1], string.format('%.17g', freeAt), 'PX', string.format('%.0f', math.max(1, math.ceil(freeAt - now))))
end
local left = math.floor((now + per - from) / interval + ${SLACK})
if left < 1 then
  keep(from)
  return {0, math.max(1, math.ceil(from + interval - per - now))}
end
local taken = math.max(1, math.floor(left / ${SHARE}))
keep(from + taken * interval)
return {taken, 0}
`,
);
