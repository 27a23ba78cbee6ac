/** SCHEDULES by name. A write succeeds only if nothing changed since the read; otherwise it is tried again. */
import { createdEvent } from "../core/event.ts";
import { auditEntry, detailsOf, type NewAuditEntry } from "../core/audit.ts";
import { MillraceError } from "../core/errors.ts";
import { type Status, toJob } from "../core/job.ts";
import { withTexts } from "../core/json-text.ts";
import { plainSchedule } from "../core/job-definition.ts";
import type { JobSettings } from "../core/job-options.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { demandInteger } from "../core/read-fields.ts";
import { partitionOf } from "../core/partition.ts";
import { MAX_PREVIEW, nextTick, parseTiming, previewTicks } from "../core/schedule.ts";
import { jobOfSchedule, readSchedule, readScheduleName, sameSchedule, withQueueDefaults } from "../core/schedule-input.ts";
import type { ScheduleRecord, ScheduleSpec } from "../core/schedule-record.ts";
import { canonicalJson } from "../core/unique.ts";
import type { Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import type { EnqueuedJob, Schedule, ScheduleInput, Schedules } from "./client.ts";
import type { CheckWebhookUrl, PayloadChecks } from "./enqueue.ts";
import type { DeclaredSettings } from "./declared-settings.ts";
import type { KnownTypes } from "./known-types.ts";
import type { QueueBounds } from "./queue-bounds.ts";
import { createdJob } from "./enqueue-answer.ts";
import { queueFull, readOptions, scheduleExists, scheduleNotFound } from "./refusals.ts";

/** How often we try again when others change a schedule between our read and our write. */
const MAX_TRIES = 50;
const DEFAULT_PREVIEW = 10;

export interface ScheduleParts extends ClientParts {
  readonly createId: (tenBits: number) => string;
  readonly defaults: JobSettings;
  readonly payloadChecks: PayloadChecks;
  readonly checkWebhookUrl: CheckWebhookUrl;
  /** Set with `strictTypes`. */
  readonly knownTypes: KnownTypes | null;
  /** Set with `queueCapacity`. */
  readonly bounds: QueueBounds | null;
  readonly declared: DeclaredSettings;
}

export function createSchedules(parts: ScheduleParts): Schedules {
  const { store } = parts;
  return {
    create: async (input, options) => create(parts, input, readWho(parts, options)),
    upsert: async (input, options) => upsert(parts, input, readWho(parts, options)),
    async get(name) {
      const { present } = await look(store, name);
      return present === null ? null : toSchedule(parts, present);
    },
    async list() {
      const { schedules } = await store.schedules("all");
      return (await Promise.all(schedules.map((schedule) => toSchedule(parts, schedule)))).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async remove(name, options) {
      const actor = readWho(parts, options);
      const isRemoved = await store.removeSchedule(readScheduleName(name));
      if (isRemoved) await parts.writeAudit([auditEntry("schedule:removed", actor, { schedule: name })]);
      return isRemoved;
    },
    pause: async (name, options) => setPaused(parts, name, true, readWho(parts, options)),
    resume: async (name, options) => setPaused(parts, name, false, readWho(parts, options)),
    async run(name, options) {
      const actor = readWho(parts, options);
      const job = await runNow(parts, name);
      await parts.writeAudit([auditEntry("schedule:run", actor, { schedule: name, jobId: job.id, queue: job.queue })]);
      return job;
    },
    preview: (schedule, count) => preview(store, schedule, count),
  };
}

function readWho({ actor }: ScheduleParts, options: unknown): Actor {
  return readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), actor);
}

async function create(parts: ScheduleParts, input: unknown, actor: Actor): Promise<Schedule> {
  const wanted = await readWanted(parts, input);
  let hasTried = false;
  return write(parts, wanted.name, savedEntry(wanted, input, actor), (present, now) => {
    // If we have tried to write this very schedule, it is ours: the answer was lost, and the repeat was refused.
    if (present !== null && hasTried && sameSchedule(present, wanted)) return null;
    if (present !== null) throw scheduleExists(wanted.name);
    hasTried = true;
    return { spec: { ...wanted, paused: false }, next: nextAfterChange(null, wanted, now) };
  });
}

async function upsert(parts: ScheduleParts, input: unknown, actor: Actor): Promise<Schedule> {
  const wanted = await readWanted(parts, input);
  return write(parts, wanted.name, savedEntry(wanted, input, actor), (present, now) => {
    if (present !== null && sameSchedule(present, wanted)) return null;
    return { spec: { ...wanted, paused: present?.paused ?? false }, next: nextAfterChange(present, wanted, now) };
  });
}

function savedEntry(wanted: ReturnType<typeof readSchedule>, input: unknown, actor: Actor): NewAuditEntry {
  const { type, queue } = wanted.job;
  const { cron, every } = input as ScheduleInput;
  return auditEntry("schedule:saved", actor, { schedule: wanted.name, queue, details: detailsOf({ type, cron, every }) });
}

/** Reads a schedule and checks it as a job is checked at enqueue. */
async function readWanted(parts: ScheduleParts, input: unknown): Promise<ReturnType<typeof readSchedule>> {
  const { clock, defaults, payloadChecks, checkWebhookUrl, knownTypes, bounds } = parts;
  const { fields, defined } = await plainSchedule(input);
  const wanted = readSchedule(fields, defaults, clock.now());
  if (wanted.job.webhookUrl !== null) await checkWebhookUrl(wanted.job.webhookUrl);
  if (defined !== null) knownTypes?.add(defined);
  await knownTypes?.check(wanted.job.type);
  await payloadChecks.get(wanted.job.type)?.(JSON.parse(wanted.job.payload));
  await bounds?.ensure(wanted.job.queue);
  return wanted;
}

/** A schedule with unchanged timing keeps its next tick, even one that is due: otherwise an edit could skip a run. */
function nextAfterChange(present: ScheduleRecord | null, wanted: ScheduleSpec, now: number): number | null {
  if (present !== null && canonicalJson(present.timing) === canonicalJson(wanted.timing)) return present.nextTick;
  return nextTick(wanted.timing, Math.max(now, present?.lastTick ?? now));
}

async function setPaused(parts: ScheduleParts, name: string, paused: boolean, actor: Actor): Promise<Schedule> {
  const entry = auditEntry(paused ? "schedule:paused" : "schedule:resumed", actor, { schedule: name });
  return write(parts, readScheduleName(name), entry, (present, now) => {
    if (present === null) throw scheduleNotFound(name);
    if (present.paused === paused) return null;
    // Ticks that passed while it was paused are not made up for: it continues with the next tick from now.
    const next = paused ? present.nextTick : nextTick(present.timing, Math.max(now, present.lastTick ?? now));
    return { spec: { ...specOf(present), paused }, next };
  });
}

type Change = { readonly spec: ScheduleSpec; readonly next: number | null } | null;

/** Reads, decides, and writes if nothing changed meanwhile; otherwise tries again. A null change leaves the schedule as it is. */
async function write(
  parts: ScheduleParts,
  name: string,
  entry: NewAuditEntry,
  decide: (present: ScheduleRecord | null, now: number) => Change,
): Promise<Schedule> {
  const { store, writeAudit } = parts;
  return untilUnchanged(store, name, async (present, now) => {
    const change = decide(present, now);
    if (change === null) return toSchedule(parts, present!);
    if (!(await store.putSchedule(change.spec, change.next, present?.version ?? null))) return null;
    await writeAudit([entry]);
    const written = await look(store, name);
    return toSchedule(parts, written.present ?? unseen(change, present, now));
  });
}

/** Reads and acts, and repeats while `act` returns null because the schedule changed in between. */
async function untilUnchanged<Answer>(
  store: Store,
  name: string,
  act: (present: ScheduleRecord | null, now: number) => Promise<Answer | null>,
): Promise<Answer> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { present, now } = await look(store, name);
    const answer = await act(present, now);
    if (answer !== null) return answer;
  }
  throw new MillraceError("store_unavailable", `schedule ${name} is being changed by too many callers at once; try again`, {
    retryAfterMs: 1000,
  });
}

/** What we wrote, if it was removed before we could read it back. */
function unseen({ spec, next }: NonNullable<Change>, present: ScheduleRecord | null, now: number): ScheduleRecord {
  const { lastTick = null, lastJobId = null, createdAt = now } = present ?? {};
  return { ...spec, version: 0, nextTick: next, lastTick, lastJobId, createdAt, updatedAt: now };
}

async function look(store: Store, name: string): Promise<{ present: ScheduleRecord | null; now: number }> {
  const { now, schedules } = await store.schedules([readScheduleName(name)]);
  return { present: schedules[0] ?? null, now };
}

/** A run by hand does not change the ticks. */
async function runNow(parts: ScheduleParts, name: string): Promise<EnqueuedJob> {
  const { store, createId, declared } = parts;
  return untilUnchanged(store, name, async (present, now) => {
    if (present === null) throw scheduleNotFound(name);
    const { queue } = present.job;
    const job = jobOfSchedule(present.job, createId(partitionOf(queue)), await declared.of(queue));
    const [answer] = await store.tick([{ name, version: present.version, tick: null, nextTick: present.nextTick, job }]);
    if (answer === "full") throw queueFull(job.queue, null, job.limitKey ?? undefined);
    if (answer !== "ticked") return null; // it changed since we read it
    const fresh = { kind: "created", status: "pending" as Status, createdAt: now, runAt: now } as const;
    if (parts.announcer.wanted()) parts.announcer.publish([createdEvent(job, fresh.createdAt)]);
    const [record] = await store.find([job.id]);
    const created = record ? { ...toJob(record), created: true, pruned: false } : createdJob(job, "pending", now, now);
    return withTexts(created, job.payload, record?.result);
  });
}

async function preview(store: Store, schedule: unknown, count: unknown = DEFAULT_PREVIEW): Promise<number[]> {
  const most = demandInteger(count, "count", 1, MAX_PREVIEW);
  if (typeof schedule === "object") {
    const timing = parseTiming(readOptions(schedule, "a schedule's timing", ["cron", "every", "timeZone"]));
    const { now } = await store.schedules([]);
    return previewTicks(timing, now, most);
  }
  const { present, now } = await look(store, readScheduleName(schedule));
  if (present === null) throw scheduleNotFound(schedule as string);
  return previewTicks(present.timing, now, most);
}

function specOf({ name, timing, job, catchUp, overlap, paused }: ScheduleRecord): ScheduleSpec {
  return { name, timing, job, catchUp, overlap, paused };
}

/** A schedule as clients return it, with the defaults that its queue has now. */
async function toSchedule({ declared }: ScheduleParts, record: ScheduleRecord): Promise<Schedule> {
  const { timing } = record;
  const job = withQueueDefaults(record.job, (await declared.of(record.job.queue)).defaults);
  const schedule: Schedule = {
    name: record.name,
    cron: timing.kind === "cron" ? timing.cron : null,
    every: timing.kind === "every" ? timing.everyMs : null,
    timeZone: timing.kind === "cron" ? timing.timeZone : null,
    type: job.type,
    payload: JSON.parse(job.payload) as unknown,
    queue: job.queue,
    priority: job.priority,
    maxRetries: job.maxRetries,
    maxLost: job.maxLost,
    retryDelay: job.retryDelayMs,
    backoff: job.backoff,
    timeout: job.timeoutMs,
    unset: record.job.unset ?? [],
    tags: job.tags,
    meta: job.meta === null ? null : (JSON.parse(job.meta) as Record<string, unknown>),
    limitKey: job.limitKey ?? null,
    cost: job.cost ?? 1,
    webhookUrl: job.webhookUrl,
    catchUp: record.catchUp,
    overlap: record.overlap,
    paused: record.paused,
    // A paused schedule has no next run, whatever its stored tick.
    nextRunAt: record.paused ? null : record.nextTick,
    lastRunAt: record.lastTick,
    lastJobId: record.lastJobId,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
  };
  return withTexts(schedule, job.payload);
}
