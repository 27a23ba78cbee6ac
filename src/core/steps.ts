/**
 * DURABLE WORK. A handler can keep results of steps, sleep for days, wait for a signal, and call other jobs. What it did is stored as the
 * steps of its job; a later attempt gets it back by name.
 *
 *   open ─→ done       a sleep is over, a signal came, a called job completed; a step's result is stored as done at once
 *     ├───→ failed     a called job ended badly
 *     └───→ timeout    no signal came in time
 *
 * Whatever ends a step ends it once: the first end of a name holds. (A failed call can still be replaced, if somebody retries the called job.)
 *
 * A handler that reaches open steps is suspended: its attempt ends at no cost, its job waits in `blocked` (or in `scheduled`, if it only
 * sleeps), and the first of these steps that ends makes it pending again.
 */
import { invalid, MillraceError } from "./errors.ts";
import { isFlowParent, isKeyParent } from "./flow-parent.ts";
import type { JobOptions } from "./job-options.ts";
import { isTerminal, type JobError, type JobRecord, type NewJob, type Status, STATUSES } from "./job.ts";
import type { Ending, Transition } from "./lifecycle.ts";

export const STEP_KINDS = ["step", "sleep", "wait", "call"] as const;
/** What a step is: `step`, the result of a function; `sleep`; `wait`, for a signal of this name; `call`, of another job. */
export type StepKind = (typeof STEP_KINDS)[number];

export const STEP_STATES = ["open", "done", "failed", "timeout"] as const;
/** Whether a step has ended, and how. */
export type StepState = (typeof STEP_STATES)[number];

/** How many steps a job can have, and how many bytes their values can have together. */
export const MAX_STEPS = 1000;
export const MAX_STEPS_BYTES: number = 8 * 1024 * 1024;
/** The largest result of a step, and payload of a signal. */
export const MAX_STEP_BYTES: number = 1024 * 1024;
export const MAX_STEP_NAME_LENGTH = 128;
export const MAX_SIGNAL_ID_LENGTH = 128;
/** How many signals that did not fit are remembered with a wait. */
export const MAX_REFUSED = 10;
/** The longest error of such a signal: workers cut longer ones. */
export const MAX_REFUSAL_BYTES = 1000;
/**
 * Larger JSON Schemas of waits are not published: they are checked when the wait takes the signal. Schemas are beside the values of steps, and
 * a read of steps may touch all of them.
 */
export const MAX_WAIT_SCHEMA_BYTES: number = 4 * 1024;
/** How many bytes of values one read returns, about. */
export const MAX_STEPS_READ_BYTES: number = 4 * 1024 * 1024;

/** On the context of a handler: sets what is called once the handler waits for ever, because its attempt was suspended. */
export const WHEN_SUSPENDED: unique symbol = Symbol("whenSuspended");

/** Who called a job: a step of another job. */
export interface Parent {
  readonly id: string;
  readonly step: string;
  /** Which of its lives: after a restart, what an earlier life called means nothing to it. */
  readonly life: number;
}

/** A step as stores keep it. */
export interface StepRecord {
  readonly name: string;
  readonly kind: StepKind;
  readonly state: StepState;
  /** JSON: the result, the payload of the signal, the result of the called job, or its error if it failed. */
  readonly value: string | null;
  /** When it ends by itself; null if it does not. */
  readonly until: number | null;
  /** When it was first stored, by the store's clock. */
  readonly startedAt: number;
  /** Null while it is open. */
  readonly endedAt: number | null;
  /** The attempt of the job in which it was first stored. 0: a signal that came before any attempt. */
  readonly attempt: number;
  /** What ended it: the id of a signal, or the id and fence of a called job. Tells a repeat from another end. */
  readonly by: string | null;
  /** What only clients read, as JSON: see StepDetail. */
  readonly detail: string | null;
}

/** A step to store: of a handler that runs. */
export interface NewStep {
  readonly name: string;
  readonly kind: StepKind;
  readonly state: StepState;
  readonly value: string | null;
  /** Ends by itself so long after the store's now; null if it does not. A step that is stored and open keeps its time. */
  readonly untilMs: number | null;
  readonly detail: string | null;
}

/** How somebody else ends a step of a job. */
export interface StepEnd {
  readonly id: string;
  readonly name: string;
  readonly kind: StepKind;
  /** `open` only if a flow is told: see Notice. */
  readonly state: StepState;
  readonly value: string | null;
  readonly by: string;
  /** Only if the job is in this life; null: in any. */
  readonly life: number | null;
  /** Only if the job has one of these statuses. */
  readonly from: readonly Status[];
}

/** What a step remembers for people and for checks. */
export interface StepDetail {
  /** How long a step's function ran. */
  readonly runMs?: number | undefined;
  /** The called job. */
  readonly call?: { readonly id: string; readonly type: string; readonly queue: string } | undefined;
  /** The JSON Schema of a signal's payload, if the wait has one: senders are told at once what does not fit. */
  readonly schema?: unknown;
  /** Signals that did not fit the wait, the latest ones. */
  readonly refused?: readonly { readonly at: number; readonly by: string | null; readonly error: string }[] | undefined;
}

export function detailOf({ detail }: Pick<StepRecord, "detail">): StepDetail {
  return detail === null ? {} : (JSON.parse(detail) as StepDetail);
}

/**
 * WHAT JOBS TELL EACH OTHER across commits. A notice is stored with the change that makes it, and upkeep delivers it: at least once, and
 * each delivery can be repeated.
 */
export type Notice =
  /**
   * A job that has a parent ended. The parent of a called job is the job that called it, whose step ends. The parent of a member is its flow;
   * it is also told (`open`) when somebody retries a member by hand.
   */
  | { readonly kind: "end"; readonly end: StepEnd }
  /** A job to insert that could not be inserted in the same commit; or one that has ended before it was called again. */
  | { readonly kind: "insert"; readonly job: NewJob }
  /** The job was cancelled: its open calls are cancelled, too. */
  | { readonly kind: "cancel"; readonly id: string }
  /** Work for a flow: see flow.ts. */
  | FlowNotice;

/** Work for a flow. `end` and `cancel` name no members. */
export interface FlowNotice {
  readonly kind: "flow";
  readonly id: string;
  /**
   * `start`: store the jobs of these members. `act`: do with their jobs what the states of these members say. `end`: give the flow's own job the
   * status of the flow. `cancel`: cancel all members.
   */
  readonly work: "start" | "act" | "end" | "cancel";
  readonly names: readonly string[];
}

/** The error of a called job, as its parent keeps it. */
export type CallError = Pick<JobError, "name" | "message" | "kind"> & { readonly status: Status };

/** A job that a step calls, before it is made. */
export interface CallRequest {
  readonly step: string;
  readonly type: string;
  /** JSON. */
  readonly payload: string;
  /** Those that the call and the definition set. */
  readonly options: JobOptions;
}

/** A job that called another takes its end in any status but `completed`: if it is dead, a retry by hand finds the end. */
export const CALLERS: readonly Status[] = STATUSES.filter((status) => status !== "completed");

/** Names the end of a called job: another life of it ends under another fence. */
export const callEnder = (id: string, fence: number): string => `${id} ${fence}`;

/** The called job that such an end names, and its fence. */
export const callEnded = (by: string): string => by.slice(0, by.indexOf(" "));
export const callFence = (by: string): number => Number(by.slice(by.indexOf(" ") + 1));

/** How a job ended, for the job that called it; null if it has not ended. */
export function endingOf({ status, result, error }: Pick<JobRecord, "status" | "result" | "error">): Ending | null {
  if (!isTerminal(status)) return null;
  if (status === "completed") return { state: "done", value: result };
  const { name, message, kind } = error ?? { name: "Cancelled", message: "it was cancelled", kind: "cancelled" as const };
  return { state: "failed", value: JSON.stringify({ name, message, kind, status } satisfies CallError) };
}

/** Tells the job that called a job how that one ended under this fence. */
export function endNotice(
  { id, step, life }: Parent,
  childId: string,
  fence: number,
  { state, value }: Ending,
): Notice & { readonly kind: "end" } {
  // A flow and a key take every end.
  const from = isFlowParent({ life }) || isKeyParent({ life }) ? [] : CALLERS;
  return { kind: "end", end: { id, name: step, kind: "call", state, value, by: callEnder(childId, fence), life, from } };
}

/** The notice to store when an attempt with this fence ends like that; undefined if nobody is told. */
export function noticeOf(
  { id, fence, parent }: Pick<JobRecord, "id" | "fence" | "parent">,
  { to, result, error, bumpFence }: Transition,
): Notice | undefined {
  if (parent === null) return undefined;
  const ending = endingOf({ status: to, result: result ?? null, error: error ?? null });
  return ending === null ? undefined : endNotice(parent, id, fence + (bumpFence ? 1 : 0), ending);
}

export const STEP_NAME_RULE = `a text of 1 to ${MAX_STEP_NAME_LENGTH} characters without control characters`;

/** Checks the name of a step or a signal. Throws `invalid_input`. */
export function readStepName(name: unknown, field: string): string {
  const isGood =
    typeof name === "string" && name !== "" && name.length <= MAX_STEP_NAME_LENGTH && name.isWellFormed() && !CONTROL.test(name);
  if (!isGood) throw invalid(field, STEP_NAME_RULE, name);
  return name;
}

const CONTROL = /[\u0000-\u001f\u007f]/;

/** The first of these names for which a job with these steps has no room; undefined if all of them fit. */
export function nameWithoutRoom(stored: ReadonlySet<string>, names: readonly string[]): string | undefined {
  const added = names.filter((name) => !stored.has(name));
  return added[Math.max(0, MAX_STEPS - stored.size)];
}

export function stepDoesNotFit(step: string, jobId: string): MillraceError {
  const message = `step "${step}" does not fit: a job keeps at most ${MAX_STEPS} steps, and 8 MiB of results in all`;
  return new MillraceError("invalid_input", message, { field: "name", jobId });
}

/** A called job ended dead, failed or cancelled. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly step: string;
  /** The called job. */
  readonly jobId: string | null;
  readonly status: Status;
  /** The error of the called job. */
  readonly error: CallError;

  constructor(step: string, error: CallError, jobId: string | null) {
    super(`call "${step}" failed: ${error.name}: ${error.message}`);
    this.step = step;
    this.jobId = jobId;
    this.status = error.status;
    this.error = error;
  }
}
