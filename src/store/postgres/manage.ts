import type { Attempt, JobRecord, LogLine, Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import { STATE, statusOf } from "../numbers.ts";
import type { ChangeAnswer, Hint } from "../store.ts";
import { CHANGED } from "./answers.ts";
import { encodeTransition, ids, numbers, readAttempt, readLogLine, type Row } from "./codec.ts";
import type { Sql } from "./connections.ts";
import { type Desk, inRounds, readJobs, readSummaries, rounds } from "./desk.ts";
import { Doubt } from "./doubt.ts";
import { waitOrLeaveOut } from "./patience.ts";

export async function changeJobs(desk: Desk, wanted: readonly string[], move: Move): Promise<ChangeAnswer[]> {
  const doubt = new Doubt();
  const answers = await inRounds(
    wanted,
    rounds(wanted, (id) => id),
    (batch) => change(desk, batch, move, doubt.onUnknown),
  );
  desk.housekeeping.wrote(answers.length);
  if (move.transition.to === "pending") desk.floors.reset();
  desk.ring(hintsOf(move, answers));
  doubt.check(countInDoubt(move, answers), "jobs");
  return answers;
}

export async function removeJobs(desk: Desk, wanted: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
  const doubt = new Doubt();
  const answers = await inRounds(
    wanted,
    rounds(wanted, (id) => id),
    async (batch) => {
      const values = [ids(batch), numbers(from.map((status) => STATE[status]))];
      const ask = (on: Sql, careful: boolean): Promise<Row[]> => on.query(desk.sql.remove, [desk.now(), careful, ...values]);
      return askForChanges(desk, batch.length, ask, doubt.onUnknown);
    },
  );
  doubt.check(countNotDone(answers), "jobs");
  return answers;
}

/** A cancel that finds the job cancelled has what it wanted, by whomever: so nothing is in doubt. */
function countInDoubt({ transition }: Move, answers: readonly ChangeAnswer[]): number {
  const isCancelled = (answer: ChangeAnswer): boolean => answer.kind === "refused" && answer.status === "cancelled";
  return countNotDone(transition.to === "cancelled" ? answers.filter((answer) => !isCancelled(answer)) : answers);
}

function countNotDone(answers: readonly ChangeAnswer[]): number {
  return answers.filter(({ kind }) => kind !== "ok" && kind !== "locked").length;
}

export async function findJobs(desk: Desk, wanted: readonly string[]): Promise<(JobRecord | null)[]> {
  if (wanted.length === 0) return [];
  const found = await readJobs(desk, await desk.connections.call(desk.sql.find, [ids([...new Set(wanted)])]));
  const byId = new Map(found.map((job) => [job.id, job]));
  return wanted.map((id) => byId.get(id) ?? null);
}

export async function attemptsOf(desk: Desk, id: string): Promise<Attempt[]> {
  return (await desk.connections.call(desk.sql.attempts, [id])).map(readAttempt);
}

export async function logsOf(desk: Desk, id: string, after: number, limit: number): Promise<LogLine[]> {
  return (await desk.connections.call(desk.sql.logs, [id, after, limit])).map(readLogLine);
}

async function change(desk: Desk, batch: readonly string[], { from, transition }: Move, onUnknown: () => void): Promise<ChangeAnswer[]> {
  const values = [ids(batch), numbers(from.map((status) => STATE[status])), JSON.stringify(encodeTransition(transition))];
  const ask = (on: Sql, careful: boolean): Promise<Row[]> => on.query(desk.sql.change, [desk.now(), careful, ...values]);
  return askForChanges(desk, batch.length, ask, onUnknown);
}

/** In a row of `change`: the number of the item, what became of it, the state that it was in; then the job. */
const JOB_AT = 3;

async function askForChanges(
  desk: Desk,
  items: number,
  ask: (on: Sql, careful: boolean) => Promise<Row[]>,
  onUnknown: () => void,
): Promise<ChangeAnswer[]> {
  const leavesOut = (rows: Row[]): boolean => rows.some(([, kind]) => kind === CHANGED.leftOut);
  return readChanges(desk, items, await waitOrLeaveOut(desk.connections, { items, ask, leavesOut }, { onUnknown }));
}

async function readChanges(desk: Desk, count: number, rows: readonly Row[]): Promise<ChangeAnswer[]> {
  const answers: ChangeAnswer[] = Array.from({ length: count }, () => ({ kind: "missing" }));
  const done = rows.filter(([, kind]) => kind === CHANGED.done);
  const jobs = await readSummaries(desk, done, JOB_AT);
  done.forEach(([ord, , was], at) => {
    answers[(ord as number) - 1] = { kind: "ok", was: statusOf(was as number), job: jobs[at]! };
  });
  for (const [ord, kind, was] of rows) {
    if (kind === CHANGED.refused) answers[(ord as number) - 1] = { kind: "refused", status: statusOf(was as number) };
    if (kind === CHANGED.leftOut) answers[(ord as number) - 1] = { kind: "locked" };
  }
  return answers;
}

function hintsOf({ transition: { to, delayMs } }: Move, answers: readonly ChangeAnswer[]): Hint[] {
  const done = answers.filter((answer) => answer.kind === "ok");
  const hints: Hint[] = [];
  if (done.some(({ was }) => was === "running")) hints.push({ topic: "lease" });
  if (done.length > 0 && (to === "scheduled" || to === "retrying")) hints.push({ topic: "due", inMs: delayMs ?? 0 });
  if (to === "pending") for (const queue of new Set(done.map(({ job }) => job.queue))) hints.push({ topic: "work", queue });
  return hints;
}
