import { type Attempt, isTerminal, type JobRecord, type LogLine, type Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import type { Manual, ManualChange } from "../../core/manual-change.ts";
import { tenBitsOf } from "../../lib/id.ts";
import { LostAnswer } from "../lost-answer.ts";
import { statusOf } from "../numbers.ts";
import type { ChangeAnswer } from "../store.ts";
import { encodeManual, readManualChange } from "../stored-manual-change.ts";
import {
  type LaneNames,
  jsonOf,
  listOf,
  numberOf,
  readAttempt,
  readJob,
  readLanes,
  readLatestAttempt,
  readLogLine,
  readSummary,
  type Reply,
  statesOf,
  textOf,
} from "./codec.ts";
import { encodeErrorText, encodeNumber, encodeShape } from "./shape.ts";
import { byPartition, type Context } from "./context.ts";
import { shortId } from "./ids.ts";
import { CHANGE, REMOVE } from "./statements/manage.ts";
import { ATTEMPTS, FIND } from "./statements/find.ts";

export async function changeJobs(
  { session, keys, feed }: Context,
  ids: readonly string[],
  move: Move,
  manual?: Manual,
): Promise<ChangeAnswer[]> {
  const { transition } = move;
  const lost = new LostAnswer("Redis");
  const what = [
    statesOf(move.from),
    encodeNumber(transition.delayMs),
    encodeNumber(transition.runMs),
    transition.result ?? "",
    encodeErrorText(transition.error),
    manual === undefined ? "" : encodeManual(manual),
    move.edit?.payload ?? "",
    jsonOf(move.edit?.facets ?? undefined),
    move.steps ?? "",
    jsonOf(move.ending),
    ...encodeShape(transition, null, false, false, false),
  ];
  const changes = await byPartition(ids, tenBitsOf, async (partition, some) => {
    const reply = await session.run(CHANGE, keys.partition(partition), [...what, ...some.map(shortId)], lost.note);
    const [answers, lanes, hints, notices] = listOf(reply);
    feed.sendHints(hints);
    feed.tellOfNotices(numberOf(notices));
    const names = readLanes(lanes);
    return listOf(answers).map((answer, index) => readAnswer(some[index]!, answer, names));
  });
  lost.checkChanges(move, changes);
  return changes;
}

export async function removeJobs({ session, keys }: Context, ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
  const states = statesOf(from.filter(isTerminal));
  const lost = new LostAnswer("Redis");
  const removals = await byPartition(ids, tenBitsOf, async (partition, some) => {
    const reply = await session.run(REMOVE, keys.partition(partition), [states, ...some.map(shortId)], lost.note);
    const [answers, lanes] = listOf(reply);
    const names = readLanes(lanes);
    return listOf(answers).map((answer, index) => readAnswer(some[index]!, answer, names));
  });
  lost.checkRemovals(removals);
  return removals;
}

function readAnswer(id: string, answer: Reply, names: LaneNames): ChangeAnswer {
  if (typeof answer === "number") return { kind: "refused", status: statusOf(answer) };
  if (Buffer.isBuffer(answer)) return { kind: "missing" };
  const [was, body, record] = listOf(answer) as [number, Buffer, Buffer];
  return { kind: "ok", was: statusOf(was), job: readSummary(id, body, record, names) };
}

export function findJobs({ session, keys }: Context, ids: readonly string[]): Promise<(JobRecord | null)[]> {
  return byPartition(ids, tenBitsOf, async (partition, some) => {
    const [bodies, records, lanes] = listOf(await session.run(FIND, keys.partition(partition), some.map(shortId)));
    const names = readLanes(lanes);
    return listOf(bodies).map((body, index) => {
      return body === null ? null : readJob(some[index]!, body as Buffer, listOf(records)[index] as Buffer | null, names);
    });
  });
}

export async function attemptsOf({ session, keys }: Context, id: string): Promise<Attempt[]> {
  const reply = await session.run(ATTEMPTS, keys.partition(tenBitsOf(id)), [shortId(id)]);
  if (reply === null) return [];
  const [record, ...history] = listOf(reply) as [Buffer, ...Buffer[]];
  const attempts = history.map(readAttempt);
  const latest = record.length === 0 ? null : readLatestAttempt(record);
  if (latest !== null) attempts.push(latest);
  return attempts;
}

export async function manualChangesOf({ session, keys }: Context, id: string): Promise<ManualChange[]> {
  const short = shortId(id);
  const lines = await session.command("HGET", keys.bucket(tenBitsOf(id), "changes", short), short);
  return lines === null ? [] : textOf(lines).split("\n").map(readManualChange);
}

export async function logsOf({ session, keys }: Context, id: string, after: number, limit: number): Promise<LogLine[]> {
  if (limit <= 0) return [];
  const key = `${keys.partition(tenBitsOf(id))}:o:${shortId(id)}`;
  const lines = listOf(await session.command("LRANGE", key, String(after), String(after + limit - 1)));
  return lines.map((line, index) => readLogLine(line as Buffer, after + index + 1));
}
