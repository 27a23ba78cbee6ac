/** What processes share besides jobs: workers, allowances, marks, mutes, the audit. Each script uses one key outside the partitions. */
import { SHARE, SLACK } from "../../../core/allowance.ts";
import { AUDIT_KEPT_MS, MAX_AUDIT_ENTRIES } from "../../../core/audit.ts";
import { MAX_MUTES } from "../../../core/mute.ts";
import { MAX_KEPT_SCHEMAS } from "../../../core/payload-schema.ts";
import { FORMER_WORKERS_MS, MAX_FORMER_WORKERS, STOPPED } from "../../../core/worker-entry.ts";
import { TIME } from "./parts.ts";
import { plainScript, type Script } from "./script.ts";

/** Writes a worker's entry, even if memory is full (see ALWAYS). In: now; id; time to live; JSON. */
export const REGISTER: Script = plainScript(
  "register",
  TIME,
  `redis.call('HDEL', KEYS[1], '')`,
  `redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f %.0f ', now + tonumber(ARGV[3]), now) .. ARGV[4])`,
);

/** Ends a worker's entry, even if memory is full. In: now; id. */
export const STOP_WORKER: Script = plainScript(
  "stopWorker",
  TIME,
  `
redis.call('HDEL', KEYS[1], '')
local entry = redis.call('HGET', KEYS[1], ARGV[2])
if entry and tonumber(string.match(entry, '^%d+')) > now then
  -- JSON that we wrote: inside a string the quotes would be escaped.
  entry = string.gsub(string.match(entry, '^%d+(.*)$'), '"state":"%l+"', '"state":"${STOPPED}"', 1)
  redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. entry)
end
`,
);

/** Entries by whether they have ended. In: now; 1 for those that have. */
export const WORKERS: Script = plainScript(
  "workers",
  TIME,
  `
local found = {}
for _, entry in ipairs(redis.call('HVALS', KEYS[1])) do
  if (tonumber(string.match(entry, '^%d+')) <= now) == (ARGV[2] == '1') then found[#found + 1] = entry end
end
return found
`,
);

/** Drops workers whose entry ended long ago, and those beyond the last MAX_FORMER_WORKERS that have ended. In: now; limit. Out: how many. */
export const SWEEP_WORKERS: Script = plainScript(
  "sweepWorkers",
  TIME,
  `
local removed, former, all = 0, {}, redis.call('HGETALL', KEYS[1])
for index = 1, #all, 2 do
  local over = tonumber(string.match(all[index + 1], '^%d+'))
  if over <= now then former[#former + 1] = { over = over, id = all[index] } end
end
table.sort(former, function (a, b) return a.over > b.over or (a.over == b.over and a.id < b.id) end)
for index, worker in ipairs(former) do
  if removed == tonumber(ARGV[2]) then break end
  if index > ${MAX_FORMER_WORKERS} or worker.over <= now - ${FORMER_WORKERS_MS} then
    redis.call('HDEL', KEYS[1], worker.id)
    removed = removed + 1
  end
end
return removed
`,
);

/**
 * Takes a share of an allowance, as takeShare in core/allowance.ts defines. The key expires when the allowance is unused again.
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

/** Sets a mark, which expires by itself. In: now; time to live. */
export const MARK: Script = plainScript(
  "mark",
  TIME,
  `redis.call('SET', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), 'PX', ARGV[2])`,
);

/** Keeps a schema of payloads, which expires by itself. In: now; time to live; text. */
export const PUT_SCHEMA: Script = plainScript(
  "putSchema",
  TIME,
  `redis.call('SET', KEYS[1], string.format('%.0f ', now + tonumber(ARGV[2])) .. ARGV[3], 'PX', ARGV[2])`,
);

/** Notes until when schemas are kept. In: now; time to live; digest … */
export const NOTE_SCHEMAS: Script = plainScript(
  "noteSchemas",
  TIME,
  `
local till = string.format('%.0f', now + tonumber(ARGV[2]))
for index = 3, #ARGV do redis.call('ZADD', KEYS[1], till, ARGV[index]) end
`,
);

/** Forgets schemas that have expired, and those beyond the latest MAX_KEPT_SCHEMAS. In: now; limit. Out: digest and until of each of these. */
export const SWEEP_SCHEMAS: Script = plainScript(
  "sweepSchemas",
  TIME,
  `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
local beyond = math.min(redis.call('ZCARD', KEYS[1]) - ${MAX_KEPT_SCHEMAS}, tonumber(ARGV[2]))
if beyond <= 0 then return {} end
local found = redis.call('ZRANGE', KEYS[1], 0, beyond - 1, 'WITHSCORES')
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, beyond - 1)
return found
`,
);

/** Drops a schema, unless it was kept anew. In: now; until. Out: how many. */
export const DROP_SCHEMA: Script = plainScript(
  "dropSchema",
  TIME,
  `
local kept = redis.call('GET', KEYS[1])
if not kept or tonumber(string.match(kept, '^%d+')) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
`,
);

/** Mutes an error group: "until at JSON", with an until of 0 if it does not expire. In: now; group; time to live or ""; JSON. */
export const MUTE: Script = plainScript(
  "mute",
  TIME,
  `
local ttl = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f %.0f ', ttl and now + ttl or 0, now) .. ARGV[4])
`,
);

/** Drops mutes that have expired, and those beyond the latest MAX_MUTES that have not. In: now; limit. Out: how many. */
export const SWEEP_MUTES: Script = plainScript(
  "sweepMutes",
  TIME,
  `
local expired, living, all = {}, {}, redis.call('HGETALL', KEYS[1])
for index = 1, #all, 2 do
  local till, at = string.match(all[index + 1], '^(%d+) (%d+) ')
  if till ~= '0' and tonumber(till) <= now then expired[#expired + 1] = all[index]
  else living[#living + 1] = { group = all[index], at = tonumber(at) } end
end
table.sort(living, function (a, b) return a.at > b.at or (a.at == b.at and a.group < b.group) end)
for index = ${MAX_MUTES + 1}, #living do expired[#expired + 1] = living[index].group end
local removed = math.min(#expired, tonumber(ARGV[2]))
for index = 1, removed do redis.call('HDEL', KEYS[1], expired[index]) end
return removed
`,
);

/**
 * Adds entries to the audit: "number time JSON" each. `last` keeps the last number, so that numbers rise even if all entries are gone.
 * In: now; JSON …
 */
export const WRITE_AUDIT: Script = plainScript(
  "writeAudit",
  TIME,
  `
local number = -tonumber(redis.call('ZSCORE', KEYS[1], 'last') or 0)
redis.call('ZADD', KEYS[1], 1 - number - #ARGV, 'last')
for index = 2, #ARGV do
  number = number + 1
  redis.call('ZADD', KEYS[1], number, string.format('%.0f %.0f ', number, now) .. ARGV[index])
end
`,
);

/** Drops old entries of the audit; `last` comes before them and stays. In: now; limit. Out: how many. */
export const SWEEP_AUDIT: Script = plainScript(
  "sweepAudit",
  TIME,
  `
local beyond, removed = redis.call('ZCARD', KEYS[1]) - 1 - ${MAX_AUDIT_ENTRIES}, 0
for index, entry in ipairs(redis.call('ZRANGE', KEYS[1], 1, ARGV[2])) do
  if index > beyond and tonumber(string.match(entry, '^%d+ (%d+)')) >= now - ${AUDIT_KEPT_MS} then break end
  removed = index
end
if removed > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 1, removed) end
return removed
`,
);
