import { type Declared, declaredByQueue, NOTHING_DECLARED } from "../core/declared.ts";
import type { Event } from "../core/event.ts";
import { isTerminal, levelOf } from "../core/job.ts";
import { partitionOf } from "../core/partition.ts";
import { dueTick } from "../core/schedule.ts";
import { jobOfSchedule } from "../core/schedule-input.ts";
import type { ScheduleRecord } from "../core/schedule-record.ts";
import { idMakerOf } from "../lib/id.ts";
import type { Store, Tick } from "../store/store.ts";
import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 100;
const AFTER_OTHERS_MS = 250;

/** A tick that is at most this late was not missed: a busy or briefly suspended process is no downtime. */
const LATE_MS = 30_000;

const SKIPPED = {
  missed: "the tick was missed, and the schedule does not catch up",
  overlap: "the last run is unfinished",
  full: "the queue is full",
} as const;

interface Plan {
  readonly tick: Tick;
  /** Why the tick makes no job. */
  readonly skipped: keyof typeof SKIPPED | null;
}

/** Makes the jobs of schedules that are due. Rests until the next tick. */
export function recurDuty(parts: DutyParts): Duty {
  const { store, clock, restsMs, isStopping } = parts;
  const createId = idMakerOf(clock);
  return {
    wokenBy: ["schedules"],
    async turn() {
      for (;;) {
        const { now, schedules, nextInMs } = await store.dueSchedules(BATCH);
        const taken = schedules.length === 0 ? 0 : await takeTicks(parts, schedules, now, createId);
        if (schedules.length === 0 || isStopping()) return Math.min(nextInMs ?? Infinity, restsMs.recur);
        // After taking ticks, look again: one of these schedules may be the next. If another process took them, it looks again, so we need
        // not hurry.
        if (taken === 0) return AFTER_OTHERS_MS;
        await letOthersRun();
      }
    },
  };
}

async function takeTicks(
  { store, announce }: DutyParts,
  schedules: readonly ScheduleRecord[],
  now: number,
  createId: (tenBits: number) => string,
): Promise<number> {
  const unfinished = await unfinishedJobs(store, schedules);
  const declared = declaredByQueue(await store.queues());
  const plans = schedules.flatMap((schedule) => planOf(schedule, now, unfinished, createId, declared) ?? []);
  if (plans.length === 0) return 0;
  const answers = await store.tick(plans.map(({ tick }) => tick));
  if (announce.wanted()) announce.publish(plans.flatMap((plan, index) => eventsOf(plan, schedules, answers[index]!, now)));
  return answers.filter((answer) => answer !== "stale").length;
}

/** The last jobs that have not ended, of schedules that must not overlap. */
async function unfinishedJobs(store: Store, schedules: readonly ScheduleRecord[]): Promise<ReadonlySet<string>> {
  const ids = schedules.flatMap(({ overlap, lastJobId }) => (overlap === "skip" && lastJobId !== null ? [lastJobId] : []));
  if (ids.length === 0) return new Set();
  const jobs = await store.find(ids);
  return new Set(jobs.flatMap((job) => (job !== null && !isTerminal(job.status) ? [job.id] : [])));
}

function planOf(
  schedule: ScheduleRecord,
  now: number,
  unfinished: ReadonlySet<string>,
  createId: (tenBits: number) => string,
  declared: ReadonlyMap<string, Declared>,
): Plan | null {
  const { name, version, job, lastTick, lastJobId } = schedule;
  const due = dueTick(schedule, now, LATE_MS);
  if (due.tick === null && due.next === schedule.nextTick) return null;
  // A tick that makes no job is taken, too, or it would stay due. Zone rules may have moved it to before the last one.
  const tick = due.tick ?? Math.max(schedule.nextTick ?? now, (lastTick ?? -1) + 1);
  const overlaps = schedule.overlap === "skip" && lastJobId !== null && unfinished.has(lastJobId);
  const skipped = due.tick === null ? "missed" : overlaps ? "overlap" : null;
  const about = declared.get(job.queue) ?? NOTHING_DECLARED;
  const made = skipped === null ? jobOfSchedule(job, createId(partitionOf(job.queue)), about) : null;
  return { tick: { name, version, tick, nextTick: due.next, job: made }, skipped };
}

function eventsOf({ tick, skipped }: Plan, schedules: readonly ScheduleRecord[], answer: "ticked" | "stale" | "full", at: number): Event[] {
  if (answer === "stale") return [];
  const schedule = schedules.find(({ name }) => name === tick.name)!;
  const { queue, type, priority } = schedule.job;
  const why = answer === "full" ? "full" : skipped;
  if (why !== null) return [{ event: "schedule:skipped", at, schedule: tick.name, queue, reason: SKIPPED[why] }];
  return [{ event: "job:created", at, jobId: tick.job!.id, type, queue, priority, level: levelOf(priority) }];
}
