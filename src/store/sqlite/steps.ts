/** STEPS OF JOBS: see "Jobs do durable work" in store.ts. */
import { isTerminal } from "../../core/job.ts";
import { type Move, OPEN, type Transition } from "../../core/lifecycle.ts";
import {
  endNotice,
  MAX_STEPS,
  MAX_STEPS_BYTES,
  MAX_STEPS_READ_BYTES,
  type NewStep,
  type StepEnd,
  type StepRecord,
} from "../../core/steps.ts";
import { STATE, statusOf } from "../numbers.ts";
import type { Settlement, StepEndAnswer, StepsPage } from "../store.ts";
import { changedExtra, idToBlob, parentIn, readStep, type StepsFacts, stepsIn, stepValues } from "./codec.ts";
import { insertJob } from "./insert.ts";
import { leaveNotice } from "./notices.ts";
import { SET_EXTRA } from "./statements.ts";
import {
  DELETE_FAILED_STEPS,
  DELETE_STEPS,
  END_OVERDUE,
  FIND_STEP,
  JOB_OF_STEPS,
  PUT_STEP,
  READ_STEPS,
  RESET_COUNTS,
  SIZES_BESIDE,
  SIZES_OF_STEPS,
} from "./step-statements.ts";
import type { Transaction, View } from "./transaction.ts";
import { applyTransition, type Facts, factsOf, fenceAfter } from "./transition.ts";

/** The steps of one job. What the job remembers of them is among its rare fields: a job without steps has no rows to look for. */
class Steps {
  readonly #tx: Transaction;
  readonly #job: Facts;
  #facts: StepsFacts | null;

  constructor(tx: Transaction, job: Facts) {
    this.#tx = tx;
    this.#job = job;
    this.#facts = stepsIn(job.extra);
  }

  find(name: string): StepRecord | null {
    const row = this.#facts === null ? undefined : this.#tx.on.get(FIND_STEP, this.#job.seq, name);
    return row === undefined ? null : readStep(row);
  }

  /** Whether it fits with these steps in place of what has their names. Cost: a step in the table for each step of the job. */
  fitsWith(steps: readonly Pick<StepRecord, "name" | "value">[]): boolean {
    const names = [...new Set(steps.map(({ name }) => name))];
    const [all, others, bytes] =
      this.#facts === null ? [0, 0, 0] : (this.#tx.on.get(SIZES_BESIDE, JSON.stringify(names), this.#job.seq) as [number, number, number]);
    const added = steps.reduce((sum, { value }) => sum + (value === null ? 0 : Buffer.byteLength(value)), 0);
    return others + names.length <= Math.max(MAX_STEPS, all) && bytes + added <= MAX_STEPS_BYTES;
  }

  put(step: StepRecord): void {
    if (this.#facts === null) this.#write({ life: 1 });
    this.#tx.on.run(PUT_STEP, this.#job.seq, ...stepValues(step));
  }

  /** The job is suspended, and has this fence until its next claim. */
  suspendAt(fence: number): void {
    this.#write({ life: 1, ...this.#facts, suspendedAt: fence });
  }

  /** What a move means for them. */
  move({ steps, transition }: Move): void {
    if (this.#facts === null) return;
    if (steps === "retry") this.#tx.on.run(DELETE_FAILED_STEPS, this.#job.seq);
    if (steps === "forget") {
      this.#tx.on.run(DELETE_STEPS, this.#job.seq);
      this.#write({ ...this.#facts, life: this.#facts.life + 1 });
    }
    const { suspendedAt } = this.#facts;
    if (suspendedAt === this.#job.fence && transition.bumpFence) this.suspendAt(fenceAfter(this.#job, transition));
  }

  #write(facts: StepsFacts): void {
    // A process of an older version deletes jobs but not their steps, and a later job may get the sequence of such a job.
    if (this.#facts === null) this.#tx.on.run(DELETE_STEPS, this.#job.seq);
    this.#facts = facts;
    this.#tx.on.run(SET_EXTRA, changedExtra(this.#job.extra, { steps: facts }), this.#job.seq);
  }
}

function stored(step: NewStep, before: StepRecord | null, attempt: number, now: number): StepRecord {
  const { name, kind, state, value, untilMs, detail } = step;
  const isOpen = state === "open";
  const until = isOpen && before?.state === "open" ? before.until : untilMs === null ? null : now + untilMs;
  const { startedAt, attempt: first } = before ?? { startedAt: now, attempt };
  return { name, kind, state, value, until, startedAt, endedAt: isOpen ? null : now, attempt: first, by: null, detail };
}

/** Under a lease that the caller has checked. */
export function keepSteps(tx: Transaction, job: Facts, steps: readonly NewStep[]): "ok" | "full" {
  const present = new Steps(tx, job);
  if (!present.fitsWith(steps)) return "full";
  for (const step of steps) present.put(stored(step, present.find(step.name), job.attempt, tx.now));
  tx.on.run(RESET_COUNTS, tx.now, job.seq);
  return "ok";
}

type JobRow = [seq: number, state: number, fence: number, extra: string | null];

export function readSteps(view: View, id: string, after: string | null): StepsPage | null {
  const row = view.on.get(JOB_OF_STEPS, idToBlob(id)) as JobRow | undefined;
  return row === undefined ? null : pageOf(view, row, after);
}

/** Ends what is overdue, and then reads. */
export function readLeasedSteps(tx: Transaction, id: string, fence: number, after: string | null): StepsPage | null {
  const row = tx.on.get(JOB_OF_STEPS, idToBlob(id)) as JobRow | undefined;
  if (row === undefined || row[1] !== STATE.running || row[2] !== fence) return null;
  if (stepsIn(row[3]) !== null) tx.on.run(END_OVERDUE, tx.now, row[0], tx.now);
  return pageOf(tx, row, after);
}

function pageOf({ on, now }: View, [seq, , , extra]: JobRow, after: string | null): StepsPage {
  const facts = stepsIn(extra);
  if (facts === null) return { now, life: 1, steps: [], cursor: null };
  // No name is empty.
  const from = after ?? "";
  const sizes = on.all(SIZES_OF_STEPS, seq, from) as [name: string, bytes: number][];
  let bytes = 0;
  const end = sizes.findIndex(([, size]) => (bytes += size) > MAX_STEPS_READ_BYTES);
  const last = end === -1 ? sizes.length - 1 : Math.max(0, end - 1);
  const steps = sizes.length === 0 ? [] : on.all(READ_STEPS, seq, from, sizes[last]![0]).map(readStep);
  return { now, life: facts.life, steps, cursor: last < sizes.length - 1 ? sizes[last]![0] : null };
}

export function endStep(tx: Transaction, end: StepEnd): StepEndAnswer {
  const job = factsOf(tx, idToBlob(end.id));
  if (job === null) return { kind: "missing" };
  const status = statusOf(job.state);
  if (!end.from.includes(status)) return { kind: "refused", status };
  const { type, queue } = tx.catalog.namesOf(job.lane);
  const { name, kind, state, value, by } = end;
  const steps = new Steps(tx, job);
  const before = steps.find(name);
  const isOfOtherLife = end.life !== null && end.life !== (stepsIn(job.extra)?.life ?? 1);
  if (isOfOtherLife || (before !== null && before.kind !== kind)) return { kind: "late", state: before?.state ?? "open" };
  if (before !== null && before.state !== "open") {
    if (before.by === by) return { kind: "ok", woke: false, type, queue };
    if (before.state !== "failed") return { kind: "late", state: before.state };
  }
  if (state !== "failed" && !steps.fitsWith([end])) return { kind: "full" };
  const { until, startedAt, attempt, detail } = before ?? { until: null, startedAt: tx.now, attempt: job.attempt, detail: null };
  steps.put({ name, kind, state, value, until, startedAt, endedAt: tx.now, attempt, by, detail });
  const woke = before?.state === "open" && status === "blocked";
  if (woke) applyTransition(tx, job, OPEN.transition, null);
  return { kind: "ok", woke, type, queue };
}

/** The transition of a settlement with waits, which become open steps: see SUSPEND in store.ts. */
export function suspended(tx: Transaction, job: Facts, { transition, waits = [] }: Settlement): Transition {
  if (waits.length === 0) return transition;
  const present = new Steps(tx, job);
  present.suspendAt(fenceAfter(job, transition));
  const steps = waits.map((wait) => {
    const before = present.find(wait.name);
    if (before !== null) return before;
    const step = stored(wait, null, job.attempt, tx.now);
    present.put(step);
    return step;
  });
  if (steps.some(({ state }) => state !== "open")) return { ...transition, to: "pending", delayMs: 0 };
  const untils = steps.flatMap(({ until }) => until ?? []);
  return untils.length === 0 ? transition : { ...transition, delayMs: Math.max(0, Math.min(...untils) - tx.now) };
}

/** Inserts the jobs that a suspended one calls. */
export function insertCalls(tx: Transaction, { calls = [] }: Settlement): void {
  for (const job of calls) {
    const known = factsOf(tx, idToBlob(job.id));
    if (known === null) insertJob(tx, job);
    else if (isTerminal(statusOf(known.state))) leaveNotice(tx, { kind: "insert", job });
  }
}

/** What a move means for the steps of a job, and for the job that called it. `job` is from before the move. */
export function moveSteps(tx: Transaction, id: string, job: Facts, move: Move): void {
  if (job.extra === null) return;
  new Steps(tx, job).move(move);
  const { ending, transition } = move;
  if (transition.to === "cancelled" && stepsIn(job.extra) !== null) leaveNotice(tx, { kind: "cancel", id });
  const parent = parentIn(job.extra);
  if (ending !== undefined && parent !== null) leaveNotice(tx, endNotice(parent, id, fenceAfter(job, transition), ending));
}
