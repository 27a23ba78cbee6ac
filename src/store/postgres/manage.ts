import type { Attempt, JobRecord, JobSummaryRecord, LogLine, Status } from "../../core/job.ts";
import type { Ending, Move } from "../../core/lifecycle.ts";
import type { Manual, ManualChange } from "../../core/manual-change.ts";
import { CALLERS, type StepEnd } from "../../core/steps.ts";
import { LostAnswer } from "../lost-answer.ts";
import { STATE, statusOf } from "../numbers.ts";
import type { ChangeAnswer, Hint } from "../store.ts";
import { encodeManual, readManualChange } from "../stored-manual-change.ts";
import { CHANGED, FORGET } from "./answers.ts";
import { encodeFacets, encodeTransition, ids, numbers, readAttempt, readLogLine, type Row } from "./codec.ts";
import type { Sql } from "./connections.ts";
import { type Context, inRounds, readJobs, readSummaries, rounds } from "./context.ts";
import { waitOrLeaveOut } from "./wait-or-leave-out.ts";

export async function changeJobs(context: Context, wanted: readonly string[], move: Move, manual?: Manual): Promise<ChangeAnswer[]> {
  const lost = new LostAnswer("PostgreSQL");
  const answers = await inRounds(
    wanted,
    rounds(wanted, (id) => id),
    (batch) => change(context, batch, move, manual, lost.note),
  );
  context.housekeeping.wrote(answers.length);
  if (move.transition.to === "pending") context.laneStarts.reset();
  context.sendHints(hintsOf(move, answers));
  lost.checkChanges(move, answers);
  return answers;
}

export async function removeJobs(context: Context, wanted: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
  const lost = new LostAnswer("PostgreSQL");
  const answers = await inRounds(
    wanted,
    rounds(wanted, (id) => id),
    async (batch) => {
      const values = [ids(batch), numbers(from.map((status) => STATE[status]))];
      const ask = (on: Sql, careful: boolean): Promise<Row[]> => on.query(context.sql.remove, [context.now(), careful, ...values]);
      return askForChanges(context, batch.length, ask, lost.note);
    },
  );
  lost.checkRemovals(answers);
  return answers;
}

export async function findJobs(context: Context, wanted: readonly string[]): Promise<(JobRecord | null)[]> {
  if (wanted.length === 0) return [];
  const found = await readJobs(context, await context.connections.call(context.sql.find, [ids([...new Set(wanted)])]));
  const byId = new Map(found.map((job) => [job.id, job]));
  return wanted.map((id) => byId.get(id) ?? null);
}

export async function attemptsOf(context: Context, id: string): Promise<Attempt[]> {
  return (await context.connections.call(context.sql.attempts, [id])).map(readAttempt);
}

export async function manualChangesOf(context: Context, id: string): Promise<ManualChange[]> {
  return (await context.connections.call(context.sql.manualChanges, [id])).map(([change]) => readManualChange(change as string));
}

export async function logsOf(context: Context, id: string, after: number, limit: number): Promise<LogLine[]> {
  return (await context.connections.call(context.sql.logs, [id, after, limit])).map(readLogLine);
}

async function change(
  context: Context,
  batch: readonly string[],
  { from, transition, edit, steps, ending, leavesHeld }: Move,
  manual: Manual | undefined,
  onUnknown: () => void,
): Promise<ChangeAnswer[]> {
  const values = [
    ids(batch),
    numbers(from.map((status) => STATE[status])),
    JSON.stringify(encodeTransition(transition)),
    manual === undefined ? null : encodeManual(manual),
    edit?.payload ?? null,
    encodeFacets(edit?.facets),
    steps === undefined ? null : FORGET[steps],
    ending === undefined ? null : encodeEnding(ending),
  ];
  const ask = (on: Sql, careful: boolean): Promise<Row[]> => on.query(context.sql.change, [context.now(), careful, ...values]);
  return askForChanges(context, batch.length, ask, onUnknown, leavesHeld);
}

/** What every notice of these ends says: its last fields, as `change` takes them. */
function encodeEnding({ state, value }: Ending): string {
  const same: Omit<StepEnd, "id" | "name" | "by" | "life"> = { kind: "call", state, value, from: CALLERS };
  return JSON.stringify(same).slice(1, -1);
}

/** Columns of `change`: the number of the item, the kind of its answer, its state before; then the job. */
const JOB_AT = 3;

async function askForChanges(
  context: Context,
  items: number,
  ask: (on: Sql, careful: boolean) => Promise<Row[]>,
  onUnknown: () => void,
  leavesHeld?: boolean,
): Promise<ChangeAnswer[]> {
  const leavesOut = (rows: Row[]): boolean => rows.some(([, kind]) => kind === CHANGED.leftOut);
  return readChanges(context, items, await waitOrLeaveOut(context.connections, { items, leavesHeld, ask, leavesOut }, { onUnknown }));
}

async function readChanges(context: Context, count: number, rows: readonly Row[]): Promise<ChangeAnswer[]> {
  const answers: ChangeAnswer[] = Array.from({ length: count }, () => ({ kind: "missing" }));
  const done = rows.filter(([, kind]) => kind === CHANGED.done);
  const jobs = await readSummaries(context, done, JOB_AT);
  done.forEach(([ord, , was], at) => {
    answers[(ord as number) - 1] = { kind: "ok", was: statusOf(was as number), job: jobs[at]! };
  });
  for (const [ord, kind, was] of rows) {
    if (kind === CHANGED.refused) answers[(ord as number) - 1] = { kind: "refused", status: statusOf(was as number) };
    if (kind === CHANGED.leftOut) answers[(ord as number) - 1] = { kind: "locked" };
  }
  return answers;
}

function hintsOf({ transition: { to, delayMs }, ending }: Move, answers: readonly ChangeAnswer[]): Hint[] {
  const done = answers.filter((answer) => answer.kind === "ok");
  const hints: Hint[] = [];
  const ended = done.filter(({ was }) => was === "running");
  if (ended.length > 0) hints.push({ topic: "lease" });
  // What stood aside because of these leases may start.
  for (const queue of new Set(ended.map(({ job }) => job.queue))) hints.push({ topic: "work", queue });
  if (done.length > 0 && (to === "scheduled" || to === "retrying" || (to === "blocked" && delayMs !== null)))
    hints.push({ topic: "due", inMs: delayMs ?? 0 });
  const leavesNotice = ({ hasSteps, parent }: JobSummaryRecord): boolean =>
    (to === "cancelled" && hasSteps) || (ending !== undefined && parent !== null);
  if (done.some(({ job }) => leavesNotice(job))) hints.push({ topic: "notices" });
  if (to === "pending") for (const queue of new Set(done.map(({ job }) => job.queue))) hints.push({ topic: "work", queue });
  return hints;
}
