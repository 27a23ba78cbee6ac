/** A DRAFT OF A SCHEDULE: every field as in the form; and the same as the API takes it. */
import { ATTEMPT_OPTION_NAMES, type AttemptOption } from "../../../core/attempt-options.ts";
import { type Duration, formatDuration } from "../../../core/duration.ts";
import { PRIORITY_LEVELS } from "../../../core/job.ts";
import type { Client, Schedule, ScheduleInput } from "../../api.ts";
import { payloadOf, prettyJson } from "../../../core/json-text.ts";
import { readJson } from "../../enqueue/draft.ts";
import { priorityName } from "../../parts/priority.tsx";

/** When it runs, as text. */
export interface TimingDraft {
  readonly kind: "cron" | "every";
  readonly cron: string;
  readonly timeZone: string;
  readonly every: string;
}

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

/** The first content of the form. */
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
  return {
    name: schedule.name,
    type: schedule.type,
    payload: prettyJson(payloadOf(schedule)),
    kind: schedule.cron === null ? "every" : "cron",
    cron: schedule.cron ?? "0 3 * * *",
    timeZone: schedule.timeZone ?? "UTC",
    every: schedule.every === null ? "10m" : formatDuration(schedule.every),
    queue: schedule.queue,
    priority: String(priorityName(schedule.priority)),
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

/** Reads the form. Fields of a stored schedule that it does not show stay as they are. */
export function readForm(draft: ScheduleDraft, stored: Schedule | null): ReadSchedule {
  const problems: { -readonly [Field in keyof ScheduleDraft]?: string } = {};
  if (draft.name.trim() === "") problems.name = "Name is required.";
  if (draft.type.trim() === "") problems.type = "Type is required.";
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
): Partial<Pick<ScheduleInput, AttemptOption | "tags" | "meta" | "limitKey" | "cost" | "webhookUrl">> {
  if (stored === null) return {};
  const { unset, tags, meta, limitKey, cost, webhookUrl } = stored;
  return {
    ...Object.fromEntries(ATTEMPT_OPTION_NAMES.flatMap((name) => (unset.includes(name) ? [] : [[name, stored[name]]]))),
    tags,
    ...(meta === null ? {} : { meta }),
    ...(limitKey === null ? {} : { limitKey }),
    cost,
    ...(webhookUrl === null ? {} : { webhookUrl }),
  };
}
