import type { Facets } from "../../core/facets.ts";
import { FLOW_QUEUES } from "../../core/flow.ts";
import {
  type Attempt,
  attemptOutcome,
  type JobRecord,
  type JobSummaryRecord,
  type LogLine,
  type NewJob,
  type Status,
  WAITING,
} from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import { type Manual, type ManualChange, MAX_MANUAL_CHANGES } from "../../core/manual-change.ts";
import { STATE, statusOf } from "../numbers.ts";
import { type ChangeAnswer, REPLACEABLE, type ReplaceAnswer } from "../store.ts";
import { readError } from "../stored-error.ts";
import { encodeManual, readManualChange } from "../stored-manual-change.ts";
import { changedExtra, facetsIn, idToBlob, laneOf, readAttempt, readJob, readLogLine, readSummary } from "./codec.ts";
import { insertJob } from "./insert.ts";
import { isKeyed } from "./lane-numbers.ts";
import { deleteFlow } from "./flows.ts";
import { EXTRA_OF_JOB } from "./limit-statements.ts";
import { countWaiting, finishMove } from "./lines.ts";
import {
  ADD_MANUAL_CHANGE,
  DELETE_ATTEMPTS,
  DELETE_JOB,
  DELETE_LOGS,
  DROP_FACET,
  DROP_KEY,
  FACTS_OF_JOB,
  FIND_JOB,
  FIND_SUMMARY,
  PUT_FACET,
  READ_ATTEMPTS,
  READ_LOGS,
  READ_MANUAL_CHANGES,
  SET_PAYLOAD,
} from "./statements.ts";
import { DELETE_STEPS } from "./step-statements.ts";
import { moveSteps } from "./steps.ts";
import type { Transaction, View } from "./transaction.ts";
import { applyTransition, type Facts, factsOf } from "./transition.ts";

export function changeJob(tx: Transaction, id: string, move: Move, manual: Manual | undefined): ChangeAnswer {
  const job = factsOf(tx, idToBlob(id));
  if (job === null) return { kind: "missing" };
  const was = statusOf(job.state);
  if (!move.from.includes(was)) return { kind: "refused", status: was };
  applyTransition(tx, job, move.transition, null);
  moveSteps(tx, id, job, move);
  if (move.edit !== undefined) editJob(tx, job, move.edit);
  if (manual !== undefined) addManualChange(tx, job, manual);
  return { kind: "ok", was, job: summaryOf(tx, job.seq) };
}

function editJob(tx: Transaction, { queue, seq }: Facts, { payload, facets }: NonNullable<Move["edit"]>): void {
  const extra = tx.on.get(EXTRA_OF_JOB, seq)![0] as string | null;
  dropFacets(tx, queue, seq, facetsIn(extra));
  tx.on.run(SET_PAYLOAD, payload, changedExtra(extra, { facets }), seq);
  if (facets !== null) for (const [field, value] of Object.entries(facets)) tx.on.run(PUT_FACET, queue, field, value, seq);
}

function dropFacets(tx: Transaction, queue: number, seq: number, facets: Facets | null): void {
  if (facets !== null) for (const [field, value] of Object.entries(facets)) tx.on.run(DROP_FACET, queue, field, value, seq);
}

function addManualChange(tx: Transaction, { seq, state, attempt }: Facts, manual: Manual): void {
  const kept = manualLines(tx, seq).slice(1 - MAX_MANUAL_CHANGES);
  tx.on.run(ADD_MANUAL_CHANGE, kept.length === 0 ? null : kept.join("\n"), tx.now, state, attempt, encodeManual(manual), seq);
}

function manualLines({ on }: View, seq: number): string[] {
  return (on.get(READ_MANUAL_CHANGES, seq)?.[0] as string | null | undefined)?.split("\n") ?? [];
}

export function removeJob(tx: Transaction, id: string, from: readonly Status[]): ChangeAnswer {
  const job = factsOf(tx, idToBlob(id));
  if (job === null) return { kind: "missing" };
  const was = statusOf(job.state);
  if (!from.includes(was)) return { kind: "refused", status: was };
  const summary = summaryOf(tx, job.seq);
  if (job.key !== null) tx.on.run(DROP_KEY, job.queue, job.key, job.id);
  takeAway(tx, job, summary);
  return { kind: "ok", was, job: summary };
}

/** Takes a job out of all that it is in, but for its key. */
function takeAway(tx: Transaction, job: Facts, summary: Pick<JobSummaryRecord, "facets" | "hasSteps">): void {
  deleteJob(tx, job.queue, job.seq, summary);
  if (isKeyed(job.lane)) {
    const queue = tx.catalog.queueById(job.queue);
    if (WAITING.includes(statusOf(job.state))) countWaiting(tx, queue, job.line!, -1);
    finishMove(tx, queue, job, null);
  }
  tx.counts.move(job.queue, job.priority, job.state, null);
}

/** Puts a job in place of one that waits and was never claimed. It always fits: it takes the place of the other one. */
export function replaceJob(tx: Transaction, job: NewJob): ReplaceAnswer {
  const before = factsOf(tx, idToBlob(job.id));
  if (before === null) return "missing";
  const status = statusOf(before.state);
  if (!REPLACEABLE.includes(status) || before.fence !== 0) return "refused";
  takeAway(tx, before, summaryOf(tx, before.seq));
  insertJob(tx, { ...job, blocked: status === "blocked" }, true);
  return "ok";
}

export function deleteJob(tx: Transaction, queue: number, seq: number, job: Pick<JobSummaryRecord, "facets" | "hasSteps">): void {
  dropFacets(tx, queue, seq, job.facets);
  if (job.hasSteps) tx.on.run(DELETE_STEPS, seq);
  if (FLOW_QUEUES.includes(tx.catalog.queueById(queue).name)) deleteFlow(tx, seq);
  tx.on.run(DELETE_JOB, seq);
  tx.on.run(DELETE_ATTEMPTS, seq);
  tx.on.run(DELETE_LOGS, seq);
}

function summaryOf(tx: Transaction, seq: number): ReturnType<typeof readSummary> {
  const row = tx.on.get(FIND_SUMMARY, seq)!;
  return readSummary(row, tx.catalog.namesOf(laneOf(row)));
}

export function findJob({ on, catalog }: View, id: string): JobRecord | null {
  const row = on.get(FIND_JOB, idToBlob(id));
  return row === undefined ? null : readJob(row, catalog.namesOf(laneOf(row)));
}

/** The history, and the latest attempt from the job's own row. */
export function attemptsOf({ on }: View, id: string): Attempt[] {
  const row = on.get(FACTS_OF_JOB, idToBlob(id));
  if (row === undefined) return [];
  const seq = row[0] as number;
  const state = row[2] as number;
  const number = row[8] as number;
  const history = on.all(READ_ATTEMPTS, seq).map(readAttempt);
  if (number === 0 || history.some((attempt) => attempt.number === number)) return history;
  const running = state === STATE.running;
  history.push({
    number,
    workerId: row[11] as string | null,
    startedAt: row[12] as number,
    endedAt: running ? null : (row[13] as number),
    durationMs: running ? null : (row[14] as number | null),
    outcome: attemptOutcome(statusOf(state)),
    error: running ? null : readError(row[15] as string | null),
  });
  return history;
}

export function manualChangesOf(view: View, id: string): ManualChange[] {
  const seq = view.on.number(FACTS_OF_JOB, idToBlob(id));
  return seq === null ? [] : manualLines(view, seq).map(readManualChange);
}

export function logsOf({ on }: View, id: string, after: number, limit: number): LogLine[] {
  const seq = on.number(FACTS_OF_JOB, idToBlob(id));
  return seq === null ? [] : on.all(READ_LOGS, seq, after, limit).map(readLogLine);
}
