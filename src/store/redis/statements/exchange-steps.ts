import { ENDED_STATES } from "../../numbers.ts";
import { bucketOf, RECORD } from "../layout.ts";
import { bodyWith, follow, PARTS } from "./exchange.ts";
import { FACETS } from "./facets.ts";
import { idIn } from "./insert.ts";
import { LEAVE_NOTICE } from "./notices.ts";
import { isOneOf } from "./parts.ts";
import { type Script, script } from "./script.ts";
import { ARGS_OF_STEP, STEPS_OF_JOB, SUSPEND } from "./steps.ts";

/** What settlements have of waits and notices, by their number; and the notices for jobs that they call. */
const READ = `
local p = 3
local durable, isApplied, callTexts = {}, {}, {}
for index = 1, tonumber(ARGV[2]) do
  local waits = tonumber(ARGV[p + 1])
  local entry = { first = p + 2, waits = waits, notices = {} }
  durable[tonumber(ARGV[p])] = entry
  p = p + 2 + ${ARGS_OF_STEP} * waits
  for place = 1, tonumber(ARGV[p]) do entry.notices[place] = ARGV[p + place] end
  p = p + 1 + #entry.notices
end
local texts = tonumber(ARGV[p])
for index = 1, texts do callTexts[index] = ARGV[p + index] end
p = p + 1 + texts
`;

const BODY = bodyWith({
  before: `
            local entry = durable[index]
            if entry and entry.waits > 0 then record, shape, delay = suspend(id, record, shape, delay, entry.first, entry.waits) end`,
  applied: `
          isApplied[index] = true
          for _, text in ipairs(durable[index] and durable[index].notices or {}) do leaveNotice(text) end`,
});

/** A called job that is known and has ended: whoever delivers its notice tells its end again. */
const TELL_ENDED = `
  local place = 0
  for index, number in ipairs(after) do
    if answers[number] == 'o' and (isApplied[number] or not durable[number]) then
      place = place + 1
      if callTexts[index] ~= '' and letters[place] == 'i' then
        local id = ${idIn("ARGV[first + place - 1]")}
        local record = redis.call('HGET', ${bucketOf("records", "id")}, id)
        local state = record and ${RECORD.open("record", "state")}
        if ${isOneOf("state", ENDED_STATES)} then leaveNotice(callTexts[index]) end
      end
    end
  end
`;

/**
 * Settles and claims as EXCHANGE_FOLLOWED does, with settlements that have waits, calls or a notice.
 *
 * In: now; number of such settlements, (its number among all, number of waits, waits as KEEP_STEPS reads steps, number of notices, notices …)
 *     each; number of jobs to insert, for each the notice to leave if it has ended before, or ""; then as EXCHANGE_FOLLOWED: the numbers
 *     of settlements may repeat.
 * Out: as there; and how many notices it left.
 */
export const EXCHANGE_STEPS: Script = script(
  "exchangeSteps",
  ...PARTS,
  STEPS_OF_JOB,
  LEAVE_NOTICE,
  SUSPEND,
  READ,
  BODY,
  FACETS,
  follow("answers[number] == 'o' and (isApplied[number] or not durable[number])", TELL_ENDED),
  "return { now, table.concat(answers), claims, laneNames(), withoutDeadLetters(), ringList(), noticesLeft }",
);
