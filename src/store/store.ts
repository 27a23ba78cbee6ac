/**
 * THE STORE CONTRACT. What every engine promises, in words. test/conformance proves each sentence on each engine.
 *
 * A store remembers and decides nothing. Transitions come from the core as values; the store applies them atomically, and only while their
 * condition holds.
 *
 * Promises of every verb:
 *
 * - Many at once. A verb takes a list and answers item by item, in order. Each item is atomic; the list is not. A refused item is an
 *   answer, not an exception, and does not affect the other items. A rejected promise means that the whole call failed, or that it is
 *   unknown whether it was carried out (`store_unavailable`, `store_full`): you may then repeat any verb with the same arguments (a claim
 *   with `again`). Only log lines and entries of the audit may be doubled by that.
 * - Nobody waits for a stranger. An item that would have to wait for another open transaction (PostgreSQL: a row that an application holds,
 *   a key that it has not committed) is answered `locked` after a short while. It changed nothing, and you may ask again. The other items
 *   of the call, claims included, are done as usual. An item that is alone in its call waits until the deadline.
 * - Committed. When a verb resolves, its answer is committed and as durable as the engine's row in the durability table says.
 * - The store's time. `now` comes from the store's own clock (the server's; on Cluster, that of the partition's node), never the caller's.
 *   Delays and leases are passed as durations. If that clock steps, leases and due times shift with it, but no promise about fences, keys
 *   or ticks depends on it. All times are whole milliseconds since the epoch.
 * - Counted. Tallies by (queue, status, level), counters and histograms change in the same commit as the transition that they count. At
 *   rest they equal a count of the rows. Counters and histograms are kept by type for the first MAX_TYPES_COUNTED types of a queue. What
 *   other types counted, and what a version that did not know of types counted, is kept for the queue as a whole.
 * - Obedient. What changes and what is counted follows from the transition alone, whatever verb or outcome brings it: the counter of the
 *   new status, `lost` if it adds a loss, and the times `run` and `wait` (startedAt − runAt) if an attempt ends with a reported `runMs`.
 * - Bounded. No call takes more than MAX_BATCH items, and finished jobs that pile up make no call slower.
 *
 * Why it fits four engines. Every item names its queue or an id, and an id carries the partition of its queue (core/partition.ts). So Redis
 * Cluster can send it to the one slot that holds the job, its key, its lane, its logs and its history. No transition touches two queues.
 * What spans queues (a claim over several, list, queues, workers, due and expired jobs) is a series of separate steps, with no common
 * instant.
 */
import type { Spend, Spent } from "../core/allowance.ts";
import type { AuditEntry, NewAuditEntry } from "../core/audit.ts";
import type { Counter, TimeKind } from "../core/counters.ts";
import type { FoundGroup } from "../core/error-tally.ts";
import type { Event } from "../core/event.ts";
import type { Filter } from "../core/filter.ts";
import type { MemberText } from "../core/flow.ts";
import type { Sort } from "../core/list-order.ts";
import type { Attempt, JobRecord, JobSummaryRecord, LogLine, NewJob, PriorityLevel, Progress, Status } from "../core/job.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { Move, Outcome, Transition } from "../core/lifecycle.ts";
import type { Actor, Manual, ManualChange } from "../core/manual-change.ts";
import type { Mute } from "../core/mute.ts";
import type { SchemaText } from "../core/payload-schema.ts";
import type { QueueChange, QueueSettings, Retention } from "../core/queue.ts";
import type { RateState } from "../core/rate.ts";
import type { Histogram } from "../core/histogram.ts";
import type { FormerWorker, WorkerEntry } from "../core/worker-entry.ts";
import type { ScheduleRecord, ScheduleSpec } from "../core/schedule-record.ts";
import type { NewStep, Notice, StepEnd, StepRecord } from "../core/steps.ts";

export type { LeaseAnswer } from "../core/lease.ts";

export { MAX_BATCH } from "../core/work-limits.ts";

export { MAX_CANDIDATES } from "../core/filter.ts";

/** Jobs of queues that a filter leaves out, and of other statuses, do not count as looked at, but one call skips only about this many of them. */
export const MAX_PASSED = 40_000;

/**
 * How long a store remembers that a claim was repeated. A first try may arrive long after its sender gave up, but no network keeps it for
 * longer than this.
 */
export const REPEAT_REMEMBERED_MS = 300_000;

export interface Store extends Feed, Shared {
  /** How many batches of a verb can usefully be under way: 1 if calls are synchronous, 2 if a server works meanwhile. */
  readonly inFlight: number;

  /** Whether the same data can be opened a second time, from another thread or process. */
  readonly shareable: boolean;

  // ── Jobs come in ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Inserts jobs. Due now → `pending`, later → `scheduled`; a runAt in the past counts as now. A job that says `blocked` enters `blocked`,
   * with now as its due time: capacity, claims and upkeep ignore it until a change moves it. The store's sequence follows the order of the
   * list. Checks the id first, then the key, then the capacity. Sends the hint `work` or `due`.
   * - A known id is the same job sent again (its first answer was lost): answered `created`, nothing changes.
   * - A living key with the same fingerprint: `known` with the stored job, or `pruned` if only the key is left. Another fingerprint:
   *   `conflict`. A key lives while its job is waiting, blocked, running, dead or failed, and for `keyTtlMs` after a completed or cancelled
   *   one ended. No two jobs with one living key can exist. Equal keys in one list: the first wins.
   * - A queue whose pending + scheduled + retrying jobs have reached its capacity: `full`. The same for the jobs of a limit key that has
   *   reached its `waiting`: `full` with that key. A refused job leaves nothing behind, not even a key. Inside a caller's transaction both
   *   are checked against what is committed. A job with a `parent` always fits.
   * - A job with a `flow` is stored with its members and notices, in one commit (see "Jobs run after each other").
   * - The facets of a job are stored with it, and it enters the index of each (queue, field, value) in the same commit. It leaves them when
   *   it is removed or pruned.
   */
  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]>;

  /**
   * Puts jobs in place of those with the same ids that wait and were never claimed (status scheduled, pending or blocked, fence 0): payload, facets,
   * priority, tags, meta, webhook, limit key and all else are those of the new job, and so is its due time; `blocked` stays blocked. Nothing in
   * between is seen: a claim gets either the old job or the new one. It always fits. Its queue and type must be those of the old job, and it is
   * no flow and has no key. It may be told as created anew (sequence and time of creation), and counts as enqueued once more.
   * `refused`: it was claimed before, or does not wait. Nothing changes. A repeat puts the same job there again.
   */
  replace(jobs: readonly NewJob[]): Promise<ReplaceAnswer[]>;

  // ── Jobs are worked ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Settles ended leases and grants new ones in one round trip: first the settlements, then the claims. One commit if the engine has one;
   * on Cluster one for each partition.
   *
   * A settlement is applied if the job is running with the given fence (and, with `ifExpired`, its lease has run out by the store's clock):
   * `ok`. Each job remembers the fence and outcome of its last applied settlement, also through later claims. A repeat of that settlement
   * is `ok` too (with `ifExpired`: `stale`, so that of two reclaiming processes one knows it was not the one). Anything else changes
   * nothing: `cancelled` while the job is cancelled and the cancel ended this very lease, else `stale`. With `ifExpired`, a job that
   * another transaction holds is `stale`, not `locked`, even alone in its call: that transaction may be completing the job, so a reclaim
   * must not wait for it, and finds the lease again if it stays.
   * Sends the hint `due`, with the time until then, for a job that waits for its time again, `work` for one that was given back, and
   * `lease` if it adds a loss. An attempt that ends without ending the job goes into the history. Its run time is `runMs`, or else now −
   * startedAt. With `heldMs`, startedAt first moves on by that time, to now at the latest: the handler started so long after the claim.
   *
   * A claim takes from one queue after the other, and each take is atomic: pending jobs of its types, from its first queue in rank order
   * (ties by sequence), then from the next, until `limit`. Paused queues give nothing. Each job taken becomes running: fence + 1, attempt +
   * 1, a lease of `leaseMs` from now, startedAt now, workerId, progress cleared. No job is given to two claims. The answer is in the order
   * of taking. Fewer than `limit` means there were no more that may start now, except jobs that settlements of this very call made pending,
   * or that were committed late. `againInMs`, for each claim: when the next job may start that waits for a rate or a held key, of any of its
   * queues; null if none waits for time. A job that waits for a running limit may start when a lease of that limit ends: `work` is sent then.
   *
   * LIMITS (core/limits.ts). A claim takes a job only if each limit that applies to it has room, and takes that room in the same commit: those of
   * its queue, and those of its limit key, which are the queue's `perKey` or its own. No limit is ever exceeded, whatever crashes. A job that
   * waits for one limit takes nothing of another.
   * - `running` is how many leases there are. Whatever ends a lease gives its place back in the same commit. (On PostgreSQL it may count as
   *   taken for up to a second longer.) It includes leases that were granted before there was a limit, and can exceed one that was lowered.
   * - `rate` is taken by the cost of each job taken (core/rate.ts). A settlement with `unstarted` gives it back; `spend` takes more, of the
   *   queue's rate and the key's. A claim that returns the jobs of its first try takes nothing. The first claim of a queue
   *   after its rate changed counts the units that are not back yet by the new one, from then on; for a key, the first that looks at it.
   * - `holdMs` of a settlement: the job's limit key starts nothing until then, by the store's time. A hold is never shortened.
   *
   * TURNS. In a queue whose head start is strict, jobs with a limit key are taken in fair turns. The pending jobs of one type, priority and
   * limit key are a line, by due time and then sequence; those without a key are a line, too. A higher priority goes first. Within a
   * priority, the types of the claim take turns, and within a type the lines, by the weight of their keys: for two lines that both have jobs and are
   * below their limits, |starts₁ / weight₁ − starts₂ / weight₂| ≤ 1 / weight₁ + 1 / weight₂ over any time. (So: each line has a tag, at first 0,
   * and the ring of its type and priority has a time. The line with the lowest tag goes first, in any order if equal. Its start is max(tag, time);
   * that is the ring's new time, and the line's new tag is start + 1 / weight. Lines that are at a limit or held stand aside.) A line that is
   * empty may be forgotten once its tag is not above the ring's time. While no line with a key has pending jobs of the claim's types, and in a
   * queue whose head start is not strict, jobs are taken in rank order.
   * What a claim costs does not depend on how many keys there are, nor on how many jobs of lines that stand aside. (With a head start
   * that is not strict it may depend on the number of lines.)
   */
  exchange(settlements: readonly Settlement[], claims: readonly Claim[]): Promise<ExchangeAnswer>;

  /**
   * Sets each lease that still holds to end `leaseMs` from now. It does not matter whether it has run out: a lease holds until it is
   * reclaimed. Changes neither updatedAt nor a counter.
   */
  extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]>;

  /** Writes progress and log lines under a lease. Lines beyond MAX_LOG_LINES of a job are dropped. */
  note(notes: readonly Note[]): Promise<LeaseAnswer[]>;

  // ── Jobs do durable work (core/steps.ts) ───────────────────────────────────────────────────────────────────────────────────────
  //
  // A job has steps by name. They stay through all its lives until a move forgets them, and go with the job. `hasSteps` of a job is true once
  // it had one. A job without steps costs no verb anything.
  //
  // SUSPEND. A settlement with `waits` is applied like any other. In the same commit each wait is stored as an open step, unless the job has
  // a step of that name: one that is open keeps its time, one that has ended stays as it is. If one of the waits has ended, the job becomes
  // pending at once, due now. Otherwise it takes the status of the transition, due at the earliest `until` of its waits (the hint `due` is
  // sent); without any, a blocked job is never due. The claim that follows a suspension takes no units of a rate, so `unstarted` gives none back.
  // Its `calls` are inserted in the same commit, in any queue. If one cannot be (Redis: another partition), a notice `insert` is stored instead.
  // A known one that has ended (an earlier life called it) leaves such a notice too: whoever delivers it tells its end again.
  //
  // WHAT JOBS TELL THEIR PARENT. A settlement may have a `notice`, and a move an `ending`: a job that it moves and that has a parent leaves a notice
  // `end` for that parent, with `by` of its id and fence after the move (`callEnder` in core/steps.ts). A job with steps that a move cancels leaves a notice
  // `cancel`. All of them are in the same commit. They lock no row of another job, so two children that end together do not wait for each
  // other, nor for a caller's transaction that completes one of them. The hint `notices` is sent to this process once they are committed.

  /**
   * Stores steps under a lease, each in place of what has its name. Sets retryCount and lostCount to 0. `full`: with new ones the job would
   * have more than MAX_STEPS steps, or it would have MAX_STEPS_BYTES of values; nothing is stored. A repeat stores the same again. A step keeps its startedAt and attempt.
   * Whoever suspends a job keeps its waits within MAX_STEPS: the store does not count them.
   * On Cluster, a job of several whose partition cannot be reached is `locked`: the others do not wait for it.
   */
  keepSteps(keeps: readonly (Lease & { readonly steps: readonly NewStep[] })[]): Promise<(LeaseAnswer | "full")[]>;

  /**
   * The steps of a job in the order of their names (by UTF-8), from after the name `after` on: about MAX_STEPS_READ_BYTES of values, and at
   * least one; `cursor` is null at the end. `life` is 1, and one more for each time that its steps were forgotten (if it had one before). Null if
   * there is no such job.
   * With a fence: only if the lease holds, otherwise null; and before it reads, in one commit, it ends each open step whose `until` has come:
   * a sleep is done, a wait has timed out. So a signal that comes later is late, also for a later attempt.
   */
  readSteps(id: string, fence: number | null, after: string | null): Promise<StepsPage | null>;

  /**
   * Ends steps from outside of their attempts, if the status of the job is one of `from`: otherwise `refused`.
   * - A step that is open, failed or not stored ends now: `ok`. If it was open and the job is blocked, the job becomes pending, due now, and
   *   `woke` is true. (A job that runs or waits for a retry sees it when it next reads or is suspended.)
   * - With a `life` that is not that of the job, nothing changes: `late`, with the state of the step (`open` if there is none). The same if the
   *   step is of another kind: a signal ends nothing but a wait, and the end of a called job nothing but a call.
   * - A step that was done or timed out stays as it is. If the same `by` ended it before: `ok`, otherwise `late` with its state. The same if it
   *   failed by the same `by`.
   * - `full`: as one more step it would exceed MAX_STEPS, or its value MAX_STEPS_BYTES. An end that failed always fits.
   * - With a `life`, a job that another transaction holds is `locked`, also alone in its call: its notice comes again, and others must not wait.
   *   On Cluster, so is one of several whose partition cannot be reached.
   */
  endSteps(ends: readonly StepEnd[]): Promise<StepEndAnswer[]>;

  /**
   * Up to `limit` notices that are not dropped yet, in about the order in which they were stored; of several partitions, in turns. Those with the
   * keys of `except` are left out. Of each partition about MAX_STEPS_READ_BYTES of text, and at least one.
   * On Cluster, see "Upkeep" for partitions that cannot be reached.
   */
  notices(limit: number, except?: readonly string[]): Promise<StoredNotice[]>;

  /** Drops notices that were delivered. No error if one is gone. */
  dropNotices(keys: readonly string[]): Promise<void>;

  // ── Jobs run after each other (core/flow.ts) ───────────────────────────────────────────────────────────────────────────────────
  //
  // A job with a `flow` is a flow: it is in one of FLOW_QUEUES. Beside it are kept, from the commit that inserts it until it is removed or pruned: a head, and members by name
  // with a plan and a state. All of them are texts that the store does not read. `version` is 1, and one more for each change. The notices of
  // a flow and of its changes are stored in the same commit, in the partition of the flow. Jobs that are no flows cost no verb anything.

  /**
   * The head of each flow, and those of the named members that it has, in any order; or if none are named, members in the order of the engine,
   * which does not change, from after `after` on: `limit` of them at most, and about MAX_STEPS_READ_BYTES of text, but at least one. `cursor` is
   * null at the end, and for named ones. Null if there is no such flow. Many names may take several reads: then the version is the lowest of them.
   */
  readFlows(reads: readonly FlowRead[]): Promise<(FlowPage | null)[]>;

  /**
   * Changes flows whose version is still `version`: the head, the states of members that are there, and members that are added, under new names. `stale`
   * if somebody was faster (or if this is the repeat of a change that was applied), `missing` if there is no such flow: nothing changes.
   */
  changeFlows(changes: readonly FlowChange[]): Promise<FlowChangeAnswer[]>;

  // ── Jobs are managed ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Applies the move to each job whose status is one of `move.from`; otherwise answers the status that prevented it, which is never one of
   * `move.from`. Sends the hint `lease` if the job was running, `work` if it becomes pending.
   * With `move.leavesHeld`, a job that another transaction holds is `locked`, also alone in its call.
   * `retries: "reset"` also resets snoozes; losses are only reset with `losses: "reset"`.
   * When a job leaves a terminal status, its last attempt n goes into the history, if n > 0 and the history has no n yet; completedAt is
   * cleared; and if its key has expired, the job loses it for good (another job may have it by now).
   * With `move.edit`, each job that was moved has that payload and these facets from the same commit on, and is in the indexes of these
   * facets alone: no claim sees the new life with the old payload.
   * With `move.steps`, the steps of each job that was moved are forgotten (then its life goes up by one, if it had any), or those of them that failed.
   * A key stays with its job and keeps the fingerprint of the first payload, because it identifies the request that made the job: that
   * request sent again is answered `known` with the job as it is now, and the same key with the new payload is a `conflict`.
   * With `manual`, each job that was moved keeps a record of it in the same commit: now, its status and attempt before, and what `manual`
   * says. It keeps the latest MAX_MANUAL_CHANGES of them.
   */
  change(ids: readonly string[], move: Move, manual?: Manual): Promise<ChangeAnswer[]>;

  /**
   * Deletes jobs whose status is one of `from`, all of them terminal, with their history, logs, steps, changes by hand and (if they still own
   * it) key. Otherwise answers the status that prevented it.
   */
  remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]>;

  /** The jobs, or null for each that does not exist. Sees every commit that was answered before the call. */
  find(ids: readonly string[]): Promise<(JobRecord | null)[]>;

  /**
   * Jobs that match, from after `cursor`, newest created first (ties: latest inserted first). With `sort: "state"` they come in the order of
   * the index that the wanted statuses share, which is walked, so a page is full at once, unless that index has many jobs of another status:
   * - only ended statuses, also if `endedFrom` or `endedTo` leaves only these: latest end first (ties: latest inserted first). `endedFrom`
   *   and `endedTo` are a range of that index. Redis keeps completed and cancelled jobs in one index, and failed and dead ones in another;
   * - only pending: next in line first, by rank and then sequence over all queues. Queue and type choose what is walked;
   * - only scheduled and retrying: soonest due first (ties: first inserted first). Both statuses share one index for all queues and types;
   * - any other statuses, or none: newest created first.
   * Looks at MAX_CANDIDATES jobs at most, so it may return fewer than `limit` and still a cursor; a null cursor is the end. Jobs of other
   * statuses, and those of queues that the filter leaves out (`exceptQueues`, and internal ones unless it says `internal`), do not count as
   * looked at: about MAX_PASSED of them are skipped at most. If the tallies say that no job has a wanted status, the first page is the end. With facets, newest created first, it
   * walks the index of one of the facets, unless few jobs have the wanted statuses: only jobs of that index are looked at, whatever their
   * status. Each queue has its own; without a queue they are merged, and the more queues have the facet, the fewer jobs one call looks at.
   * A job that did not come, leave or change while you page is seen exactly once. A cursor belongs to its order: any other one throws
   * `invalid_cursor`. A text search may stop sooner, when it has read more payloads than one call should.
   */
  list(query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }>;

  /**
   * Dead or failed jobs by the group of their error (core/error-group.ts), largest group first, `limit` groups at most. Looks at the latest
   * MAX_CANDIDATES jobs at most, of those that ended from `endedFrom` to `endedTo`. `isCapped`: there were more jobs than that, and
   * each count means at least that many. `hasMore`: the jobs that were looked at have more groups than `limit`; the counts are as exact as
   * without. What a group says (its trend by hour, when it was first seen and with which version) is of the jobs that were looked at. Of jobs
   * that died in the same millisecond, the lowest id is the first, and the highest the last.
   */
  errorGroups(query: GroupQuery): Promise<FoundGroups>;

  /** How many of the jobs that `errorGroups` looks at are in each group. Returns every group, and reads no errors to name them. */
  errorCounts(query: Omit<GroupQuery, "limit">): Promise<ReadonlyMap<string, number>>;

  /**
   * Dead or failed jobs by the value of one facet, most jobs first (ties by value), `limit` values at most; `without` have no such facet.
   * Looks at the jobs that `errorGroups` looks at. `isCapped`: there were more jobs than that, and each count means at least that many.
   * `hasMore`: these jobs have more values than `limit`.
   */
  facetValues(query: FacetQuery): Promise<FacetValues>;

  /**
   * How many jobs match, among at most MAX_CANDIDATES of the wanted statuses, read from the indexes of these statuses (of ended ones, in the
   * range of `endedFrom` and `endedTo`); with `from` or `to`, if there are more, among the newest created. `isCapped`: there are more that
   * it did not look at. With facets, if these statuses have more, or without statuses, among the newest of a facet's indexes.
   */
  count(filter: Filter): Promise<{ count: number; isCapped: boolean }>;

  /**
   * Every attempt of a job in order: the history, and attempt n from the job itself if n > 0 and the history has no n. Empty if there is no
   * such job.
   */
  attempts(id: string): Promise<Attempt[]>;

  /** What was changed by hand, in order. Empty if nothing was, or if there is no such job. A job that was removed or pruned leaves nothing. */
  manualChanges(id: string): Promise<ManualChange[]>;

  /** Log lines whose number is above `after`, in order. */
  logs(id: string, after: number, limit: number): Promise<LogLine[]>;

  // ── Upkeep: any number of processes may call these at once ─────────────────────────────────────────────────────────────────────
  //
  // On Cluster, `promote`, `expired` and `notices` leave partitions out that cannot be reached, and do not wait for them: the jobs of the others
  // go on. When they find nothing in the others, they reject with what is wrong, once the calls to a missing partition have failed. So whoever
  // calls until nothing is left has done all that could be done, and hears of the rest.

  /**
   * Makes up to `limit` scheduled, retrying and suspended jobs pending whose time has come, the longest due first; their rank counts from their due
   * time. Sends the hint `work`. Answers how many, and the time until the next one is due (0 if more are due already, null if none waits).
   * With `tell` it also answers which ones, in any order: only asked for while somebody listens to news.
   */
  promote(limit: number, tell?: boolean): Promise<Promoted>;

  /**
   * Up to `limit` running jobs whose lease has run out, the longest first, and the time until the next lease runs out (0 if there may be
   * more already, null if there is none). If looking has become costly, `restMs` asks for a rest before the next call. Changes nothing: the
   * core decides, and `exchange` with `ifExpired` applies it.
   */
  expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null; restMs?: number }>;

  /**
   * Removes up to `limit` completed and cancelled jobs in total, in each rule's queue the earliest ended first: those that ended more than
   * `ageMs` ago, and those beyond the newest `count`; none within `keepAtLeastMs` of its end. Their living keys stay until they expire.
   */
  prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }>;

  /**
   * Moves about `limit` cells of histograms of minutes that began more than TIMES_BY_MINUTE_MS ago to their hours, in one commit: each is
   * counted either in its minute or in its hour. What a caller's transaction commits even later stays in its minute. Then drops up to
   * `limit` of each: expired keys, former workers after FORMER_WORKERS_MS or beyond the last MAX_FORMER_WORKERS, minutes and hours of
   * counters past their retention (no minute before its histogram was moved), news that everyone had time to read, allowances that are
   * unused, expired marks, schemas and mutes, schemas beyond the latest MAX_KEPT_SCHEMAS, mutes beyond the latest MAX_MUTES, and entries of
   * the audit that are older than AUDIT_KEPT_MS or beyond the newest MAX_AUDIT_ENTRIES, and what is remembered of limit keys without jobs,
   * limits of their own, a hold, or units of a rate that are not back yet.
   */
  sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }>;

  /**
   * Updates the rank of up to `limit` pending jobs to the queue's present head start, continuing where the last call stopped. True while
   * there is more to do. False at once if the head start did not change, or if the engine applies it when it claims. Jobs that become
   * pending meanwhile already have the new rank.
   */
  rerank(queue: string, limit: number): Promise<boolean>;

  // ── Queues ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Every queue that ever had a job or a setting: settings, pause, and counts by status and level, read from tallies. */
  queues(): Promise<QueueState[]>;

  /**
   * Changes the named settings of a queue. Sends the hint `queues`. A new head start takes effect with `rerank`, new limits with the next claim
   * of any process: a lowered one lets leases end until it fits, a raised one lets jobs start at once.
   */
  configure(queue: string, change: QueueChange): Promise<void>;

  /**
   * Sets the limits of one limit key of a queue, in stored form, or the weight of its jobs without a key (null); null removes them. Makes the
   * queue if it is new. They take effect like new limits of the queue. Sends the hint `queues`.
   */
  setKeyLimits(queue: string, key: string | null, limits: string | null): Promise<void>;

  /**
   * The keys of a queue that have limits of their own, in stored form: the jobs without a key first, then by key, in the order of its UTF-8.
   * `after`: only those behind this key; undefined: from the start.
   */
  keyLimits(queue: string, after: string | null | undefined, limit: number): Promise<KeyLimitsRecord[]>;

  /** How much a queue and these limit keys use of their limits now; null if there is no such queue. Counts jobs up to MAX_COUNTED_OF_KEY. */
  limitUse(queue: string, keys: readonly string[]): Promise<LimitUse | null>;

  /** The limit keys of a queue with the most running jobs (ties: by key), `limit` of them at most; then keys with waiting jobs, in any order. */
  busiestKeys(queue: string, limit: number): Promise<KeyUse[]>;

  /**
   * For each queue and type with pending jobs: when the longest due of them was due. Looks only at the heads of lanes, by index. With a head start that
   * is not the default, SQLite and Redis know the first job of a lane only by its rank: another may have been due earlier, by at most the
   * head start between the highest and the lowest priority.
   */
  oldest(): Promise<{ now: number; lanes: OldestPending[] }>;

  /**
   * How many pending jobs of its queue and of these types would be claimed before this pending job, counted up to `most`. Null if there is
   * no such job, or if it is not pending. If one of them has a limit key: how many have a lower rank, as if there were no turns and limits.
   */
  ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null>;

  /**
   * Counters and histograms: all time, by hour, or by minute, for the periods that begin in [from, to). Never scans jobs. Each row is one
   * queue in one period; with `byType`, one type of it, and one row without a type for what is not kept by type. These rows add up to the
   * row of the queue. One type can be asked for alone. `hour-times` are the histograms of hours: each run is in them once, whether `sweep`
   * has moved its minute or not. (On Redis, a read during a sweep may miss the minutes that are just being moved.) Beside the minutes that
   * are not moved yet, a month of a queue costs a row for each hour, however many types the queue has.
   */
  counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }>;

  // ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The schedules of these names, or all, and the store's now. */
  schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }>;

  /**
   * Writes a schedule if its stored version is `expected` (null: if there is none). False: somebody was faster, look again. Keeps
   * `lastTick` and `lastJobId`. A version is never used twice for a name, even after a removal. Sends the hint `schedules`.
   */
  putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean>;

  /** False if there was none. Keeps the jobs that it made. Sends the hint `schedules`. */
  removeSchedule(name: string): Promise<boolean>;

  /** Up to `limit` schedules that are not paused and whose next tick has come, and the time until the next one (0 and null as above). */
  dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }>;

  /**
   * Takes a tick: if the schedule still has the given version and its last tick is earlier, inserts the job (if any) and moves the schedule
   * on, in one commit. So any number of processes may tick. `stale`: somebody did; `full`: the queue was full, the tick is taken without a
   * job. If this very job (by id) is stored, this caller took the tick before: `ticked`.
   */
  tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]>;

  // ── Others ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * The verbs that can run inside the caller's own transaction, or null if the engine has none. Throws `invalid_transaction`. If the store works
   * on the very connection of that transaction (SQLite), calls that write wait until it ends, and calls that read see what it has written.
   */
  within(tx: unknown): TransactionVerbs | null;

  /**
   * Stops feeds and frees resources. Calls under way finish; later ones fail with `closed`. May be called twice. When `giveUp` aborts,
   * calls that the store has not answered fail soon with `store_unavailable`, and nothing waits any longer.
   */
  close(giveUp?: AbortSignal): Promise<void>;
}

/** What the processes on one store share besides jobs. Each entry has a name and expires by itself; `sweep` drops expired ones. */
interface Shared {
  /** Writes a worker's entry, which expires after `ttlMs` unless it is written again. */
  register(worker: WorkerEntry, ttlMs: number): Promise<void>;
  /** Ends a worker's entry: it has stopped. No error if there is none. */
  unregister(workerId: string): Promise<void>;
  /** Workers whose entry has neither expired nor ended. */
  workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]>;
  /**
   * Workers whose entry ended or expired within FORMER_WORKERS_MS, the latest end first: the last MAX_FORMER_WORKERS, which are all
   * that `sweep` keeps. One that registers again is no longer among them.
   */
  formerWorkers(): Promise<FormerWorker[]>;

  /**
   * Takes a share of each named allowance, which all processes on this store share: a tenth of what is left, at least one unit (see
   * core/allowance.ts), so that the caller can hand it out without asking again. If nothing is left it takes nothing, and answers how long
   * to wait. What was taken comes back with time. A crash of the store may forget it; a repeat takes again.
   */
  spend(spends: readonly Spend[]): Promise<Spent[]>;

  /** Sets a mark that every process on this store sees for `ttlMs`. Setting it again starts the time anew. */
  mark(name: string, ttlMs: number): Promise<void>;

  /** Whether each of these names is marked now. Sees every mark whose call was answered before. */
  marked(names: readonly string[]): Promise<boolean[]>;

  /**
   * Keeps JSON Schemas of payloads, each under its digest, until `ttlMs` from now. Keeping one again starts its time anew. The digest is made
   * from the text, so two processes that write one digest write the same text.
   */
  putSchemas(schemas: readonly SchemaText[], ttlMs: number): Promise<void>;

  /** The texts with these digests, or null for each that is not kept. Sees every one whose call was answered before, until `sweep` drops it. */
  readSchemas(digests: readonly string[]): Promise<(string | null)[]>;

  /** Mutes an error group for `ttlMs`, or until it is unmuted (null). Replaces an earlier mute of that group. */
  mute(group: string, actor: Actor, ttlMs: number | null): Promise<void>;
  /** Ends the mute of an error group. No error if there is none. */
  unmute(group: string): Promise<void>;
  /** The mutes that have neither expired nor ended, the latest first: at most MAX_MUTES, which are all that `sweep` keeps. */
  mutes(): Promise<Mute[]>;

  /** Adds entries to the audit, each with the time and the next number. A repeat may double them. */
  writeAudit(entries: readonly NewAuditEntry[]): Promise<void>;

  /** The newest entries with a number below `before` (null: any), newest first. */
  readAudit(before: number | null, limit: number): Promise<AuditEntry[]>;
}

/**
 * How processes hear of changes. A hint may be lost, late or doubled: it only says where to look. The process that made a change gets the
 * hint at once, others soon. An insert may send `work` to its own process before it is committed: a claim that is made then is done after
 * the insert, while reads may not see the job yet.
 */
export interface Feed {
  /**
   * Calls the listener with each hint until the returned function is called. Each call joins anew, even with the same function. A listener
   * must not throw; if it does, the others still get the hint. After close nobody can join.
   */
  watch(listener: (hint: Hint) => void): () => void;

  /** Sends events to all listeners of news, in any process. Costs next to nothing if there are none. */
  publish(events: readonly Event[]): Promise<void>;

  /** Whether any process listened to news lately, or may have, as far as this process knows. Cheap: asked before events are made. */
  newsWanted(): boolean;

  /** Like `watch`, for the events that any process publishes from about now on, in batches; a `gap` event where some were missed. */
  listen(listener: (events: readonly Event[]) => void): () => void;
}

export type Hint =
  | { readonly topic: "work"; readonly queue: string }
  /**
   * A job waits that is due `inMs` from now, by the store's time when it was written. A duration, so that no two clocks have to agree. Of
   * several only the earliest is sent, and a later one than was sent before need not be sent to others.
   */
  | { readonly topic: "due"; readonly inMs: number }
  /** Somebody other than its holder ended a lease. */
  | { readonly topic: "lease" }
  /** Settings or pause of a queue changed. */
  | { readonly topic: "queues" }
  | { readonly topic: "schedules" }
  /** There are notices to deliver. Only the process that made them hears of it; others look once a second. */
  | { readonly topic: "notices" };

export type InsertAnswer =
  | { readonly kind: "created"; readonly status: Status; readonly createdAt: number; readonly runAt: number }
  | { readonly kind: "known"; readonly job: JobRecord }
  /** The job is gone but its key lives: only its id and last status are left. */
  | { readonly kind: "pruned"; readonly id: string; readonly status: Status }
  | { readonly kind: "conflict"; readonly id: string }
  /** With `limitKey`: that key has as many waiting jobs as it may have. */
  | { readonly kind: "full"; readonly capacity: number; readonly limitKey?: string | undefined }
  | { readonly kind: "locked" };

/** In these statuses a job that was never claimed can be replaced. */
export const REPLACEABLE: readonly Status[] = ["scheduled", "pending", "blocked"];

export type ReplaceAnswer = "ok" | "refused" | "missing" | "locked";

export interface Lease {
  readonly id: string;
  readonly fence: number;
}

export interface Settlement extends Lease {
  /** Only identifies a repeat. The transition says what happens. */
  readonly outcome: Outcome["kind"];
  readonly transition: Transition;
  /** Apply only if the lease has run out: its holder may have renewed it meanwhile. */
  readonly ifExpired: boolean;
  /** How long the worker held the job before its handler started. Default 0. */
  readonly heldMs?: number | undefined;
  /** The handler was never called, so the rates get back what the claim took. */
  readonly unstarted?: true | undefined;
  /** For how long the job's limit key starts nothing. A job without a limit key ignores it. */
  readonly holdMs?: number | undefined;
  /** How many units of the rates the attempt used, beyond its cost. */
  readonly spend?: number | undefined;
  /**
   * A job to insert in the same commit if the answer is `ok`. A known id is ignored, so a repeat inserts no second one. Its queue is a
   * delivery queue (see core/delivery.ts): without capacity, and in the partition of the settled job's queue.
   */
  readonly followUp?: NewJob | null | undefined;
  /** The steps at which the attempt was suspended, and the jobs that it calls: see SUSPEND. Only with waits there are calls. */
  readonly waits?: readonly NewStep[] | undefined;
  readonly calls?: readonly NewJob[] | undefined;
  /** The end of the job, for the job that called it. Stored if the answer is `ok`, and the settlement was not applied before. */
  readonly notice?: Notice | undefined;
}

export interface StepsPage {
  readonly now: number;
  readonly life: number;
  readonly steps: readonly StepRecord[];
  readonly cursor: string | null;
}

export type StepEndAnswer =
  | { readonly kind: "ok"; readonly woke: boolean; readonly type: string; readonly queue: string }
  | { readonly kind: "late"; readonly state: StepRecord["state"] }
  | { readonly kind: "full" }
  | { readonly kind: "refused"; readonly status: Status }
  | { readonly kind: "missing" }
  | { readonly kind: "locked" };

export interface FlowRead {
  readonly id: string;
  readonly names?: readonly string[] | undefined;
  /** Without names. */
  readonly after?: string | null | undefined;
  readonly limit?: number | undefined;
}

export interface FlowPage {
  readonly now: number;
  readonly version: number;
  readonly head: string;
  readonly members: readonly MemberText[];
  readonly cursor: string | null;
}

export interface FlowChange {
  readonly id: string;
  readonly version: number;
  readonly head: string;
  readonly states: readonly Pick<MemberText, "name" | "state">[];
  readonly added: readonly MemberText[];
  readonly notices: readonly Notice[];
}

export type FlowChangeAnswer = "ok" | "stale" | "missing" | "locked";

export interface StoredNotice {
  /** For `dropNotices`. */
  readonly key: string;
  readonly notice: Notice;
}

export interface ExchangeAnswer {
  readonly settled: LeaseAnswer[];
  readonly claimed: LeasedRecord[][];
  /** For each claim; absent if it is null for all. */
  readonly againInMs?: readonly (number | null)[] | undefined;
}

export interface Claim {
  readonly workerId: string;
  /** Taken from in this order. */
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  readonly leaseMs: number;
  /** Numbers the claims of a worker from 1, so that a repeat is recognised; 0 if it is never repeated. */
  readonly turn: number;
  /**
   * The answer to the claim of this turn was lost. If a server may have granted it, the granted jobs that still run are returned again,
   * with their leases renewed, instead of other jobs: otherwise they would wait for their lease to run out and count as lost. If the first
   * try arrives after its repeat it takes no jobs, because nobody waits for its answer: the repeat is remembered for REPEAT_REMEMBERED_MS.
   * With turn 0 nothing is returned again.
   */
  readonly again: boolean;
  /**
   * The worker dies with this machine, so SQLite skips the claim's fsync: a power cut that undoes the claim leaves no holder either. The
   * same fence may then be granted again, so other systems must not use it as a token. Never true for a worker on another machine.
   */
  readonly local: boolean;
}

/** What became pending. */
export interface Promoted {
  readonly moved: number;
  readonly nextInMs: number | null;
  /** Only if asked for with `tell`. */
  readonly jobs?: readonly PromotedJob[];
}

/** What news say of a job that became pending. */
export interface PromotedJob {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
}

/** A running job with its lease, and whether its queue keeps dead letters. */
export interface LeasedRecord extends JobRecord {
  readonly leaseUntil: number;
  readonly deadLetters: boolean;
}

/** A running job whose lease has run out, and whether its queue keeps dead letters. */
export type ExpiredRecord = JobSummaryRecord & { readonly deadLetters: boolean };

export interface Note extends Lease {
  readonly progress: Progress | null;
  readonly lines: readonly string[];
}

export type ChangeAnswer =
  /** `was` is the status before, `job` the job after (before, if it was removed). */
  | { readonly kind: "ok"; readonly was: Status; readonly job: JobSummaryRecord }
  | { readonly kind: "refused"; readonly status: Status }
  | { readonly kind: "missing" }
  | { readonly kind: "locked" };

export interface ListQuery extends Filter {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Absent: `created`. See core/list-order.ts. */
  readonly sort?: Sort | undefined;
}

export interface GroupQuery extends Omit<Filter, "status" | "group" | "q"> {
  readonly status: readonly ("dead" | "failed")[];
  readonly limit: number;
}

export interface FoundGroups {
  readonly groups: readonly FoundGroup[];
  readonly isCapped: boolean;
  readonly hasMore: boolean;
}

export interface FacetQuery extends Omit<GroupQuery, "limit"> {
  readonly field: string;
  /** Jobs with an error of this group. */
  readonly group?: string | undefined;
  readonly limit: number;
}

export interface FacetValues {
  readonly values: readonly { readonly value: string; readonly count: number }[];
  readonly without: number;
  readonly isCapped: boolean;
  readonly hasMore: boolean;
}

export interface PruneRule extends Retention {
  readonly queue: string;
}

export { MAX_COUNTED_OF_KEY } from "../core/limits.ts";
/** How many ids of running jobs are told of one limit key. */
export const MAX_HOLDERS = 10;

export interface KeyLimitsRecord {
  readonly key: string | null;
  /** As core/limits.ts stores them. */
  readonly limits: string;
}

export interface LimitUse {
  readonly now: number;
  readonly running: number;
  /** What the queue's rate remembers; null if it has none. */
  readonly rate: RateState | null;
  /** In the order of the call. */
  readonly keys: readonly KeyUse[];
}

export interface KeyUse {
  readonly key: string;
  readonly running: number;
  /** Pending, scheduled and retrying. */
  readonly waiting: number;
  /** Until when it is held by `holdMs`; null if it is not. */
  readonly heldUntil: number | null;
  readonly rate: RateState | null;
  /** Some of its running jobs, MAX_HOLDERS at most. */
  readonly holders: readonly string[];
  /** Its own limits, in stored form. */
  readonly limits: string | null;
}

export interface QueueState {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly paused: boolean;
  readonly counts: readonly { readonly status: Status; readonly level: PriorityLevel; readonly count: number }[];
}

/** A queue, a type, and when their longest due pending job was due. */
export interface OldestPending {
  readonly queue: string;
  readonly type: string;
  readonly runAt: number;
}

export interface CounterQuery {
  readonly step: "all" | "hour" | "minute" | "hour-times";
  readonly queue?: string | undefined;
  /** One row for each type, or only the rows of this type. Absent: rows of whole queues. */
  readonly byType?: true | { readonly type: string } | undefined;
  /** Minutes without their histograms, which are most of what they have. */
  readonly countsOnly?: true | undefined;
  /** Start of the first period, and end of the last; ignored for "all". */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** One queue, or one of its types, in one period. Minutes have histograms until `sweep` moves them; hours only in the step `hour-times`. */
export interface CounterRow {
  readonly queue: string;
  /** Null: what is not kept by type; without `byType`, the whole queue. */
  readonly type: string | null;
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
 * Inside the caller's transaction nothing is retried: errors reach the caller, who rolls back. If another transaction holds a row, the call
 * waits for it like the caller's own statements.
 */
export interface TransactionVerbs {
  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]>;
  settle(settlements: readonly Settlement[]): Promise<LeaseAnswer[]>;
  /** Before `settle`: like every note, it is refused once the lease has ended. */
  note(notes: readonly Note[]): Promise<LeaseAnswer[]>;
}
