import { BUCKET, FORM, settingsOf, tagOf } from "../layout.ts";
import { KEY_BUCKET, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/**
 * THE FORM OF A PARTITION. Form 1, of version 0.1, has no buckets: all bodies are in a hash `j`, all records in `s`, all changes by hand in
 * `u`, all idempotency keys in `k`; and the settings of a queue are `q:<queue>`. From form 2 on these names are texts, and `j` says the form.
 *
 * A partition is moved in three steps. CLOSE gives the old keys other names, all in one script, and writes the texts. MOVE moves their
 * entries to the buckets, some per call. FINISH gives the queues their settings and writes the number of the form.
 *
 * So version 0.1 finds either everything or nothing. Each of its scripts reads one of these names before it changes a job, and fails with
 * WRONGTYPE if that is a text. A claim first reads the settings of its queue and then takes jobs out of their line, so every queue needs its text, also
 * one that version 0.1 never used: it could still be told to pause it, and would then know it.
 *
 * Until FINISH, scripts of this version find no settings of a queue. So they take nothing from it, and ask for its registration before they
 * insert, which continues the move (see QueueRegistry).
 */

/** The hashes of form 1, and how the names of their buckets begin; "" for idempotency keys. */
export const FORMER = { j: BUCKET.bodies, s: BUCKET.records, u: BUCKET.changes, k: "" } as const;

/** Lua: the old name of the settings of `queue`. */
const OLD_SETTINGS = "'q:' .. queue";

/** What `j` says during a move. */
const MOVING = "moving";

/** Lua: the other names of old keys; and of the set of queues whose settings are among them. */
const formerOf = (name: string): string => `B .. 'former:' .. ${name}`;
const FORMER_QUEUES = formerOf("'queues'");

/** After TIME. */
const OLD_NAMES = `
local OLD = { ${Object.keys(FORMER)
  .map((name) => `'${name}'`)
  .join(", ")} }
local function isHash(key) return redis.call('TYPE', key).ok == 'hash' end

-- What \`j\` says, if it is a text.
local function saidForm()
  return redis.call('TYPE', B .. 'j').ok == 'string' and redis.call('GET', B .. 'j')
end

-- The queues of the arguments, and those that had jobs: their names may be missing outside the partition.
local function allQueues()
  local names, seen = {}, {}
  local function note(name)
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  for index = 2, #ARGV do note(ARGV[index]) end
  for _, lane in ipairs(redis.call('HKEYS', B .. 'l')) do note(string.match(lane, '^[^ ]*')) end
  return names
end
`;

/** In: now; its queues …. Out: the form of the partition, 1 also during a move; 0 if it has none yet. */
export const FORM_OF: Script = script(
  "formOf",
  TIME,
  OLD_NAMES,
  `
local said = saidForm()
if said then return tonumber(said) or 1 end
for _, name in ipairs(OLD) do
  if isHash(B .. name) then return 1 end
end
for _, queue in ipairs(allQueues()) do
  if isHash(B .. ${OLD_SETTINGS}) then return 1 end
end
return 0
`,
);

/**
 * Begins the move of a partition, or makes a new one of the present form. It costs as much as there are queues, however many jobs they have.
 * In: now; its queues …. Out: { the number of the present form: done; 1: there is something to move; else a newer form, and nothing was done;
 *     the queues whose settings are moved … }
 */
export const CLOSE: Script = script(
  "close",
  TIME,
  OLD_NAMES,
  `
local said = saidForm()
if said and tonumber(said) and tonumber(said) > ${FORM} then return { tonumber(said) } end
local moves, queues = said == '${MOVING}', {}
if said == '${FORM}' then
  for index = 2, #ARGV do queues[index - 1] = ARGV[index] end
else queues = allQueues() end
${ALWAYS}
for _, name in ipairs(OLD) do
  if isHash(B .. name) then
    redis.call('RENAME', B .. name, ${formerOf("name")})
    moves = true
  end
  redis.call('SET', B .. name, ${FORM})
end
for _, queue in ipairs(queues) do
  if isHash(B .. ${OLD_SETTINGS}) then
    redis.call('RENAME', B .. ${OLD_SETTINGS}, ${formerOf(OLD_SETTINGS)})
    redis.call('SADD', ${FORMER_QUEUES}, queue)
    moves = true
  end
  redis.call('SET', B .. ${OLD_SETTINGS}, ${FORM})
end
if not moves then return { ${FORM} } end
redis.call('SET', B .. 'j', '${MOVING}')
local answer = redis.call('SMEMBERS', ${FORMER_QUEUES})
table.insert(answer, 1, 1)
return answer
`,
);

/** One call moves about this many entries, or entries of this size, and looks at this many places of the hash. Others wait meanwhile. */
const MOST_ENTRIES = 100;
const MOST_BYTES = 2 ** 20;
const MOST_PLACES = 1_000;

/**
 * Moves some entries of an old hash to their buckets. All of one call are moved, or none, so the move may stop anywhere, and several
 * processes may do it at once. It looks at one place at a time, because a scan reads all values that it finds, and each may have 1 MiB.
 * In: now; name of the hash; how the names of its buckets begin, or "" for idempotency keys; cursor. Out: the next cursor, "0" at the end.
 */
export const MOVE: Script = script(
  "move",
  TIME,
  KEY_BUCKET,
  `
local sub, key, kind, cursor = string.sub, ${formerOf("ARGV[2]")}, ARGV[3], ARGV[4]
${ALWAYS}
local entries, bytes, places = 0, 0, 0
repeat
  local found = redis.call('HSCAN', key, cursor, 'COUNT', 1)
  cursor, places = found[1], places + 1
  for index = 1, #found[2], 2 do
    local field, value = found[2][index], found[2][index + 1]
    redis.call('HSET', kind == '' and keyBucket(field) or B .. kind .. ${tagOf("field")}, field, value)
    redis.call('HDEL', key, field)
    entries, bytes = entries + 1, bytes + #value
  end
until cursor == '0' or entries >= ${MOST_ENTRIES} or bytes >= ${MOST_BYTES} or places >= ${MOST_PLACES}
return cursor
`,
);

/**
 * Ends the move of a partition. Settings that a queue has already are newer than its old ones.
 * In: now. Out: 1 done, maybe by another process; 0 there is still something to move.
 */
export const FINISH: Script = script(
  "finish",
  TIME,
  OLD_NAMES,
  `
if saidForm() ~= '${MOVING}' then return 1 end
for _, name in ipairs(OLD) do
  if redis.call('EXISTS', ${formerOf("name")}) == 1 then return 0 end
end
${ALWAYS}
for _, queue in ipairs(redis.call('SMEMBERS', ${FORMER_QUEUES})) do
  local old = ${formerOf(OLD_SETTINGS)}
  local settings = redis.call('HGETALL', old)
  for index = 1, #settings, 2 do redis.call('HSETNX', ${settingsOf("queue")}, settings[index], settings[index + 1]) end
  redis.call('DEL', old)
end
redis.call('DEL', ${FORMER_QUEUES})
redis.call('SET', B .. 'j', ${FORM})
return 1
`,
);
