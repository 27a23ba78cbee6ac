import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { Tick } from "../store.ts";
import type { Context } from "./context.ts";
import { insertJob } from "./insert.ts";
import { untilNext } from "./upkeep.ts";

export class Schedules {
  readonly byName = new Map<string, ScheduleRecord>();
  #lastVersion = 0;

  /** Rises across all names and with time, so that a schedule that is removed and made again never has an old version. */
  nextVersion(now: number): number {
    return (this.#lastVersion = Math.max(now, this.#lastVersion + 1));
  }
}

export function findSchedules({ schedules, now }: Context, names: readonly string[] | "all"): { now: number; schedules: ScheduleRecord[] } {
  const found = names === "all" ? [...schedules.byName.values()] : names.map((name) => schedules.byName.get(name));
  return { now, schedules: structuredClone(found.filter((schedule) => schedule !== undefined)) };
}

export function putSchedule(
  { schedules, feed, now }: Context,
  spec: ScheduleSpec,
  nextTick: number | null,
  expected: number | null,
): boolean {
  const stored = schedules.byName.get(spec.name);
  if ((stored?.version ?? null) !== expected) return false;
  const { lastTick = null, lastJobId = null, createdAt = now } = stored ?? {};
  const version = schedules.nextVersion(now);
  schedules.byName.set(spec.name, { ...structuredClone(spec), version, nextTick, lastTick, lastJobId, createdAt, updatedAt: now });
  feed.sendHint("schedules");
  return true;
}

export function removeSchedule({ schedules, feed }: Context, name: string): boolean {
  const isRemoved = schedules.byName.delete(name);
  if (isRemoved) feed.sendHint("schedules");
  return isRemoved;
}

/** The longest due first. */
export function dueSchedules(
  { schedules, now }: Context,
  limit: number,
): { now: number; schedules: ScheduleRecord[]; nextInMs: number | null } {
  const ticking = [...schedules.byName.values()].filter((schedule) => !schedule.paused && schedule.nextTick !== null);
  ticking.sort((a, b) => a.nextTick! - b.nextTick!);
  const due = ticking.filter((schedule) => schedule.nextTick! <= now).slice(0, limit);
  return { now, schedules: structuredClone(due), nextInMs: untilNext(ticking[due.length]?.nextTick, now) };
}

export function takeTick(memory: Context, { name, version, tick, nextTick, job }: Tick): "ticked" | "stale" | "full" {
  const { jobs, schedules, now } = memory;
  if (job !== null && jobs.get(job.id) !== undefined) return "ticked";
  const stored = schedules.byName.get(name);
  if (stored === undefined || stored.version !== version) return "stale";
  if (tick !== null && stored.lastTick !== null && stored.lastTick >= tick) return "stale";
  const answer = job === null ? null : insertJob(memory, job).kind;
  const lastJobId = answer === "created" ? job!.id : stored.lastJobId;
  // A run by hand (a null tick) moves no tick.
  const moved = tick === null ? {} : { lastTick: tick, nextTick };
  schedules.byName.set(name, { ...stored, ...moved, lastJobId, version: schedules.nextVersion(now), updatedAt: now });
  return answer === "full" ? "full" : "ticked";
}
