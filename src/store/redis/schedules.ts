import { partitionOf } from "../../core/partition.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import { LostAnswer } from "../lost-answer.ts";
import type { Tick } from "../store.ts";
import { listOf, numberOf, readSchedule, type Reply, textOf } from "./codec.ts";
import { encodeNumber } from "./shape.ts";
import type { Context } from "./context.ts";
import { shortId } from "./ids.ts";
import { encodeJobs } from "./insert.ts";
import {
  ARRIVE,
  DEPART,
  DUE_SCHEDULES,
  LEAVE,
  PUT_SCHEDULE,
  READ_SCHEDULES,
  REMOVE_SCHEDULE,
  SET_ENTRY,
  TICK,
} from "./statements/schedules.ts";

/**
 * A schedule is in the partition of its jobs' queue, so that a tick and its job are one script. A directory outside the partitions has the
 * partition of each name: "<partition> <stamp>". The stamp is new with each change, so that dropping an entry never drops that of a
 * schedule which was made meanwhile.
 */
interface Entry {
  readonly partition: number;
  readonly text: string;
}

/** A noted move to another partition that is not done yet. */
interface Note {
  readonly target: number;
  readonly paused: boolean;
  readonly nextTick: number | null;
  readonly spec: ScheduleSpec;
}

interface Found {
  readonly name: string;
  readonly partition: number;
  readonly record: ScheduleRecord;
  readonly note: Note | null;
}

export async function findSchedules(
  context: Context,
  names: readonly string[] | "all",
): Promise<{ now: number; schedules: ScheduleRecord[] }> {
  const { session, keys } = context;
  const places = names === "all" ? await everywhere(context) : await placesOf(context, names);
  const answers = await Promise.all(
    [...places].map(async ([partition, some]) =>
      readFound(partition, await session.run(READ_SCHEDULES, keys.partition(partition), some), 1, 3),
    ),
  );
  const found = answers.flat();
  if (await finishMoves(context, found)) return findSchedules(context, names);
  return { now: await session.now(), schedules: found.map(({ record }) => record) };
}

async function everywhere({ session, keys }: Context): Promise<Map<number, string[]>> {
  return new Map(listOf(await session.command("SMEMBERS", keys.schedulePartitions)).map((partition) => [numberOf(partition), []]));
}

async function placesOf({ session, keys }: Context, names: readonly string[]): Promise<Map<number, string[]>> {
  if (names.length === 0) return new Map();
  const entries = listOf(await session.command("HMGET", keys.schedules, ...names));
  const known = names.map((name, index) => ({ name, entry: readEntry(entries[index]) })).filter(({ entry }) => entry !== null);
  const groups = Map.groupBy(known, ({ entry }) => entry!.partition);
  return new Map([...groups].map(([partition, group]) => [partition, group.map(({ name }) => name)]));
}

function readEntry(reply: Reply | undefined): Entry | null {
  if (reply === null || reply === undefined) return null;
  const text = textOf(reply);
  return { partition: Number.parseInt(text, 10), text };
}

async function entryOf({ session, keys }: Context, name: string): Promise<Entry | null> {
  return readEntry(await session.command("HGET", keys.schedules, name));
}

/** Reads (…, name, record, note) … from index `from` on, `step` values each. */
function readFound(partition: number, reply: Reply, from: number, step: number): Found[] {
  const list = listOf(reply) as readonly Buffer[];
  const found: Found[] = [];
  for (let at = from + step - 3; at < list.length; at += step) {
    const note = list[at + 2]!;
    found.push({
      name: textOf(list[at]),
      partition,
      record: readSchedule(list[at + 1]!),
      note: note.length === 0 ? null : (JSON.parse(textOf(note)) as Note),
    });
  }
  return found;
}

// ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const DONE = 1;
const MOVES = 2;

export async function putSchedule(
  context: Context,
  spec: ScheduleSpec,
  nextTick: number | null,
  expected: number | null,
): Promise<boolean> {
  const { session, keys, feed } = context;
  const target = partitionOf(spec.job.queue);
  const given = [spec.paused ? "1" : "", encodeNumber(nextTick), JSON.stringify(spec)];
  for (;;) {
    const entry = (await entryOf(context, spec.name)) ?? (expected === null ? await enterDirectory(context, spec.name, target) : null);
    if (entry === null) return false;
    if (entry.partition !== target) {
      const moved = await moveAway(context, { spec, nextTick, expected, target }, entry);
      if (moved === "again") continue;
      if (moved) feed.sendHint({ topic: "schedules" });
      return moved;
    }
    const args = [String(target), spec.name, encodeNumber(expected), ...given];
    const answer = numberOf(await session.run(PUT_SCHEDULE, keys.partition(target), args));
    if (answer === MOVES) {
      await finishMoveOf(context, spec.name, target);
      continue;
    }
    if (answer === DONE) {
      if (expected === null) await session.command("HSET", keys.schedules, spec.name, stamped(target));
      feed.sendHint({ topic: "schedules" });
    }
    return answer === DONE;
  }
}

/** Makes an entry for a new name, unless somebody did, and returns the valid one. */
async function enterDirectory(context: Context, name: string, target: number): Promise<Entry | null> {
  const { session, keys } = context;
  await session.command("SADD", keys.schedulePartitions, String(target));
  await session.command("HSETNX", keys.schedules, name, stamped(target));
  return entryOf(context, name);
}

function stamped(partition: number): string {
  return `${partition} ${Math.random().toString(36).slice(2)}`;
}

interface ScheduleWrite {
  readonly spec: ScheduleSpec;
  readonly nextTick: number | null;
  readonly expected: number | null;
  readonly target: number;
}

/** Writes a schedule that the directory has in another partition. */
async function moveAway(context: Context, { spec, nextTick, expected, target }: ScheduleWrite, entry: Entry): Promise<boolean | "again"> {
  const { session, keys } = context;
  const { name } = spec;
  await session.command("SADD", keys.schedulePartitions, String(target));
  if (expected === null) {
    const found = listOf(await session.run(READ_SCHEDULES, keys.partition(entry.partition), [name]));
    if (found.length > 1) return false;
    // The name was removed there, so it may begin here.
    await session.run(SET_ENTRY, keys.schedules, [name, entry.text, stamped(target)]);
    return "again";
  }
  const note: Note = { target, paused: spec.paused, nextTick, spec };
  const answer = numberOf(await session.run(DEPART, keys.partition(entry.partition), [name, String(expected), JSON.stringify(note)]));
  if (answer === DONE || answer === MOVES) await finishMoveOf(context, name, entry.partition);
  return answer === MOVES ? "again" : answer === DONE;
}

async function finishMoveOf(context: Context, name: string, partition: number): Promise<void> {
  const reply = await context.session.run(READ_SCHEDULES, context.keys.partition(partition), [name]);
  await finishMoves(context, readFound(partition, reply, 1, 3));
}

/** Returns whether there was a move to finish. */
async function finishMoves(context: Context, found: readonly Found[]): Promise<boolean> {
  const { session, keys } = context;
  const moving = found.filter(({ note }) => note !== null);
  for (const { name, partition, record, note } of moving) {
    const { target, paused, nextTick, spec } = note!;
    const former = [encodeNumber(record.lastTick), String(record.createdAt), record.lastJobId === null ? "" : shortId(record.lastJobId)];
    const given = [paused ? "1" : "", encodeNumber(nextTick), JSON.stringify(spec)];
    await session.run(ARRIVE, keys.partition(target), [String(target), name, String(record.version), ...former, ...given]);
    await session.command("HSET", keys.schedules, name, stamped(target));
    await session.run(LEAVE, keys.partition(partition), [name, String(record.version)]);
  }
  return moving.length > 0;
}

export async function removeSchedule(context: Context, name: string): Promise<boolean> {
  const { session, keys, feed } = context;
  const lost = new LostAnswer("Redis");
  for (;;) {
    const entry = await entryOf(context, name);
    if (entry === null) return false;
    const answer = numberOf(await session.run(REMOVE_SCHEDULE, keys.partition(entry.partition), [name], lost.note));
    if (answer === MOVES) {
      await finishMoveOf(context, name, entry.partition);
      continue;
    }
    await session.run(SET_ENTRY, keys.schedules, [name, entry.text, ""]);
    if (answer === DONE) feed.sendHint({ topic: "schedules" });
    else lost.check(false, `schedule ${name}`);
    return answer === DONE;
  }
}

// ── Ticking ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function dueSchedules(
  context: Context,
  limit: number,
): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
  const { session, keys } = context;
  const partitions = [...(await everywhere(context)).keys()];
  const replies = await Promise.all(partitions.map((partition) => session.run(DUE_SCHEDULES, keys.partition(partition), [String(limit)])));
  const found = replies.flatMap((reply, index) => readFound(partitions[index]!, reply, 2, 4));
  if (await finishMoves(context, found)) return dueSchedules(context, limit);
  const nexts = replies.map((reply) => numberOf(listOf(reply)[1])).filter((next) => next >= 0);
  const due = found.map(({ record }) => record).sort((a, b) => a.nextTick! - b.nextTick!);
  if (due.length > limit) nexts.push(0);
  const now = replies.length === 1 ? numberOf(listOf(replies[0])[0]) : await session.now();
  return { now, schedules: due.slice(0, limit), nextInMs: nexts.length === 0 ? null : Math.min(...nexts) };
}

/** One after the other: they are few, and their jobs' sequence follows the list. */
export async function takeTicks(context: Context, ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
  context.eviction.refuse();
  const answers: ("ticked" | "stale" | "full")[] = [];
  for (const tick of ticks) answers.push(await takeTick(context, tick));
  return answers;
}

async function takeTick(context: Context, { name, version, tick, nextTick, job }: Tick): Promise<"ticked" | "stale" | "full"> {
  const { session, keys, feed, registry } = context;
  // A schedule is in the partition of its jobs. If not, it has moved since it was read.
  const partition = job === null ? (await entryOf(context, name))?.partition : partitionOf(job.queue);
  if (partition === undefined) return "stale";
  const call = (registered: string): Promise<Reply> => {
    const args = [String(partition), name, String(version), encodeNumber(tick), encodeNumber(nextTick), registered];
    return session.run(TICK, keys.partition(partition), [...args, ...encodeJobs(job === null ? [] : [job])]);
  };
  const reply = await registry.callRegistered(call, () => (job === null ? [] : [job.queue]));
  const [answer, hints] = listOf(reply);
  if (hints !== undefined) feed.sendHints(hints);
  return textOf(answer) as "ticked" | "stale" | "full";
}
