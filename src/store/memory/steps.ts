import { isTerminal } from "../../core/job.ts";
import type { Move, Transition } from "../../core/lifecycle.ts";
import { OPEN } from "../../core/lifecycle.ts";
import {
  endNotice,
  MAX_STEPS,
  MAX_STEPS_BYTES,
  MAX_STEPS_READ_BYTES,
  type NewStep,
  type StepEnd,
  type StepRecord,
} from "../../core/steps.ts";
import type { Settlement, StepEndAnswer, StepsPage } from "../store.ts";
import type { Context } from "./context.ts";
import { insertJob } from "./insert.ts";
import { leaveNotice } from "./notices.ts";
import type { StoredJob } from "./stored-job.ts";

/** The steps of one job. */
export class Steps {
  readonly byName = new Map<string, StepRecord>();
  /** One more for each time that they were forgotten. */
  life = 1;

  /** Whether it fits with these steps in place of what has their names. */
  fitsWith(steps: readonly Pick<StepRecord, "name" | "value">[]): boolean {
    const names = new Set([...this.byName.keys(), ...steps.map(({ name }) => name)]);
    const kept = [...this.byName.values()].filter(({ name }) => !steps.some((step) => step.name === name));
    const bytes = [...kept, ...steps].reduce((sum, { value }) => sum + (value === null ? 0 : Buffer.byteLength(value)), 0);
    return names.size <= Math.max(MAX_STEPS, this.byName.size) && bytes <= MAX_STEPS_BYTES;
  }

  /** In the order of their names, by UTF-8. */
  inOrder(): StepRecord[] {
    return [...this.byName.values()].sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  }

  forget(which: NonNullable<Move["steps"]>): void {
    if (which === "forget") {
      this.byName.clear();
      this.life++;
      return;
    }
    for (const [name, { state }] of this.byName) if (state === "failed") this.byName.delete(name);
  }
}

function stepsOf(job: StoredJob): Steps {
  job.record.hasSteps = true;
  return (job.steps ??= new Steps());
}

function stored(step: NewStep, before: StepRecord | undefined, attempt: number, now: number): StepRecord {
  const { name, kind, state, value, untilMs, detail } = step;
  const isOpen = state === "open";
  const until = isOpen && before?.state === "open" ? before.until : untilMs === null ? null : now + untilMs;
  const { startedAt, attempt: first } = before ?? { startedAt: now, attempt };
  return { name, kind, state, value, until, startedAt, endedAt: isOpen ? null : now, attempt: first, by: null, detail };
}

/** Under a lease that the caller has checked. */
export function keepSteps({ now }: Context, job: StoredJob, steps: readonly NewStep[]): "ok" | "full" {
  const { record } = job;
  if (!(job.steps ?? new Steps()).fitsWith(steps)) return "full";
  const { byName } = stepsOf(job);
  for (const step of steps) byName.set(step.name, stored(step, byName.get(step.name), record.attempt, now));
  record.retryCount = 0;
  record.lostCount = 0;
  record.updatedAt = now;
  return "ok";
}

export function readSteps(memory: Context, id: string, fence: number | null, after: string | null): StepsPage | null {
  const job = memory.jobs.get(id);
  if (job === undefined) return null;
  const { record } = job;
  if (fence !== null && (record.status !== "running" || record.fence !== fence)) return null;
  const { now } = memory;
  if (fence !== null) endOverdue(job, now);
  const all = job.steps?.inOrder() ?? [];
  const rest = after === null ? all : all.filter(({ name }) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0);
  let bytes = 0;
  const end = rest.findIndex(({ value }) => (bytes += value === null ? 0 : Buffer.byteLength(value)) > MAX_STEPS_READ_BYTES);
  const steps = end === -1 ? rest : rest.slice(0, Math.max(1, end));
  const cursor = steps.length < rest.length ? steps.at(-1)!.name : null;
  return { now, life: job.steps?.life ?? 1, steps: steps.map((step) => ({ ...step })), cursor };
}

function endOverdue({ steps }: StoredJob, now: number): void {
  for (const step of steps?.byName.values() ?? []) {
    if (step.state !== "open" || step.until === null || step.until > now) continue;
    steps!.byName.set(step.name, { ...step, state: step.kind === "sleep" ? "done" : "timeout", endedAt: now });
  }
}

export function endStep(memory: Context, end: StepEnd): StepEndAnswer {
  const { jobs, now } = memory;
  const job = jobs.get(end.id);
  if (job === undefined) return { kind: "missing" };
  const { record } = job;
  if (!end.from.includes(record.status)) return { kind: "refused", status: record.status };
  const { type, queue } = record;
  const { name, kind, state, value, by } = end;
  const before = job.steps?.byName.get(name);
  const isOfOtherLife = end.life !== null && end.life !== (job.steps?.life ?? 1);
  if (isOfOtherLife || (before !== undefined && before.kind !== kind)) return { kind: "late", state: before?.state ?? "open" };
  if (before !== undefined && before.state !== "open") {
    if (before.by === by) return { kind: "ok", woke: false, type, queue };
    if (before.state !== "failed") return { kind: "late", state: before.state };
  }
  if (state !== "failed" && !(job.steps ?? new Steps()).fitsWith([end])) return { kind: "full" };
  const { until, startedAt, attempt, detail } = before ?? { until: null, startedAt: now, attempt: record.attempt, detail: null };
  stepsOf(job).byName.set(name, { name, kind, state, value, until, startedAt, endedAt: now, attempt, by, detail });
  const woke = before?.state === "open" && record.status === "blocked";
  if (woke) jobs.apply(job, OPEN.transition, now);
  return { kind: "ok", woke, type, queue };
}

/** The transition of a settlement with waits, which become open steps: see SUSPEND in store.ts. */
export function suspended({ now }: Context, job: StoredJob, { transition, waits = [] }: Settlement): Transition {
  if (waits.length === 0) return transition;
  const { byName } = stepsOf(job);
  for (const wait of waits) {
    const before = byName.get(wait.name);
    if (before === undefined) byName.set(wait.name, stored(wait, undefined, job.record.attempt, now));
  }
  const steps = waits.map(({ name }) => byName.get(name)!);
  job.isResumed = true;
  if (steps.some(({ state }) => state !== "open")) return { ...transition, to: "pending", delayMs: 0 };
  const untils = steps.flatMap(({ until }) => until ?? []);
  return untils.length === 0 ? transition : { ...transition, delayMs: Math.max(0, Math.min(...untils) - now) };
}

/** Inserts the jobs that a suspended one calls. */
export function insertCalls(memory: Context, { calls = [] }: Settlement): void {
  for (const job of calls) {
    const known = memory.jobs.get(job.id);
    if (known === undefined) insertJob(memory, job);
    else if (isTerminal(known.record.status)) leaveNotice(memory, { kind: "insert", job });
  }
}

/** What a move that ends or restarts a job means for its steps, and for the job that called it. */
export function moveSteps(memory: Context, { record, steps }: StoredJob, { steps: which, ending, transition }: Move): void {
  if (which !== undefined) steps?.forget(which);
  if (transition.to === "cancelled" && record.hasSteps) leaveNotice(memory, { kind: "cancel", id: record.id });
  const { id, parent, fence } = record;
  if (ending !== undefined && parent !== null) leaveNotice(memory, endNotice(parent, id, fence, ending));
}
