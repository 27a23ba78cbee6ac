/** Reads jobs by id. */
import { BUCKET, bucketOf } from "../layout.ts";
import { LANES, RECORDS, TIME } from "./parts.ts";
import { type Script, script } from "./script.ts";

/** In: now; ids. Out: { bodies, records (either may be nil), lanes as (number, queue, type) … } */
export const FIND: Script = script(
  "find",
  TIME,
  RECORDS,
  LANES,
  `
local ids = {}
for index = 2, #ARGV do ids[index - 1] = ARGV[index] end
local bodies, records = getJobs('${BUCKET.bodies}', ids), getJobs('${BUCKET.records}', ids)
for _, body in ipairs(bodies) do
  if body then
    laneOf(laneIn(body))
  end
end
return { bodies, records, laneNames() }
`,
);

/** In: now; id. Out: nil; or { record, history … }; the record is "" if nothing has changed the job yet. */
export const ATTEMPTS: Script = script(
  "attempts",
  TIME,
  `
local id, sub = ARGV[2], string.sub
if redis.call('HEXISTS', ${bucketOf("bodies", "id")}, id) == 0 then return nil end
return { redis.call('HGET', ${bucketOf("records", "id")}, id) or '', unpack(redis.call('LRANGE', B .. 'h:' .. id, 0, -1)) }
`,
);
