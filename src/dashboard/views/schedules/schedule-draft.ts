/** A SCHEDULE THAT IS BEING WRITTEN: every field as it stands in the form; and the same as the API takes it. */
import { type Duration, formatDuration } from "../../../core/duration.ts";
import { PRIORITY_LEVELS } from "../../../core/job.ts";
import type { Client, Schedule, ScheduleInput } from "../../api.ts";
import { payloadOf, prettyJson } from "../../../core/json-text.ts";
import { readJson } from "../../enqueue/draft.ts";

/** When it fires, as text. */
export interface TimingDraft {
  readonly kind: "cron" | "every";
  readonly cron: string;
  readonly timeZone: string;
  readonly every: string;
}

/** The fields of the form. */
export interface ScheduleDraft extends TimingDraft {
  readonly name: string;
  readonly type: string;
  readonly payload: string;
  readonly queue: string;
  readonly priority: string;
  readonly catchUp: "one" | "skip";
  readonly overlap: "allow" | "skip";
}

type Timing = Exclude<Parameters<Client["schedules"]["preview"]>[0], string>;

/** What the form begins with. */
export function formOf(schedule: Schedule | null): ScheduleDraft {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (schedule === null) {
    return {
      name: "",
      type: "",
      payload: "{}",
      kind: "cron",
      cron: "0 3 * * *",
      timeZone: zone,
      every: "10m",
      queue: "",
      priority: "default",
      catchUp: "one",
      overlap: "allow",
    };
  }
  const level = Object.entries(PRIORITY_LEVELS).find(([, value]) => value === schedule.priority)?.[0];
  return {
    name: schedule.name,
    type: schedule.type,
    payload: prettyJson(payloadOf(schedule)),
    kind: schedule.cron === null ? "every" : "cron",
    cron: schedule.cron ?? "0 3 * * *",
    timeZone: schedule.timeZone ?? "UTC",
    every: schedule.every === null ? "10m" : formatDuration(schedule.every),
    queue: schedule.queue,
    priority: level ?? String(schedule.priority),
    catchUp: schedule.catchUp,
    overlap: schedule.overlap,
  };
}

/** The timing as the API takes it. */
export function timingOf({ kind, cron, timeZone, every }: TimingDraft): Timing {
  return kind === "every" ? { every: every.trim() as Duration } : { cron: cron.trim(), timeZone };
}

/** What the API takes, or what is wrong. */
export type ReadSchedule =
  | { readonly ok: true; readonly schedule: ScheduleInput }
  | { readonly ok: false; readonly problems: Partial<Record<keyof ScheduleDraft, string>> };

/** Reads the form. What it does not show of a stored schedule stays as it was. */
export function readForm(draft: ScheduleDraft, stored: Schedule | null): ReadSchedule {
  const problems: { -readonly [Field in keyof ScheduleDraft]?: string } = {};
  if (draft.name.trim() === "") problems.name = "A schedule needs a name.";
  if (draft.type.trim() === "") problems.type = "Its jobs need a type.";
  const payload = readJson(draft.payload, (problem) => (problems.payload = problem));
  if (Object.keys(problems).length > 0) return { ok: false, problems };
  const schedule: ScheduleInput = {
    name: draft.name.trim(),
    type: draft.type.trim(),
    payload,
    ...timingOf(draft),
    ...(draft.queue.trim() === "" ? {} : { queue: draft.queue.trim() }),
    priority: Object.hasOwn(PRIORITY_LEVELS, draft.priority) ? (draft.priority as keyof typeof PRIORITY_LEVELS) : Number(draft.priority),
    catchUp: draft.catchUp,
    overlap: draft.overlap,
    ...keptOf(stored),
  };
  return { ok: true, schedule };
}

function keptOf(
  stored: Schedule | null,
): Partial<Pick<ScheduleInput, "maxRetries" | "maxLost" | "retryDelay" | "timeout" | "tags" | "meta" | "webhookUrl">> {
  if (stored === null) return {};
  const { maxRetries, maxLost, retryDelay, timeout, tags, meta, webhookUrl } = stored;
  return {
    maxRetries,
    maxLost,
    retryDelay,
    timeout,
    tags,
    ...(meta === null ? {} : { meta }),
    ...(webhookUrl === null ? {} : { webhookUrl }),
  };
}
