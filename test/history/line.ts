/**
 * A HISTORY: what the processes of a run asked, what they were told, and what their handlers saw; one JSON object a line.
 *
 *   invoke  the call begins; written before anything is sent
 *   ok      it took effect, and so it was answered
 *   fail    it certainly did not
 *   unknown it may or may not have taken effect, now or later: an error, a deadline, or no answer at all because the process died
 *
 * `at` is in milliseconds of one clock that all processes of the run share and that only goes forward (on one machine: the monotonic one).
 * `by` is one incarnation of one process; `op` counts its calls. Lines of one process are in order; those of many are merged by `at`.
 *
 * Calls are those of the store contract, one line an item, because that is where everything that can happen to a job happens; `enqueue` beside
 * them is what the producer itself was told. The final dump of the store ends a history as lines of its own (dump.ts).
 */
import type { After, FlowHead, OnFailure, Phase as MemberPhase } from "../../src/core/flow.ts";
import type { Attempt, JobError, Status } from "../../src/core/job.ts";
import type { Outcome } from "../../src/core/lifecycle.ts";
import type { QueueChange, QueueSettings, Retention } from "../../src/core/queue.ts";
import type { Timing } from "../../src/core/schedule.ts";
import type { Counter } from "../../src/core/counters.ts";
import type { StepKind, StepState } from "../../src/core/steps.ts";
import type { LeaseAnswer, StepEndAnswer } from "../../src/store/store.ts";

/** What is known of a job when it is sent. */
export interface SentJob {
  readonly job: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly maxRetries: number;
  readonly maxLost: number;
  readonly retryDelayMs: number;
  readonly delayMs: number;
  readonly runAt: number | null;
  readonly key: string | null;
  readonly keyTtlMs: number;
  /** Left out if it has none. */
  readonly limitKey?: string;
  /** Of type and payload: two jobs with the same are the same request. */
  readonly print: string;
  /** The job that called it, at which step; or the flow of which it is a member, under which name. Left out if there is none. */
  readonly parent?: { readonly job: string; readonly step: string; readonly isFlow?: true };
  /** It waits until somebody opens it. */
  readonly isBlocked?: true;
  /** Of a flow: its members. */
  readonly flow?: readonly SentMember[];
}

/** A member of a flow, as it is sent. */
export interface SentMember {
  readonly name: string;
  readonly job: string;
  readonly after: After;
  readonly onFailure: OnFailure;
}

/** A step of a job. `value` is a print of its result, of the payload of its signal, or of what became of the called job. */
export interface ToldStep {
  readonly step: string;
  readonly kind: StepKind;
  readonly state: StepState;
  readonly value: string | null;
  /** What ended it from outside: the id of a signal, or the id and fence of a called job. */
  readonly by?: string | null;
  /** When it ends by itself, by the engine's clock. */
  readonly until?: number | null;
}

/** A wait at which an attempt was suspended. */
export interface AskedWait {
  readonly step: string;
  readonly kind: StepKind;
  readonly untilMs: number | null;
}

/** A lease as a claim granted it. Times are the engine's. */
export interface Granted {
  readonly job: string;
  readonly queue: string;
  readonly fence: number;
  readonly attempt: number;
  readonly retryCount: number;
  readonly lostCount: number;
  readonly runAt: number;
  readonly startedAt: number;
  readonly leaseUntil: number;
}

/** What each call asks. */
export interface Asked {
  enqueue: { readonly queue: string; readonly key: string | null; readonly print: string };
  insert: SentJob;
  /** `made` is the job of the tick, if it makes one. */
  tick: { readonly schedule: string; readonly version: number; readonly tick: number | null; readonly made: SentJob | null };
  claim: {
    readonly worker: string;
    readonly queues: readonly string[];
    readonly types: readonly string[] | "*";
    readonly limit: number;
    readonly leaseMs: number;
    readonly turn: number;
    readonly again: boolean;
    /** It came with the report of a call, for which the store was asked first. */
    readonly isAfterCalls?: true;
  };
  settle: {
    readonly job: string;
    readonly fence: number;
    readonly outcome: Outcome["kind"];
    readonly to: Status;
    readonly delayMs: number | null;
    /** Prints of what is stored with it; null when there is none. */
    readonly result: string | null;
    readonly error: string | null;
    readonly ifExpired: boolean;
    /** For how long the limit key of the job is held; left out if it is not. */
    readonly holdMs?: number;
    /** A job that comes with it, in the same commit: the delivery of a webhook. */
    readonly made: SentJob | null;
    /** The open steps of a suspended attempt, and the jobs that it calls. Left out of all others. */
    readonly waits?: readonly AskedWait[];
    readonly calls?: readonly SentJob[];
  };
  extend: { readonly job: string; readonly fence: number; readonly leaseMs: number };
  note: { readonly job: string; readonly fence: number };
  "keep-steps": { readonly job: string; readonly fence: number; readonly steps: readonly ToldStep[] };
  /** By the holder of a lease: it ends what is overdue. */
  "read-steps": { readonly job: string; readonly fence: number };
  /** A signal, or the end of a called job. */
  "end-step": Omit<ToldStep, "until"> & { readonly job: string; readonly by: string };
  cancel: { readonly job: string };
  /** `forgets`: which steps a new life is without; left out if it keeps all. */
  retry: { readonly job: string; readonly forgets?: "all" | "failed" };
  "run-now": { readonly job: string };
  /** A job that was blocked may run. */
  open: { readonly job: string };
  /** The job of a flow gets the status of the flow. */
  "set-flow": { readonly job: string; readonly to: Status };
  "add-members": { readonly job: string; readonly added: readonly SentMember[] };
  remove: { readonly job: string; readonly from: readonly Status[] };
  prune: { readonly rules: readonly (Retention & { readonly queue: string })[] };
  configure: { readonly queue: string; readonly change: QueueChange };
  "limit-key": { readonly queue: string; readonly key: string | null; readonly limits: string | null };
  "put-schedule": {
    readonly schedule: string;
    readonly timing: Timing;
    readonly catchUp: "one" | "skip";
    readonly overlap: "allow" | "skip";
    readonly paused: boolean;
    readonly nextTick: number | null;
  };
  "remove-schedule": { readonly schedule: string };
}

/** What each call is answered, where there is more to say than ok or not. */
export interface Answered {
  enqueue: { readonly job?: string; readonly created?: boolean; readonly code?: string };
  insert: {
    readonly kind?: "created" | "known" | "pruned" | "conflict" | "full";
    readonly status?: Status;
    readonly createdAt?: number;
    readonly runAt?: number;
    /** The job that has the key. */
    readonly holder?: string;
  };
  tick: { readonly answer?: "ticked" | "stale" | "full" };
  claim: { readonly granted?: readonly Granted[] };
  settle: { readonly answer?: LeaseAnswer };
  extend: { readonly answer?: LeaseAnswer };
  note: { readonly answer?: LeaseAnswer };
  "keep-steps": { readonly answer?: LeaseAnswer | "full" };
  /** Part of the steps, if they did not fit into one answer. */
  "read-steps": { readonly life?: number; readonly steps?: readonly ToldStep[]; readonly isWhole?: boolean };
  /** `state`: what it found, if it was late. */
  "end-step": { readonly kind?: StepEndAnswer["kind"]; readonly woke?: boolean; readonly state?: StepState };
  cancel: ChangeSaid;
  retry: ChangeSaid;
  "run-now": ChangeSaid;
  open: ChangeSaid;
  "set-flow": ChangeSaid;
  "add-members": Record<string, never>;
  remove: ChangeSaid;
  prune: { readonly removed?: number };
  configure: Record<string, never>;
  "limit-key": Record<string, never>;
  "put-schedule": Record<string, never>;
  "remove-schedule": Record<string, never>;
}

/** `was`: the status before a change that was made. `status`: the one that forbade it. */
export interface ChangeSaid {
  readonly was?: Status;
  readonly status?: Status | "missing";
}

export type Verb = keyof Asked;
export type Phase = "ok" | "fail" | "unknown";

interface Stamp {
  readonly at: number;
  readonly by: string;
}

export type InvokeLine = {
  [V in Verb]: Stamp & { readonly op: number; readonly phase: "invoke"; readonly do: V; readonly ask: Asked[V] };
}[Verb];
export type AnswerLine = {
  [V in Verb]: Stamp & { readonly op: number; readonly phase: Phase; readonly do: V; readonly answer: Answered[V] };
}[Verb];

/** Faults that the checks know by name: a process is killed; a process stops for a while and then goes on. All others are only times of trouble. */
export const CRASH = "crash";
export const FREEZE = "freeze";
/** Instead of a process, where a fault is nobody's own: what a program does that is no part of the run. All are to go on. */
export const STRANGER = "stranger";

/** What was seen without being asked. */
export interface Seen {
  /** The handler was called, and by itself says so. */
  start: { readonly worker: string; readonly job: string; readonly fence: number; readonly print: string };
  end: {
    readonly worker: string;
    readonly job: string;
    readonly fence: number;
    readonly how: "ok" | "error" | "discard" | "snooze" | "retry-after" | "hold";
    /** That it asked for, with a snooze, a hold of its limit key or a retry-after. */
    readonly delayMs?: number;
  };
  /** The function of a step did its work. */
  effect: { readonly worker: string; readonly job: string; readonly fence: number; readonly step: string };
  /** The handler goes on after a step, a sleep, a wait or a call, with what it was given. */
  "went-on": Omit<ToldStep, "by" | "until"> & { readonly worker: string; readonly job: string; readonly fence: number };
  /** The handler's signal aborted. */
  abort: { readonly worker: string; readonly job: string; readonly fence: number };
  /** A worker begins. */
  up: {
    readonly worker: string;
    readonly slots: number;
    readonly queues: readonly string[];
    readonly types: readonly string[] | "*";
    readonly leaseMs: number;
    readonly pollMs: number;
    /** It serves all queues of a kind and has to ask which there are, before it claims. */
    readonly asksForQueues?: boolean;
  };
  /** A worker was told to stop, and later: it has. */
  stopping: { readonly worker: string; readonly graceMs: number };
  stopped: { readonly worker: string };
  /**
   * Something was done to one incarnation of a process or, by the name without a number, to all of them (`who`); null: to all processes. It has
   * taken effect `from` then on, left out: just now; and `until` then it goes on, left out: it is over.
   */
  fault: {
    readonly what: string;
    readonly who: string | null;
    readonly from?: number;
    readonly until?: number;
    /** The jobs that somebody held meanwhile, so that nobody could take or end them. */
    readonly jobs?: readonly string[];
  };
  /** The loop of this process turns. Written again and again, a few times a second. */
  pulse: Record<string, never>;
  /** A write of another program, which nothing was done to, was committed. The next one is begun a little later. */
  probe: Record<string, never>;
  /** The engine's time, read at this moment or at most so long before it. */
  clock: { readonly engine: number; readonly withinMs: number };
  /** No fault any more from here on. What is due must have ended after so long. */
  calm: { readonly boundMs: number };
  /** All-time counters of a queue, read while the run goes on. */
  totals: { readonly queue: string; readonly counts: Readonly<Partial<Record<Counter, number>>> };
  "stored-job": StoredJob;
  "stored-flow": StoredFlow;
  "stored-queue": {
    readonly queue: string;
    readonly paused: boolean;
    readonly settings: QueueSettings;
    readonly counts: Readonly<Partial<Record<Status, number>>>;
    readonly totals: Readonly<Partial<Record<Counter, number>>>;
  };
  "stored-schedule": { readonly schedule: string; readonly lastTick: number | null; readonly lastJob: string | null };
  /** The dump is complete. */
  dumped: { readonly engine: number; readonly expired: readonly string[]; readonly notices?: readonly string[] };
}

/** A job as the final dump shows it. */
export interface StoredJob {
  readonly job: string;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly status: Status;
  readonly print: string;
  readonly key: string | null;
  readonly retryCount: number;
  readonly maxRetries: number;
  readonly lostCount: number;
  readonly maxLost: number;
  readonly attempt: number;
  readonly fence: number;
  readonly result: string | null;
  readonly error: string | null;
  readonly createdAt: number;
  readonly runAt: number;
  readonly completedAt: number | null;
  readonly attempts: readonly StoredAttempt[];
  /** Left out of a job that never had one. */
  readonly steps?: readonly ToldStep[];
}

/** What is kept beside a flow, as the final dump shows it. */
export interface StoredFlow {
  readonly job: string;
  readonly head: Pick<FlowHead, "status" | "total" | "ended" | "fresh" | "stuck" | "isCancelled">;
  readonly members: readonly StoredMember[];
}

export interface StoredMember extends SentMember {
  readonly phase: MemberPhase;
  readonly end: Status | null;
  /** The flow cancelled it, because of what it waits for. */
  readonly isCut: boolean;
}

/** One attempt in a stored history. */
export interface StoredAttempt {
  readonly number: number;
  /** Left out by histories that have no need of it. */
  readonly worker?: string | null;
  readonly startedAt?: number;
  readonly endedAt: number | null;
  readonly outcome: Attempt["outcome"];
  readonly kind: JobError["kind"] | null;
}

export type Sight = keyof Seen;
export type SeenLine = { [S in Sight]: Stamp & { readonly is: S } & Seen[S] }[Sight];

export type Line = InvokeLine | AnswerLine | SeenLine;
