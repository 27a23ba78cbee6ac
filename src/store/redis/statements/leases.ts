import { STATE } from "../../numbers.ts";
import { BUCKET, bucketOf, LINE, RECORD } from "../layout.ts";
import { RECORDS, REFUSAL, TIME } from "./parts.ts";
import { ALWAYS, type Script, script } from "./script.ts";

/**
 * Extends leases.
 * In: now; (id, fence, lease) each. Out: one letter each: o ok, s stale, c cancelled.
 */
export const EXTEND: Script = script(
  "extend",
  TIME,
  RECORDS,
  REFUSAL,
  ALWAYS,
  `
local ids, answers, sets, leases, total = {}, {}, {}, {}, (#ARGV - 1) / 3
for index = 1, total do ids[index] = ARGV[3 * index - 1] end
local records = getJobs('${BUCKET.records}', ids)
for index, id in ipairs(ids) do
  local record, fence, answer = records[index], tonumber(ARGV[3 * index]), 's'
  if record then
    local state, flags, present = ${RECORD.open("record", "state", "flags", "fence")}
    if state == ${STATE.running} and present == fence then
      local untilWhen = now + tonumber(ARGV[3 * index + 1])
      sets[#sets + 1] = id
      sets[#sets + 1] = ${RECORD.cut("record", "state", "updatedAt")} .. pack('${RECORD.format("over", "over")}', untilWhen) .. ${RECORD.rest("record", "ran")}
      leases[#leases + 1] = untilWhen
      leases[#leases + 1] = ${RECORD.cut("record", "seq")} .. id
      answer = 'o'
    else answer = refusal(state, flags, present, fence) end
  end
  answers[index] = answer
end
setJobs('${BUCKET.records}', sets)
many('ZADD', B .. 'r', leases)
return table.concat(answers)
`,
);

/**
 * Writes progress and log lines.
 * In: now; the most lines of a job; (id, fence, progress or "", number of lines, lines …) each. Out: one letter each, as above.
 */
export const NOTE: Script = script(
  "note",
  TIME,
  RECORDS,
  REFUSAL,
  ALWAYS,
  `
local answers, p, most = {}, 3, tonumber(ARGV[2])
while p <= #ARGV do
  local id, fence, progress, lines, answer = ARGV[p], tonumber(ARGV[p + 1]), ARGV[p + 2], tonumber(ARGV[p + 3]), 's'
  local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
  if record then
    local given = fence
    local ${RECORD.names}, at = open(F, record)
    if state == ${STATE.running} and fence == given then
      local former = sub(record, at + wl, at + wl + pl - 1)
      if progress ~= '' then
        former = progress
        updatedAt = now
      end
      local texts = {}
      for line = 1, math.min(lines, most - logs) do texts[line] = ${LINE.pack({ at: "now" })} .. ARGV[p + 3 + line] end
      many('RPUSH', B .. 'o:' .. id, texts)
      redis.call('HSET', ${bucketOf("records", "id")}, id, ${RECORD.pack({ logs: "logs + #texts", pl: "#former" })}
        .. sub(record, at, at + wl - 1) .. former .. sub(record, at + wl + pl))
      answer = 'o'
    else answer = refusal(state, flags, fence, given) end
  end
  answers[#answers + 1] = answer
  p = p + 4 + lines
end
return table.concat(answers)
`,
);
