/** Notices: what jobs tell each other across commits. Codec in ../notices.ts. */
import { MAX_STEPS_READ_BYTES } from "../../../core/steps.ts";
import { MEMBER } from "../layout.ts";
import { RECORDS, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/** After RECORDS: stores notices, and counts them for the answer. */
export const LEAVE_NOTICE = `
local noticesLeft = 0
local function leaveNotice(text)
  local seq = redis.call('HINCRBY', B .. 'v', 'notices', 1)
  -- With its number, two equal notices are two.
  redis.call('ZADD', B .. 'nt', format('%.0f', seq), ${MEMBER.pack({})} .. text)
  noticesLeft = noticesLeft + 1
end
`;

/**
 * Reads the first notices: about as many bytes as one read of steps returns, and at least one.
 * In: now; limit; numbers to leave out …. Out: (number, text) …
 */
export const NOTICES: Script = script(
  "notices",
  TIME,
  RECORDS,
  `
local list, bytes, except, rank = {}, 0, {}, 0
for index = 3, #ARGV do except[ARGV[index]] = true end
while #list < 2 * tonumber(ARGV[2]) do
  local found = redis.call('ZRANGE', B .. 'nt', rank, rank, 'WITHSCORES')
  if not found[1] then break end
  if not except[found[2]] then
    bytes = bytes + #found[1]
    if #list > 0 and bytes > ${MAX_STEPS_READ_BYTES} then break end
    list[#list + 1] = found[2]
    list[#list + 1] = ${MEMBER.rest("found[1]")}
  end
  rank = rank + 1
end
return list
`,
);

/** In: now; numbers …. */
export const DROP_NOTICES: Script = script(
  "dropNotices",
  TIME,
  ALWAYS,
  `for index = 2, #ARGV do redis.call('ZREMRANGEBYSCORE', B .. 'nt', ARGV[index], ARGV[index]) end`,
);
