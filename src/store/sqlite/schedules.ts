import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { Tick } from "../store.ts";
import { hexToId, idToBlob, type Row } from "./codec.ts";
import { insertJob } from "./insert.ts";
import {
  ADD_SCHEDULE,
  ALL_SCHEDULES,
  COUNT_META,
  DELETE_SCHEDULE,
  DUE_SCHEDULES,
  FIND_SCHEDULE,
  FIND_JOB,
  NEXT_SCHEDULE,
  SET_LAST_JOB,
  SET_SCHEDULE,
  TAKE_TICK,
} from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";
import { untilNext } from "./upkeep.ts";

export function findSchedules({ on, now }: View, names: readonly string[] | "all"): { now: number; schedules: ScheduleRecord[] } {
  const rows = names === "all" ? on.all(ALL_SCHEDULES) : names.map((name) => on.get(FIND_SCHEDULE, name));
  return { now, schedules: rows.filter((row) => row !== undefined).map(readSchedule) };
}

export function dueSchedules({ on, now }: View, limit: number): { now: number; schedules: ScheduleRecord[]; nextInMs: number | null } {
  const schedules = on.all(DUE_SCHEDULES, now, limit).map(readSchedule);
  return { now, schedules, nextInMs: schedules.length === limit ? 0 : untilNext(on.number(NEXT_SCHEDULE, now), now) };
}

export function putSchedule(tx: Transaction, spec: ScheduleSpec, nextTick: number | null, expected: number | null): boolean {
  const paused = spec.paused ? 1 : 0;
  const text = JSON.stringify(spec);
  const changed =
    expected === null
      ? tx.on.run(ADD_SCHEDULE, spec.name, text, paused, nextVersion(tx), nextTick, tx.now, tx.now)
      : tx.on.run(SET_SCHEDULE, text, paused, nextTick, tx.now, nextVersion(tx), spec.name, expected);
  if (changed === 0) return false;
  tx.sendHint({ topic: "schedules" });
  return true;
}

export function removeSchedule(tx: Transaction, name: string): boolean {
  if (tx.on.run(DELETE_SCHEDULE, name) === 0) return false;
  tx.sendHint({ topic: "schedules" });
  return true;
}

export function takeTick(tx: Transaction, { name, version, tick, nextTick, job }: Tick): "ticked" | "stale" | "full" {
  if (job !== null && tx.on.get(FIND_JOB, idToBlob(job.id)) !== undefined) return "ticked";
  if (tx.on.run(TAKE_TICK, nextVersion(tx), tx.now, tick, tick, nextTick, name, version, tick, tick) === 0) return "stale";
  if (job === null) return "ticked";
  if (insertJob(tx, job).kind === "full") return "full";
  tx.on.run(SET_LAST_JOB, idToBlob(job.id), name);
  return "ticked";
}

/** One counter for all schedules, so that a name that is removed and made again never has an old version. */
function nextVersion(tx: Transaction): number {
  return tx.on.number(COUNT_META, "schedule_version")!;
}

function readSchedule(row: Row): ScheduleRecord {
  const [spec, version, nextTick, lastTick, lastJob, createdAt, updatedAt] = row;
  return {
    ...(JSON.parse(spec as string) as ScheduleSpec),
    version: version as number,
    nextTick: nextTick as number | null,
    lastTick: lastTick as number | null,
    lastJobId: lastJob === null ? null : hexToId(lastJob as string),
    createdAt: createdAt as number,
    updatedAt: updatedAt as number,
  };
}
