/**
 * FLOWS: jobs that run after each other. A flow is an internal job: it waits in `blocked` while its members run, and ends when nothing more
 * will happen by itself. So it has an id, a key, a webhook, events and retention like any other job.
 *
 * Its members are ordinary jobs, whose parent it is. What the flow knows of each is kept beside the flow as two texts that only the core reads:
 *
 *   plan    the job, what it waits for, and what waits for it. It never changes
 *   state   how the job stands, as far as the flow was told
 *
 *   new ─→ blocked ─→ opened        all that it waits for has ended well enough (onFailure)
 *             ↑  └──→ cut           something that it waits for ended badly, so it is cancelled
 *             └─── revive ←─ cut    that was retried by hand, so it waits again
 *
 * A member that ends, or is retried by hand, leaves a notice in the same commit (steps.ts). Upkeep delivers it: flow-progress.ts works out what
 * follows, the store keeps it if nobody was faster, and what it means for other jobs is done by notices of that commit. So ends lock nothing
 * that other ends need, and each step can be repeated.
 */
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import type { NewJob, Status } from "./job.ts";
import { CANCEL, type Ending, type Move, OPEN, RETRY } from "./lifecycle.ts";
import { withGroup } from "./error-group.ts";
import type { CallError } from "./steps.ts";

export const FLOW_TYPE: string = `${INTERNAL_TYPES}flow`;
export const FLOW_QUEUE: string = `${INTERNAL_MARK}flows`;
/** Coalescing keys are kept like flows: see coalesce.ts. */
export const KEY_QUEUE: string = `${INTERNAL_MARK}keys`;
/** The queues whose jobs may be flows, for a store. */
export const FLOW_QUEUES: readonly string[] = [FLOW_QUEUE, KEY_QUEUE];

/** What one call can add, and how many members a flow can have. */
export const MAX_FLOW_CALL = 10_000;
export const MAX_FLOW_EDGES = 100_000;
export const MAX_FLOW_BYTES: number = 16 * 1024 * 1024;
export const MAX_FLOW_MEMBERS = 1_000_000;
/** How many members of a flow can wait for all others. */
export const MAX_LAST_MEMBERS = 100;
/** The largest page of a list of flows, and of the members of one. */
export const MAX_FLOWS_PAGE = 100;
export const MAX_MEMBERS_PAGE = 1000;
/** How many members can wait for one: when it ends, all of them are looked at in one commit. */
export const MAX_NEXT = 10_000;
/** How many members one notice names. */
export const MAX_NAMED = 500;
/** How many results of predecessors a member gets at once, in bytes. Beyond that it reads one after the other. */
export const MAX_RESULTS_BYTES: number = 8 * 1024 * 1024;

export const ON_FAILURE = ["cancel", "run", "wait"] as const;
/** What a bad end (dead, failed, cancelled) of a job that it waits for means to a member. */
export type OnFailure = (typeof ON_FAILURE)[number];

export const FLOW_STATUSES = ["running", "completed", "failed", "cancelled"] as const;
/** How a flow stands. */
export type FlowStatus = (typeof FLOW_STATUSES)[number];

/** `*`: every member that does not wait for all others itself. */
export const ALL_OTHERS = "*";
/** What a member waits for. */
export type After = readonly string[] | typeof ALL_OTHERS;

export interface MemberPlan {
  readonly job: NewJob;
  readonly after: After;
  readonly onFailure: OnFailure;
}

export type Phase = "new" | "blocked" | "opened" | "cut" | "revive";

export interface MemberState {
  readonly phase: Phase;
  /** How many of those that it waits for have not ended, and how many ended badly. Not kept for members that wait for all others. */
  readonly waits: number;
  readonly bad: number;
  /** The members that wait for it. */
  readonly next: readonly string[];
  /** Which job it has: 0, and one more for each time that its job was gone when it was to be revived. */
  readonly job: number;
  /** Orders what the flow was told of this job: see `momentOf`. */
  readonly at: number;
  /** How it ended; null if it has not. */
  readonly end: Status | null;
  /** JSON: its result, or a CallError. Kept only if a member may read it. */
  readonly value: string | null;
  /** Why it was to be cancelled. It has not been retried since. */
  readonly cause: string | null;
  /** It waits until somebody retries what it waits for. */
  readonly isStuck: boolean;
}

/** What a flow remembers as a whole. */
export interface FlowHead {
  readonly status: FlowStatus;
  readonly total: number;
  /** How many ended, by status. */
  readonly ended: Readonly<Partial<Record<Status, number>>>;
  /** How many have no job yet. */
  readonly fresh: number;
  /** How many were cancelled and wait again as soon as their jobs do. Until then the flow has not ended. */
  readonly reviving: number;
  /** Of the members that do not wait for all others: how many have not ended, and how many ended badly. */
  readonly open: number;
  readonly bad: number;
  /** The members that wait for all others. */
  readonly last: readonly string[];
  /** Some of the members that wait until somebody retries what they wait for, and how many there are. */
  readonly stuck: { readonly count: number; readonly names: readonly string[] };
  /** Somebody cancelled the flow. */
  readonly isCancelled: boolean;
  readonly endedAt: number | null;
}

/** A flow without members. */
export const EMPTY_FLOW: FlowHead = {
  status: "running",
  total: 0,
  ended: {},
  fresh: 0,
  reviving: 0,
  open: 0,
  bad: 0,
  last: [],
  stuck: { count: 0, names: [] },
  isCancelled: false,
  endedAt: null,
};

/** A member as stores keep it. */
export interface MemberText {
  readonly name: string;
  readonly plan: string;
  readonly state: string;
}

/** A member to store, with its job. */
export interface Member {
  readonly name: string;
  readonly plan: MemberPlan;
  readonly state: MemberState;
}

/** Reads the plan when it is first needed: what most members tell their flow needs only the state. */
class StoredMember implements Member {
  readonly name: string;
  readonly state: MemberState;
  readonly #text: string;
  #plan: MemberPlan | null = null;

  constructor({ name, plan, state }: MemberText) {
    this.name = name;
    this.#text = plan;
    this.state = readState(state);
  }

  get plan(): MemberPlan {
    return (this.#plan ??= JSON.parse(this.#text) as MemberPlan);
  }
}

export function readMember(text: MemberText): Member {
  return new StoredMember(text);
}

export function textOfMember({ name, plan, state }: Member): MemberText {
  return { name, plan: JSON.stringify(plan), state: textOfState(state) };
}

const NEW_STATE: MemberState = {
  phase: "new",
  waits: 0,
  bad: 0,
  next: [],
  job: 0,
  at: -1,
  end: null,
  value: null,
  cause: null,
  isStuck: false,
};

export function newState(waits: number, next: readonly string[]): MemberState {
  return { ...NEW_STATE, waits, next };
}

function readState(text: string): MemberState {
  return { ...NEW_STATE, ...(JSON.parse(text) as Partial<MemberState>) };
}

/** Leaves out what is as in a new state: a flow has many members. Written out, because this runs for every end of a member. */
export function textOfState(state: MemberState): string {
  const { phase, waits, bad, next, job, at, end, value, cause, isStuck } = state;
  const text: { -readonly [Name in keyof MemberState]?: MemberState[Name] } = { phase };
  if (waits !== 0) text.waits = waits;
  if (bad !== 0) text.bad = bad;
  if (next.length > 0) text.next = next;
  if (job !== 0) text.job = job;
  if (at !== NEW_STATE.at) text.at = at;
  if (end !== null) text.end = end;
  if (value !== null) text.value = value;
  if (cause !== null) text.cause = cause;
  if (isStuck) text.isStuck = isStuck;
  return JSON.stringify(text);
}

export function readHead(text: string): FlowHead {
  return JSON.parse(text) as FlowHead;
}

/**
 * Orders what a flow is told of a member: each end has a higher fence than what came before it, and a retry by hand comes right after the end
 * with its fence.
 */
export function momentOf(fence: number, isRetry: boolean): number {
  return fence * 2 + (isRetry ? 1 : 0);
}

export type EndClass = "open" | "good" | "bad";

export function classOf(end: Status | null): EndClass {
  if (end === null) return "open";
  return end === "completed" ? "good" : "bad";
}

export function waitsForAll({ after }: Pick<MemberPlan, "after">): boolean {
  return after === ALL_OTHERS;
}

/** Whether it can start with the flow. */
export function isFirst({ after }: Pick<MemberPlan, "after">): boolean {
  return after !== ALL_OTHERS && after.length === 0;
}

/** The status of a flow's own job. */
export function jobStatusOf(status: FlowStatus): Status {
  return status === "running" ? "blocked" : status;
}

/** A member opens. With a delay it waits for that first. */
export function openAfter(delayMs: number): Move {
  return delayMs === 0 ? OPEN : { ...OPEN, transition: { ...OPEN.transition, to: "scheduled", delayMs } };
}

/** A member is cancelled because something that it waits for ended badly. */
export function cutBecause(cause: string): Move {
  const message = `${cause}, so this job was cancelled`;
  const error = withGroup({ name: "PredecessorFailed", message, stack: null, kind: "cancelled" });
  const value: CallError = { name: error.name, message, kind: error.kind, status: "cancelled" };
  return {
    ...CANCEL,
    from: ["blocked"],
    transition: { ...CANCEL.transition, error, errorOnlyIfRunning: false },
    ending: { state: "failed", value: JSON.stringify(value) },
    leavesHeld: true,
  };
}

const RETRIED: Ending = { state: "open", value: null };

/** A member that is retried by hand waits again: the flow opens it when it may run. */
export function retryMember(move: Move): Move {
  return { ...move, transition: { ...move.transition, to: "blocked", delayMs: null }, ending: RETRIED };
}

/** A member that its flow had cancelled waits again. */
export const REVIVE: Move = { ...retryMember(RETRY), from: ["cancelled"], leavesHeld: true };

/** The job of a flow takes the status of the flow. A completed flow stays so: whoever wants to say that it runs or failed is late. */
export function flowMove(to: FlowStatus): Move {
  const status = jobStatusOf(to);
  const from = (["blocked", "failed", "cancelled"] as const).filter((one) => one !== status);
  return { from, transition: { ...OPEN.transition, to: status, delayMs: null }, leavesHeld: true };
}
