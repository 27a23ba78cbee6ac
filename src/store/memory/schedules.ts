import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { Tick } from "../store.ts";
import type { Context } from "./context.ts";
import { insertJob } from "./insert.ts";
import { untilNext } from "./upkeep.ts";

export class Schedules {
  readonly #byName = new Map<string, ScheduleRecord>();
  #lastVersion = 0;

  find(names: readonly string[] | "all"): ScheduleRecord[] {
    const found = names === "all" ? [...this.#byName.values()] : names.map((name) => this.#byName.get(name));
    return structuredClone(found.filter((schedule) => schedule !== undefined));
  }

  put(spec: ScheduleSpec, nextTick: number | null, expected: number | null, now: number): boolean {
    const stored = this.#byName.get(spec.name);
    if ((stored?.version ?? null) !== expected) return false;
    const { lastTick = null, lastJobId = null, createdAt = now } = stored ?? {};
    const own = structuredClone(spec);
    this.#byName.set(spec.name, { ...own, version: this.#nextVersion(now), nextTick, lastTick, lastJobId, createdAt, updatedAt: now });
    return true;
  }

  remove(name: string): boolean {
    return this.#byName.delete(name);
  }

  /** Up to `limit` due schedules, the longest due first, and when the next one is due. */
  due(now: number, limit: number): { schedules: ScheduleRecord[]; nextAt: number | null } {
    const ticking = [...this.#byName.values()].filter((schedule) => !schedule.paused && schedule.nextTick !== null);
    ticking.sort((a, b) => a.nextTick! - b.nextTick!);
    const isDue = ticking.filter((schedule) => schedule.nextTick! <= now);
    const schedules = structuredClone(isDue.slice(0, limit));
    return { schedules, nextAt: ticking[schedules.length]?.nextTick ?? null };
  }

  /** Moves a schedule on unless another caller did. A run by hand (a null tick) changes only the version. */
  takeTick({ name, version, tick, nextTick }: Tick, now: number): boolean {
    const stored = this.#byName.get(name);
    if (stored === undefined || stored.version !== version) return false;
    if (tick !== null && stored.lastTick !== null && stored.lastTick >= tick) return false;
    const moved = tick === null ? {} : { lastTick: tick, nextTick };
    this.#byName.set(name, { ...stored, ...moved, version: this.#nextVersion(now), updatedAt: now });
    return true;
  }

  setLastJob(name: string, lastJobId: string): void {
    this.#byName.set(name, { ...this.#byName.get(name)!, lastJobId });
  }

  /** Rises across all names and with time, so that a schedule that is removed and made again never has an old version. */
  #nextVersion(now: number): number {
    return (this.#lastVersion = Math.max(now, this.#lastVersion + 1));
  }
}

export function findSchedules({ schedules, now }: Context, names: readonly string[] | "all"): { now: number; schedules: ScheduleRecord[] } {
  return { now, schedules: schedules.find(names) };
}

export function putSchedule(
  { schedules, feed, now }: Context,
  spec: ScheduleSpec,
  nextTick: number | null,
  expected: number | null,
): boolean {
  const isPut = schedules.put(spec, nextTick, expected, now);
  if (isPut) feed.sendHint("schedules");
  return isPut;
}

export function removeSchedule({ schedules, feed }: Context, name: string): boolean {
  const isRemoved = schedules.remove(name);
  if (isRemoved) feed.sendHint("schedules");
  return isRemoved;
}

export function dueSchedules(
  { schedules, now }: Context,
  limit: number,
): { now: number; schedules: ScheduleRecord[]; nextInMs: number | null } {
  const due = schedules.due(now, limit);
  return { now, schedules: due.schedules, nextInMs: untilNext(due.nextAt, now) };
}

export function takeTick(memory: Context, tick: Tick): "ticked" | "stale" | "full" {
  const { jobs, schedules, now } = memory;
  if (tick.job !== null && jobs.get(tick.job.id) !== undefined) return "ticked";
  if (!schedules.takeTick(tick, now)) return "stale";
  if (tick.job === null) return "ticked";
  const { kind } = insertJob(memory, tick.job);
  if (kind === "created") schedules.setLastJob(tick.name, tick.job.id);
  return kind === "full" ? "full" : "ticked";
}
