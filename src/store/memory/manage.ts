import type { Attempt, JobRecord, LogLine, Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import { type Manual, type ManualChange, MAX_MANUAL_CHANGES } from "../../core/manual-change.ts";
import type { ChangeAnswer } from "../store.ts";
import type { Context } from "./context.ts";
import { moveSteps } from "./steps.ts";
import { everyAttempt, recordCopy, summaryOf } from "./stored-job.ts";

export function changeJob(memory: Context, id: string, move: Move, manual: Manual | undefined): ChangeAnswer {
  const { jobs, feed, now } = memory;
  const job = jobs.get(id);
  if (job === undefined) return { kind: "missing" };
  const { status: was, attempt } = job.record;
  if (!move.from.includes(was)) return { kind: "refused", status: was };
  if (move.edit !== undefined) jobs.edit(job, move.edit);
  jobs.apply(job, move.transition, now);
  moveSteps(memory, job, move);
  if (manual !== undefined) job.changes = [...job.changes, { ...manual, at: now, from: was, attempt }].slice(-MAX_MANUAL_CHANGES);
  if (was === "running") feed.sendHint("lease");
  return { kind: "ok", was, job: summaryOf(job) };
}

export function removeJob({ jobs }: Context, id: string, from: readonly Status[]): ChangeAnswer {
  const job = jobs.get(id);
  if (job === undefined) return { kind: "missing" };
  const was = job.record.status;
  if (!from.includes(was)) return { kind: "refused", status: was };
  jobs.keys.dropWith(job);
  jobs.forget(job);
  return { kind: "ok", was, job: summaryOf(job) };
}

export function findJob({ jobs }: Context, id: string): JobRecord | null {
  const job = jobs.get(id);
  return job === undefined ? null : recordCopy(job);
}

export function attemptsOf({ jobs }: Context, id: string): Attempt[] {
  const job = jobs.get(id);
  return job === undefined ? [] : structuredClone(everyAttempt(job));
}

export function manualChangesOf({ jobs }: Context, id: string): ManualChange[] {
  return (jobs.get(id)?.changes ?? []).map((change) => ({ ...change }));
}

export function logsOf({ jobs }: Context, id: string, after: number, limit: number): LogLine[] {
  const lines = jobs.get(id)?.logs ?? [];
  return structuredClone(lines.filter((line) => line.number > after).slice(0, limit));
}
