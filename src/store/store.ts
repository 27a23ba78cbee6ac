/**
 * THE STORE CONTRACT. What every engine promises, in words. test/conformance proves each sentence on each engine.
 *
 * A store remembers and decides nothing: transitions come from the core as values and are applied here, atomically, only while their
 * condition holds.
 *
 * Promises that hold for every verb:
 *
 * - Many at once. A verb takes a list and answers item by item, in order. Each item is atomic; the list is not. One item's refusal is an
 *   answer, not an exception, and changes nothing for its neighbours. A rejected promise means the whole call failed or its fate is
 *   unknown (`store_unavailable`, `store_full`): every verb may then be called again with the same arguments (a claim with
 *   `again`). Only log lines may be doubled by that.
 * - Nobody waits for a stranger. An item that would have to wait for somebody else's open transaction (PostgreSQL: a row that an application
 *   holds, a key that it has not committed) is answered `locked` after a short while: nothing was changed, and it may be asked for again. The
 *   other items of the call, its claims among them, are done all the same. An item that is alone in its call is waited for until the deadline.
 * - Committed. When a verb resolves, what it answered is committed and survives what the engine's row in the durability table says.
 * - The store's time. `now` comes from the store's own clock (the server's; on Cluster that of the partition's node), never the caller's.
 *   Delays and leases come in as durations. If that clock steps, leases and due times shift with it, but no promise about fences, keys or
 *   ticks depends on it. All times are whole milliseconds since the epoch.
 * - Counted. Tallies by (queue, status, level), the counters and the histograms change with the transition that they count, in the same
 *   commit. At rest they equal a count of the rows.
 * - Obedient. What changes and what is counted follows from the transition alone, whatever verb or outcome brings it: the counter of the status
 *   that is entered, `lost` where it adds a loss, and the times `run` and `wait` (startedAt − runAt) where an attempt ends with a reported `runMs`.
 * - Bounded. No call takes more than MAX_BATCH items, and none costs more because finished jobs pile up.
 *
 * Why it fits four engines. Every item names its queue or an id, and an id carries the partition of its queue (core/partition.ts), so Redis
 * Cluster can send it to the one slot that holds the job, its key, its lane, its logs and its history. No transition touches two queues.
 * What spans queues (a claim over several, list, queues, workers, due and expired jobs) is a series of separate steps and promises no
 * common instant.
 */
import type { Spend, Spent } from "../core/allowance.ts";
import type { Counter, TimeKind } from "../core/counters.ts";
import type { ErrorGroup } from "../core/error-tally.ts";
import type { Event } from "../core/event.ts";
import type { Filter } from "../core/filter.ts";
import type { Attempt, JobRecord, JobSummaryRecord, LogLine, NewJob, PriorityLevel, Progress, Status } from "../core/job.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { Move, Outcome, Transition } from "../core/lifecycle.ts";
import type { QueueChange, QueueSettings, Retention } from "../core/queue.ts";
import type { Histogram } from "../core/histogram.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import type { ScheduleRecord, ScheduleSpec } from "../core/schedule-record.ts";

export type { LeaseAnswer } from "../core/lease.ts";

export { MAX_BATCH } from "../core/work-limits.ts";

/** A list looks at no more jobs than this before it answers, whatever it found. */
export const MAX_CANDIDATES = 10_000;

/** Jobs of our own that a filter leaves out are no candidates, but a call passes over no more of them than about so many. */
export const MAX_PASSED = 100_000;

/**
 * How long a store remembers that a claim was repeated. A first try may arrive long after its sender has given it up, but no system keeps what
 * it could not deliver for longer than this.
 */
export const REPEAT_REMEMBERED_MS = 300_000;

export interface Store extends Feed, Shared {
  /** How many batches of a verb may usefully be under way: 1 where calls are synchronous, 2 where a server works meanwhile. */
  readonly inFlight: number;

  /** Whether the same data can be opened a second time, from another thread or process. */
  readonly shareable: boolean;

  // ── Jobs come in ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Inserts jobs. Due now → `pending`, later → `scheduled`; a runAt that has passed is now. One that says `blocked` is that, and due now as far
   * as it tells: neither a capacity nor a claim nor upkeep looks at it until a change moves it. The store's sequence follows the order of the
   * list. Looks at the id first, then at the key, then at the capacity. Rings `work` or `due`.
   * - A known id is the same job sent again (its first answer was lost): answered `created`, changed nothing.
   * - A living key whose fingerprint is equal: `known` with the stored job, or `pruned` when only the key is left. Other fingerprint:
   *   `conflict`. A key lives while its job is waiting, blocked, running, dead or failed, and `keyTtlMs` beyond the end of a completed or cancelled
   *   one. No two jobs with one living key can exist. Equal keys in one list: the first wins.
   * - A queue with a capacity whose pending + scheduled + retrying reached it: `full`. A refused job leaves nothing behind, no key either.
   *   Inside a caller's transaction the capacity is checked against what is committed.
   */
  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]>;

  // ── Jobs are worked ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Settles ended leases and grants new ones, in one round trip: the settlements first, then the claims. One commit where the engine has
   * one; on Cluster one for each partition.
   *
   * A settlement is applied if the job is running and its fence is the given one (and, with `ifExpired`, its lease has run out by the
   * store's clock): `ok`. Each job remembers fence and outcome of the last settlement that was applied to it, through later claims: its
   * repeat is `ok` too (with `ifExpired`: `stale`, so that one of two reapers knows that it was not the one). Anything else changes nothing:
   * `cancelled` while the job is cancelled and it was this very lease that the cancel ended, else `stale`. With `ifExpired` a job that
   * somebody's transaction holds is `stale`, not `locked`, also when it is alone in its call: that transaction may be completing it, a reaper
   * must not wait for it, and will find the lease again if it stays.
   * Rings `due`, with the time until then, for what waits for its time again, `work` for what was given back, and `lease` where it adds a loss.
   * An attempt that ends without ending the job goes into the history. Its run time is `runMs`, or else now − startedAt.
   *
   * A claim is a series of takes, one a queue, each atomic: pending jobs of its types, from its first queue in rank order (ties by sequence),
   * then from the next, until `limit`. Paused queues give nothing. Each job taken becomes running: fence + 1, attempt + 1, a lease of
   * `leaseMs` from now, startedAt now, workerId, progress cleared. No job is given to two claims. The answer is in the order of taking; fewer
   * than `limit` means that there were no more, but for jobs that settlements of this very call made pending, or that were committed late.
   */
  exchange(settlements: readonly Settlement[], claims: readonly Claim[]): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }>;

  /**
   * Sets each lease that still holds to end `leaseMs` from now. Whether it has run out is not looked at: a lease holds until it is
   * reclaimed. Changes neither updatedAt nor a counter.
   */
  extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]>;

  /** Writes progress and log lines under a lease. Lines beyond MAX_LOG_LINES of a job are dropped. */
  note(notes: readonly Note[]): Promise<LeaseAnswer[]>;

  // ── Jobs are managed ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Applies a move that someone asked for to each job whose status is one of `move.from`; else answers the status that forbade it, which
   * is never one of `move.from`. A running job that is moved rings `lease`, one that becomes pending rings `work`.
   * With `retries: "reset"` snoozes start again too; losses only with `losses: "reset"`.
   * A job that leaves a terminal status: its last attempt n goes into the history, if n > 0 and the history has no n yet; completedAt is
   * cleared; and if its key has expired by time, it goes on without a key for good (another job may have it by now).
   */
  change(ids: readonly string[], move: Move): Promise<ChangeAnswer[]>;

  /**
   * Deletes jobs whose status is one of `from`, all of them terminal, with their history, logs and (if it is still theirs) key; else answers
   * the status that forbade it.
   */
  remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]>;

  /** The jobs, or null for each that is not there. Sees every commit that was answered before the call. */
  find(ids: readonly string[]): Promise<(JobRecord | null)[]>;

  /**
   * Jobs that match, newest created first (ties: latest inserted first), from after `cursor`. Looks at MAX_CANDIDATES jobs at most, so it may
   * give fewer than `limit` and still a cursor; a null cursor is the end. Jobs of our own queues (core/internal.ts) are left out unless the
   * filter says `internal`: they are passed over, about MAX_PASSED at most, and do not count among those that were looked at. A job that neither came nor left nor changed while
   * one paged is seen exactly once. A cursor that is not one: throws `invalid_cursor`.
   * With a text to search for it may stop sooner, when it has read through more payloads than one call should.
   */
  list(query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }>;

  /**
   * Dead or failed jobs by the group of their error (see core/error-group.ts), the most numerous first, `limit` groups at most. Looks at
   * MAX_CANDIDATES jobs at most: where there are more, at the latest. `isCapped`: there were more jobs than that, or more groups.
   */
  errorGroups(query: GroupQuery): Promise<{ groups: ErrorGroup[]; isCapped: boolean }>;

  /**
   * How many jobs a list would find in one call without a limit: among MAX_CANDIDATES of them at most. `isCapped` tells that there are more
   * which were not looked at.
   */
  count(filter: Filter): Promise<{ count: number; isCapped: boolean }>;

  /**
   * Every attempt of a job in order: the history, and attempt n from the job itself if n > 0 and the history has no n. Empty when there is
   * no such job.
   */
  attempts(id: string): Promise<Attempt[]>;

  /** Log lines whose number is above `after`, in order. */
  logs(id: string, after: number, limit: number): Promise<LogLine[]>;

  // ── Upkeep: any number of processes may call these at once ─────────────────────────────────────────────────────────────────────

  /**
   * Makes up to `limit` scheduled and retrying jobs pending whose time has come, the longest due first; their rank counts from their due
   * time. Rings `work`. Answers how many, and the time until the next one is due (0 when more are due already, null when none waits).
   * With `tell` it also answers which they were, in any order: asked for only while somebody listens to news.
   */
  promote(limit: number, tell?: boolean): Promise<Promoted>;

  /**
   * Up to `limit` running jobs whose lease has run out, the longest first, and the time until the next lease will (0 when there may be more
   * already, null when there is none). Where looking has become costly, `restMs` asks for a rest before the next look.
   * It changes nothing: the core decides, and `exchange` with `ifExpired` applies it.
   */
  expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null; restMs?: number }>;

  /**
   * Removes up to `limit` completed and cancelled jobs in all, in each rule's queue the earliest ended first: those that ended more than
   * `ageMs` ago, and those beyond the newest `count`; none within `keepAtLeastMs` of its end. Their living keys stay, with their expiry.
   */
  prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }>;

  /**
   * Drops up to `limit` of each: keys that have expired, workers whose entry has, minutes and hours of counters that are past their keep,
   * news that everyone had time to read, allowances of which nothing is in use, marks that are over.
   */
  sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }>;

  /**
   * Gives up to `limit` pending jobs the rank that the queue's present head start demands, going on where the last call stopped. True while
   * there is more to do; false at once when the head start did not change, or where the engine applies it when it claims. Jobs that enter
   * pending meanwhile have the new rank already.
   */
  rerank(queue: string, limit: number): Promise<boolean>;

  // ── Queues ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Every queue that ever had a job or a setting: settings, pause, and counts by status and level, read from tallies. */
  queues(): Promise<QueueState[]>;

  /** Changes the named settings of a queue, and makes it known. Rings `queues`. A new head start takes effect with `rerank`. */
  configure(queue: string, change: QueueChange): Promise<void>;

  /**
   * Of each queue and type with pending jobs, when the one that is due longest was due. Looks at the heads of lanes, by index, however many
   * jobs stand behind them. With a head start that is not the default, SQLite and Redis know the first of each lane by its rank alone: then the
   * longest due may be another, due earlier by at most the head start between the highest and the lowest priority.
   */
  oldest(): Promise<{ now: number; lanes: OldestPending[] }>;

  /**
   * How many pending jobs of its queue and of these types would be claimed before a pending job, counted up to `most`. Null when there is no
   * such job, or when it is not pending.
   */
  ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null>;

  /** Counters and histograms: all time, by hour, or by minute, for the periods that begin in [from, to). Never scans jobs. */
  counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }>;

  // ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The schedules of these names, or all, and the store's now. */
  schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }>;

  /**
   * Writes a schedule if its stored version is `expected` (null: if there is none). False: somebody was faster, look again.
   * `lastTick` and `lastJobId` stay. A version is never used twice for a name, also after a removal. Rings `schedules`.
   */
  putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean>;

  /** False when there was none. Jobs that it made stay. Rings `schedules`. */
  removeSchedule(name: string): Promise<boolean>;

  /** Up to `limit` schedules that are not paused and whose next tick has come, and the time until the next one (0 and null as above). */
  dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }>;

  /**
   * Takes a tick: if the schedule's version is still the given one and its last tick is earlier, inserts the job (if any) and moves the
   * schedule on, in one commit. So any number of processes may tick. `stale`: somebody did; `full`: the queue was, the tick is skipped but
   * taken. A tick whose very job (by id) is stored was taken by this caller: `ticked`.
   */
  tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]>;

  // ── Others ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The verbs that can run inside a transaction of the caller's own, or null where the engine has none. Throws `invalid_transaction`. */
  within(tx: unknown): TransactionVerbs | null;

  /**
   * Stops feeds and frees what was opened. Calls under way finish; later ones fail with `closed`. May be called twice.
   * When `giveUp` aborts, calls that the store has not answered fail soon with `store_unavailable`, and nothing waits for it any more.
   */
  close(giveUp?: AbortSignal): Promise<void>;
}

/**
 * What processes on one store share beside jobs. Each entry has a name and is over at its time by itself; `sweep` drops what is over.
 */
interface Shared {
  /** Writes a worker's entry; it vanishes `ttlMs` after the last time. */
  register(worker: WorkerEntry, ttlMs: number): Promise<void>;
  unregister(workerId: string): Promise<void>;
  workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]>;

  /**
   * Takes from allowances that every process on this store shares, each known by its name: of what is left a tenth, but one unit at least (see
   * core/allowance.ts), to be handed out without asking again. When nothing is left, nothing is taken, and the answer says how long to wait.
   * What was taken comes back with time, and is forgotten then. A crash of the store may forget it, too; a repeat takes again.
   */
  spend(spends: readonly Spend[]): Promise<Spent[]>;

  /** Sets a mark that every process on this store sees until `ttlMs` from now. Set again, it counts from then. */
  mark(name: string, ttlMs: number): Promise<void>;

  /** Whether each of these names is marked now. Sees every mark whose call was answered before. */
  marked(names: readonly string[]): Promise<boolean[]>;
}

/**
 * How processes hear of changes. A hint may be lost, late or doubled: it says where to look, and looking is the truth. The process that
 * made a change hears of it at once; others soon.
 */
export interface Feed {
  /**
   * Calls back with each hint until the returned function is called. Each call joins anew, also with the same function. A listener must not
   * throw; if it does, the others are told all the same. After close nobody joins.
   */
  watch(listener: (hint: Hint) => void): () => void;

  /** Announces events to all that listen to news, in any process. Does nothing worth measuring when nobody does. */
  publish(events: readonly Event[]): Promise<void>;

  /** Whether somebody, in any process, listened to news lately, or may have as far as is known here. Cheap: asked before events are made. */
  newsWanted(): boolean;

  /** The same with the events that any process publishes from about now on, in batches, `gap` among them where some were missed. */
  listen(listener: (events: readonly Event[]) => void): () => void;
}

export type Hint =
  | { readonly topic: "work"; readonly queue: string }
  /**
   * A job became due `inMs` from now, by the store's time when it was written; perhaps earlier than what one knew. A duration, so that no two
   * clocks have to agree. Of several at once the earliest is told. Others need not be told of one that is later than what they were told.
   */
  | { readonly topic: "due"; readonly inMs: number }
  /** A lease was ended by somebody else than its holder. */
  | { readonly topic: "lease" }
  /** Settings or pause of a queue changed. */
  | { readonly topic: "queues" }
  | { readonly topic: "schedules" };

export type InsertAnswer =
  | { readonly kind: "created"; readonly status: Status; readonly createdAt: number; readonly runAt: number }
  | { readonly kind: "known"; readonly job: JobRecord }
  /** The job is gone, its key still lives: its id and last status are all that is left. */
  | { readonly kind: "pruned"; readonly id: string; readonly status: Status }
  | { readonly kind: "conflict"; readonly id: string }
  | { readonly kind: "full"; readonly capacity: number }
  | { readonly kind: "locked" };

export interface Lease {
  readonly id: string;
  readonly fence: number;
}

export interface Settlement extends Lease {
  /** By this a repeat is known, and by nothing else: what happens is in the transition. */
  readonly outcome: Outcome["kind"];
  readonly transition: Transition;
  /** Apply only if the lease has run out: its holder may have renewed it since one looked. */
  readonly ifExpired: boolean;
  /**
   * A job that is inserted in the same commit if the answer is `ok`. If its id is known nothing happens, so that a repeat brings no second
   * one. Its queue is a delivery queue (see core/delivery.ts): it has no capacity, and the partition of the settled job's queue.
   */
  readonly followUp?: NewJob | null | undefined;
}

export interface Claim {
  readonly workerId: string;
  /** In the order in which they are asked. */
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  readonly leaseMs: number;
  /** Counts the claims of a worker from 1, so that a repeat can be recognised; 0 where none will be. */
  readonly turn: number;
  /**
   * The answer to the claim of this turn was lost. Where a server may have granted it all the same, what it granted and is still running is
   * given again, with its lease renewed, instead of other jobs: else it would wait for its lease to run out and count as a lost attempt.
   * An earlier try of the turn that the network delivers after its repeat takes no jobs, because nobody waits for its answer: that a repeat was
   * here is remembered for REPEAT_REMEMBERED_MS. With turn 0 nothing is given again.
   */
  readonly again: boolean;
  /**
   * The worker dies with this machine. SQLite then spares the claim an fsync: a power cut that undoes it leaves no holder either. The same
   * fence may then be granted again, so it is no token for other systems. Never true for a worker on another machine.
   */
  readonly local: boolean;
}

/** What became pending. */
export interface Promoted {
  readonly moved: number;
  readonly nextInMs: number | null;
  /** Only where it was asked for. */
  readonly jobs?: readonly PromotedJob[];
}

/** A job that became pending, as news tell of it. */
export interface PromotedJob {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
}

/** A job with the lease under which it runs, and what its queue says about its end. */
export interface LeasedRecord extends JobRecord {
  readonly leaseUntil: number;
  readonly deadLetters: boolean;
}

/** A running job whose lease has run out, and what its queue says about its end. */
export type ExpiredRecord = JobSummaryRecord & { readonly deadLetters: boolean };

export interface Note extends Lease {
  readonly progress: Progress | null;
  readonly lines: readonly string[];
}

export type ChangeAnswer =
  /** `was` is the status before, `job` the job after (before, when it was removed). */
  | { readonly kind: "ok"; readonly was: Status; readonly job: JobSummaryRecord }
  | { readonly kind: "refused"; readonly status: Status }
  | { readonly kind: "missing" }
  | { readonly kind: "locked" };

export interface ListQuery extends Filter {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface GroupQuery extends Omit<Filter, "status" | "group" | "q"> {
  readonly status: readonly ("dead" | "failed")[];
  readonly limit: number;
}

export interface PruneRule extends Retention {
  readonly queue: string;
}

export interface QueueState {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly paused: boolean;
  readonly counts: readonly { readonly status: Status; readonly level: PriorityLevel; readonly count: number }[];
}

/** A queue, a type, and when the longest due pending job of both was due. */
export interface OldestPending {
  readonly queue: string;
  readonly type: string;
  readonly runAt: number;
}

export interface CounterQuery {
  readonly step: "all" | "hour" | "minute";
  readonly queue?: string | undefined;
  /** Start of the first period, and end of the last; ignored for "all". */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** One queue in one period. Histograms are kept by minute only. */
export interface CounterRow {
  readonly queue: string;
  /** Start of the period; 0 for "all". */
  readonly at: number;
  readonly counts: Readonly<Partial<Record<Counter, number>>>;
  readonly times: Readonly<Partial<Record<TimeKind, Histogram>>>;
}

export interface Tick {
  readonly name: string;
  readonly version: number;
  /** The nominal time, or null for a run by hand, which moves no tick. */
  readonly tick: number | null;
  readonly nextTick: number | null;
  /** null: the tick is taken without a run. */
  readonly job: NewJob | null;
}

/**
 * Inside the caller's transaction nothing is retried: errors reach the caller, who rolls back. Where a row is held by another transaction, the
 * call waits for it as the caller's own statements do.
 */
export interface TransactionVerbs {
  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]>;
  settle(settlements: readonly Settlement[]): Promise<LeaseAnswer[]>;
}
