/** The options of a schedule. */
import type { Schedule, ScheduleInput, ScheduleTiming } from "../client/client.ts";
import { ATTEMPT_OPTION_NAMES } from "../core/attempt-options.ts";
import { usualMaxLost } from "../core/job.ts";
import { payloadOf } from "../core/json-text.ts";
import { text, time } from "./command.ts";
import { JOB_INPUT, readJobInput, readJson } from "./job-input.ts";
import type { Session } from "./session.ts";

/** When it fires. */
export const TIMING_INPUT = {
  cron: text("<cron>", 'a cron expression of 5 fields, or 6 with seconds first: "0 3 * * *", @hourly'),
  timeZone: text("<zone>", "the time zone of the cron: Europe/Berlin (default: UTC)"),
  every: time("the interval, instead of --cron: 10s, 5m, 1h"),
} as const;

export const SCHEDULE_INPUT = {
  type: text("<type>", "the type of its jobs"),
  payload: text("<json>", "the payload of its jobs; @file reads a file, - reads stdin"),
  ...TIMING_INPUT,
  catchUp: text("<one|skip>", "after downtime: one job for the latest missed tick (the default), or none", ["one", "skip"]),
  overlap: text("<allow|skip>", "whether it fires while its last job has not ended (default: allow)", ["allow", "skip"]),
  ...JOB_INPUT,
} as const;

type Input = { readonly [Name in keyof typeof SCHEDULE_INPUT]: ReturnType<(typeof SCHEDULE_INPUT)[Name]["read"]> };

/** The fields that were given. The client refuses what is missing or contradictory. */
export async function readScheduleInput(name: string, input: Input, session: Session): Promise<ScheduleInput> {
  const { type, cron, timeZone, every, catchUp, overlap } = input;
  const payload = input.payload === undefined ? undefined : await readJson(input.payload, "--payload", session);
  const given = { name, type, payload, cron, timeZone, every, catchUp, overlap, ...(await readJobInput(input, session)) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as ScheduleInput;
}

/** A stored schedule with changes: other fields stay, and a new kind of timing replaces the old one. */
export function changedSchedule(stored: Schedule, changes: ScheduleInput): ScheduleInput {
  const { name, type, queue, priority, maxRetries, maxLost, tags, meta, limitKey, cost, webhookUrl, catchUp, overlap } = stored;
  const payload = payloadOf(stored);
  const kept = { name, type, payload, queue, priority, tags, cost, catchUp, overlap };
  // What it does not set stays open for its queue. A default that follows from maxRetries must follow it when it changes.
  const unset = maxLost === usualMaxLost(maxRetries) ? [...stored.unset, "maxLost"] : stored.unset;
  const options = ATTEMPT_OPTION_NAMES.flatMap((option) => (unset.includes(option) ? [] : [[option, stored[option]]]));
  const given = Object.entries({ meta, limitKey, webhookUrl }).filter(([, value]) => value !== null);
  return { ...kept, ...Object.fromEntries([...options, ...given]), ...keptTiming(stored, changes), ...changes } as ScheduleInput;
}

function keptTiming({ cron, every, timeZone }: Schedule, changes: ScheduleInput): Partial<ScheduleTiming> {
  if (changes.every !== undefined) return {};
  if (cron !== null) return { cron, ...(timeZone === null ? {} : { timeZone }) };
  return changes.cron === undefined && every !== null ? { every } : {};
}
