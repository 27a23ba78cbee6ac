import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import { LostAnswer } from "../lost-answer.ts";
import type { Tick } from "../store.ts";
import { statusOf } from "../numbers.ts";
import { texts, type Row } from "./codec.ts";
import type { Context } from "./context.ts";
import { admitColumns } from "./insert.ts";

export async function findSchedules(
  context: Context,
  names: readonly string[] | "all",
): Promise<{ now: number; schedules: ScheduleRecord[] }> {
  const [head, ...rows] = await context.connections.call(context.sql.schedules, [context.now(), names === "all" ? null : texts(names)]);
  return { now: head![1] as number, schedules: rows.map(readSchedule) };
}

export async function dueSchedules(
  context: Context,
  limit: number,
): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
  const [head, ...rows] = await context.connections.call(context.sql.dueSchedules, [context.now(), limit]);
  const [, now, next] = head as [null, number, number | null];
  return { now, schedules: rows.map(readSchedule), nextInMs: rows.length === limit ? 0 : next === null ? null : next - now };
}

export async function putSchedule(
  context: Context,
  spec: ScheduleSpec,
  nextTick: number | null,
  expected: number | null,
): Promise<boolean> {
  const values = [context.now(), spec.name, JSON.stringify(spec), spec.paused, nextTick];
  const { connections, sql } = context;
  const rows = await (expected === null
    ? connections.call(sql.addSchedule, values)
    : connections.call(sql.setSchedule, [...values, expected]));
  if (rows.length === 0) return false;
  context.sendHints([{ topic: "schedules" }]);
  return true;
}

export async function removeSchedule(context: Context, name: string): Promise<boolean> {
  const lost = new LostAnswer("PostgreSQL");
  const rows = await context.connections.call(context.sql.deleteSchedule, [name], { onUnknown: lost.note });
  if (rows.length > 0) context.sendHints([{ topic: "schedules" }]);
  else lost.check(false, `schedule ${name}`);
  return rows.length > 0;
}

const ANSWERS = ["ticked", "stale", "full"] as const;
const NO_JOB: readonly null[] = admitColumns([], []).map(() => null);

/** One commit per tick: a tick is atomic, the list is not. */
export async function takeTicks(context: Context, ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
  const answers: ("ticked" | "stale" | "full")[] = [];
  for (const { name, version, tick, nextTick, job } of ticks) {
    const columns = job === null ? NO_JOB : admitColumns([job], await context.catalog.lanes([job]));
    const [row] = await context.connections.call(context.sql.tick, [context.now(), name, version, tick, nextTick, ...columns]);
    context.housekeeping.wrote(0);
    const [answer, state] = row as [number, number | null];
    if (job !== null && state !== null)
      context.sendHints([statusOf(state) === "pending" ? { topic: "work", queue: job.queue } : { topic: "due", inMs: job.delayMs }]);
    answers.push(ANSWERS[answer]!);
  }
  return answers;
}

function readSchedule(row: Row): ScheduleRecord {
  const [spec, version, nextTick, lastTick, lastJobId, createdAt, updatedAt] = row;
  return {
    ...(JSON.parse(spec as string) as ScheduleSpec),
    version: version as number,
    nextTick: nextTick as number | null,
    lastTick: lastTick as number | null,
    lastJobId: lastJobId as string | null,
    createdAt: createdAt as number,
    updatedAt: updatedAt as number,
  };
}
