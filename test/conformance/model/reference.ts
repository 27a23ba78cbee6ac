/**
 * THE REFERENCE. What a store must do, in the plainest form: maps, arrays, full scans, a time that is turned by hand. It shares no code with
 * the core or with any engine (types only), so that a rule which is wrong there cannot be wrong here in the same way. Slow on purpose.
 *
 * Each verb does one item; its answer is what the store must answer. Where the contract leaves a choice, it is made here from what the store
 * chose (`choose`), after a check that the choice was allowed.
 */
import { withGroup } from "../../../src/core/error-group.ts";
import type { Attempt, AttemptError, JobRecord, LogLine, NewJob, PriorityLevel, Progress, Status } from "../../../src/core/job.ts";
import type { Counter } from "../../../src/core/counters.ts";
import type { Move, Outcome } from "../../../src/core/lifecycle.ts";
import type { Manual, ManualChange } from "../../../src/core/manual-change.ts";
import type { QueueSettings } from "../../../src/core/queue.ts";
import type { ScheduleSpec } from "../../../src/core/schedule-record.ts";
import type { NewStep, Notice, StepEnd, StepRecord } from "../../../src/core/steps.ts";
import type { Claim, InsertAnswer, LeaseAnswer, LeasedRecord, ListQuery, PruneRule, StepEndAnswer } from "../../../src/store/store.ts";
import { LimitRules, type Said } from "./limit-rules.ts";
import { cancelNotices, StepRules } from "./step-rules.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface ModelJob {
  record: Mutable<JobRecord>;
  sequence: number;
  leaseUntil: number;
  /** The last settlement that was applied. */
  settled: { fence: number; outcome: string } | null;
  /** The fence of the lease that the cancel which is in force ended. */
  cancelledFence: number | null;
  history: Attempt[];
  changes: ManualChange[];
  logs: LogLine[];
  readonly steps: StepRules;
  /** When a suspended one becomes pending by itself, while it is blocked. */
  wakeAt: number | null;
  /** It was suspended: its next claim takes no units. */
  isResumed: boolean;
  /** The claim that it runs by took none. */
  isFree: boolean;
}

interface ModelKey {
  id: string;
  fingerprint: string;
  status: Status;
  /** Set once the job ended completed or cancelled. */
  expiresAt: number | null;
}

interface ModelQueue {
  settings: QueueSettings;
  paused: boolean;
}

/** What a claim must have taken, given what the store chose where it may choose. */
export interface ModelClaim {
  readonly leases: LeasedRecord[];
  /** What was wrong with the choice. */
  readonly wrong: string | null;
  /** By when a job may start that waits for time. */
  readonly nextInMs: number | null;
}

export interface ModelSchedule {
  spec: ScheduleSpec;
  nextTick: number | null;
  lastTick: number | null;
  lastJobId: string | null;
  createdAt: number;
}

/** An outcome with what the caller decided beside it: the delay of a retry, and whether a job that failed for good is dead or failed. */
export interface Report {
  readonly outcome: Outcome;
  readonly delayMs: number;
  readonly deadLetters: boolean;
  readonly ifExpired: boolean;
  readonly said?: Said;
  readonly notice?: Notice | undefined;
  readonly calls?: readonly NewJob[];
}

export type ChangeKind = "cancel" | "retry" | "edit" | "restart" | "run now" | "open" | "open later";
export type ModelChange = { kind: "ok"; was: Status } | { kind: "refused"; status: Status } | { kind: "missing" };

const WAITING: readonly Status[] = ["scheduled", "pending", "retrying"];
const ENDED: readonly Status[] = ["completed", "failed", "dead", "cancelled"];
const LOG_LINES = 1_000;
const MANUAL_CHANGES = 100;

export class Reference {
  now: number;
  readonly jobs = new Map<string, ModelJob>();
  /** Every id that was ever stored. */
  readonly known = new Set<string>();
  readonly queues = new Map<string, ModelQueue>();
  readonly #rules = new Map<string, LimitRules>();
  readonly #placesReturnLate: boolean;
  readonly keys = new Map<string, ModelKey>();
  readonly schedules = new Map<string, ModelSchedule>();
  /** Those that were not dropped yet. */
  readonly notices: Notice[] = [];
  /** Everything that was ever counted. */
  readonly counted: { queue: string; type: string; at: number; counter: Counter }[] = [];
  readonly timed: { queue: string; type: string; at: number; kind: "run" | "wait"; ms: number }[] = [];
  #sequence = 0;

  constructor(now: number, placesReturnLate = false) {
    this.now = now;
    this.#placesReturnLate = placesReturnLate;
  }

  /** The limits of a queue. */
  rules(queue: string): LimitRules {
    const rules = this.#rules.get(queue) ?? new LimitRules(this.#placesReturnLate);
    this.#rules.set(queue, rules);
    return rules;
  }

  // ── Jobs come in ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  insert(job: NewJob): InsertAnswer {
    const same = this.jobs.get(job.id)?.record;
    if (same !== undefined) return { kind: "created", status: same.status, createdAt: same.createdAt, runAt: same.runAt };
    const holder = this.#livingKey(job.queue, job.idempotencyKey);
    if (holder !== undefined) return this.#answerFor(holder, job);
    const { capacity } = this.queue(job.queue).settings;
    const alwaysFits = job.blocked === true || (job.parent ?? null) !== null;
    if (!alwaysFits && capacity !== null && this.#waiting(job.queue) >= capacity) return { kind: "full", capacity };
    const most = alwaysFits ? null : this.rules(job.queue).waitingOf(job.limitKey);
    if (most !== null && this.waitingOf(job.queue, job.limitKey!) >= most) return { kind: "full", capacity: most, limitKey: job.limitKey! };
    return this.#store(job);
  }

  /** The new job has the id, the queue and the type of the one before, and none has a key. */
  replace(job: NewJob): "ok" | "refused" | "missing" {
    const before = this.jobs.get(job.id);
    if (before === undefined) return "missing";
    const { status, fence } = before.record;
    if (!["scheduled", "pending", "blocked"].includes(status) || fence > 0) return "refused";
    this.jobs.delete(job.id);
    this.#store({ ...job, blocked: status === "blocked" });
    return "ok";
  }

  #answerFor(holder: ModelKey, job: NewJob): InsertAnswer {
    if (holder.fingerprint !== job.fingerprint) return { kind: "conflict", id: holder.id };
    const stored = this.jobs.get(holder.id);
    if (stored === undefined) return { kind: "pruned", id: holder.id, status: holder.status };
    return { kind: "known", job: { ...stored.record } };
  }

  #store(job: NewJob): InsertAnswer {
    const { now } = this;
    const runAt = job.blocked === true ? now : Math.max(now, job.runAt ?? now + job.delayMs);
    const status: Status = job.blocked === true ? "blocked" : runAt > now ? "scheduled" : "pending";
    const { delayMs: _delay, runAt: _runAt, blocked: _blocked, fingerprint, ...given } = job;
    this.jobs.set(job.id, {
      record: {
        ...given,
        status,
        runAt,
        retryCount: 0,
        lostCount: 0,
        attempt: 0,
        hasSteps: false,
        parent: job.parent ?? null,
        startWithinMs: job.startWithinMs ?? null,
        snoozes: 0,
        result: null,
        error: null,
        progress: null,
        workerId: null,
        fence: 0,
        createdAt: now,
        updatedAt: now,
        startedAt: null,
        completedAt: null,
        runMs: null,
      },
      sequence: ++this.#sequence,
      leaseUntil: 0,
      settled: null,
      cancelledFence: null,
      history: [],
      changes: [],
      logs: [],
      steps: new StepRules(),
      wakeAt: null,
      isResumed: false,
      isFree: false,
    });
    this.known.add(job.id);
    this.#count(job, "enqueued");
    if (job.idempotencyKey !== null) {
      this.keys.set(keyName(job.queue, job.idempotencyKey), { id: job.id, fingerprint: fingerprint!, status, expiresAt: null });
    }
    return { kind: "created", status, createdAt: now, runAt };
  }

  #livingKey(queue: string, key: string | null): ModelKey | undefined {
    const entry = key === null ? undefined : this.keys.get(keyName(queue, key));
    return entry !== undefined && (entry.expiresAt === null || entry.expiresAt > this.now) ? entry : undefined;
  }

  #waiting(queue: string): number {
    return this.jobsIn(queue).filter(({ record }) => WAITING.includes(record.status)).length;
  }

  waitingOf(queue: string, limitKey: string): number {
    return this.jobsIn(queue).filter(({ record }) => WAITING.includes(record.status) && record.limitKey === limitKey).length;
  }

  // ── Jobs are worked ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `chosen`: the ids that the store took. */
  claim({ workerId, queues, types, limit, leaseMs }: Claim, chosen: readonly string[]): ModelClaim {
    const leases: LeasedRecord[] = [];
    const waits: number[] = [];
    let left = [...chosen];
    for (const queue of queues) {
      const settings = this.queues.get(queue);
      if (settings === undefined || settings.paused || leases.length === limit) continue;
      const { headStartMs, deadLetters } = settings.settings;
      // It takes from one queue after the other.
      const until = left.findIndex((id) => this.jobs.get(id)?.record.queue !== queue);
      const mine = until === -1 ? left : left.slice(0, until);
      left = left.slice(mine.length);
      const pending = this.jobsIn(queue).filter(({ record }) => record.status === "pending");
      const { wrong, nextInMs } = this.rules(queue).follow({
        pending: pending.map(({ record, sequence, isResumed }) => ({ ...record, cost: isResumed ? 0 : record.cost, sequence })),
        running: this.#leased(queue).map(({ record }) => record.limitKey),
        types,
        limit: limit - leases.length,
        headStartMs,
        now: this.now,
        chosen: mine,
      });
      if (wrong !== null) return { leases, wrong: `${queue}: ${wrong}`, nextInMs: null };
      if (nextInMs !== null) waits.push(nextInMs);
      leases.push(...mine.map((id) => this.#grant(this.jobs.get(id)!, workerId, leaseMs, deadLetters)));
    }
    const wrong = left.length === 0 ? null : `${left.join(", ")} could not be taken then`;
    return { leases, wrong, nextInMs: waits.length === 0 ? null : Math.min(...waits) };
  }

  #grant(job: ModelJob, workerId: string, leaseMs: number, deadLetters: boolean): LeasedRecord {
    const { record } = job;
    record.status = "running";
    record.fence += 1;
    record.attempt += 1;
    record.workerId = workerId;
    record.startedAt = this.now;
    record.updatedAt = this.now;
    record.progress = null;
    job.leaseUntil = this.now + leaseMs;
    job.isFree = job.isResumed;
    job.isResumed = false;
    return { ...record, leaseUntil: job.leaseUntil, deadLetters };
  }

  #leased(queue: string): ModelJob[] {
    return this.jobsIn(queue).filter(({ record }) => record.status === "running");
  }

  /** What a queue and a limit key use of their limits. */
  limitUse(queue: string, key: string): { running: number; ofKey: string[]; waiting: number; heldUntil: number | null } {
    const leased = this.#leased(queue);
    const ofKey = leased.filter(({ record }) => record.limitKey === key).map(({ record }) => record.id);
    return { running: leased.length, ofKey, waiting: this.waitingOf(queue, key), heldUntil: this.rules(queue).heldUntil(key, this.now) };
  }

  settle(id: string, fence: number, report: Report): LeaseAnswer {
    const job = this.jobs.get(id);
    if (job === undefined) return "stale";
    const { outcome, ifExpired } = report;
    if (job.record.status === "running" && job.record.fence === fence && (!ifExpired || job.leaseUntil <= this.now)) {
      const { queue, limitKey, cost } = job.record;
      this.rules(queue).said({ limitKey, cost: job.isFree ? 0 : cost }, report.said ?? {}, this.now);
      this.#end(job, report);
      job.settled = { fence, outcome: outcome.kind };
      if (report.notice !== undefined) this.notices.push(report.notice);
      return "ok";
    }
    if (!ifExpired && job.settled?.fence === fence && job.settled.outcome === outcome.kind) return "ok";
    return this.#refusal(job, fence);
  }

  #end(job: ModelJob, { outcome, delayMs, deadLetters, calls = [] }: Report): void {
    const { record } = job;
    switch (outcome.kind) {
      case "completed":
        this.#endAttempt(job, outcome.runMs);
        this.#time(job);
        record.result = outcome.result;
        record.error = null;
        return this.#finish(job, "completed");
      case "failed":
        this.#endAttempt(job, outcome.runMs);
        this.#time(job);
        return this.#failed(job, outcome.error, delayMs, deadLetters);
      case "discard":
        this.#endAttempt(job, outcome.runMs);
        this.#time(job);
        record.result = null;
        record.error = withGroup(outcome.error);
        return this.#finish(job, deadLetters ? "dead" : "failed");
      case "lost":
        this.#endAttempt(job, this.now - record.startedAt!);
        this.#count(record, "lost");
        record.fence += 1;
        return this.#lost(job, delayMs, deadLetters);
      case "snooze":
        record.attempt -= 1;
        record.snoozes += 1;
        record.runAt = this.now + Math.max(1_000, outcome.delayMs);
        return this.#enter(job, "scheduled");
      case "hold":
        record.snoozes += 1;
        record.attempt -= 1;
        record.fence += 1;
        return this.#enter(job, "pending");
      case "release":
        record.attempt -= 1;
        record.fence += 1;
        return this.#enter(job, "pending");
      case "suspend":
        return this.#suspend(job, outcome.waits, calls);
    }
  }

  #suspend(job: ModelJob, waits: readonly NewStep[], calls: readonly NewJob[]): void {
    const { record } = job;
    const first = job.steps.open(waits, record.attempt, this.now);
    const isBlocked = waits.some(({ kind }) => kind !== "sleep");
    Object.assign(record, { hasSteps: true, attempt: record.attempt - 1, retryCount: 0, lostCount: 0, snoozes: 0 });
    if (first !== null) record.runAt = first === "ended" ? this.now : Math.max(this.now, first);
    this.#enter(job, first === "ended" ? "pending" : isBlocked ? "blocked" : "scheduled");
    job.isResumed = true;
    if (record.status === "blocked" && first !== null) job.wakeAt = record.runAt;
    for (const child of calls) {
      const known = this.jobs.get(child.id)?.record;
      if (known === undefined) this.insert(child);
      else if (ENDED.includes(known.status)) this.notices.push({ kind: "insert", job: child });
    }
  }

  #endAttempt({ record }: ModelJob, runMs: number): void {
    record.runMs = runMs;
  }

  #failed(job: ModelJob, error: AttemptError, delayMs: number, deadLetters: boolean): void {
    const { record } = job;
    record.error = withGroup(error);
    record.result = null;
    if (record.retryCount >= record.maxRetries) return this.#finish(job, deadLetters ? "dead" : "failed");
    record.retryCount += 1;
    this.#runAgain(job, delayMs);
  }

  /** Costs no retry: losses have a count and a bound of their own. */
  #lost(job: ModelJob, delayMs: number, deadLetters: boolean): void {
    const { record } = job;
    record.lostCount += 1;
    record.result = null;
    const isLast = record.lostCount > record.maxLost;
    record.error = withGroup(isLast ? { ...LOST, message: lastWords(record.lostCount) } : LOST);
    if (isLast) return this.#finish(job, deadLetters ? "dead" : "failed");
    this.#runAgain(job, delayMs);
  }

  #runAgain(job: ModelJob, delayMs: number): void {
    const { record } = job;
    record.runAt = this.now + delayMs;
    job.history.push(this.#ended(job, "failed", this.now));
    this.#count(record, "retried");
    this.#enter(job, "retrying");
  }

  #finish(job: ModelJob, status: "completed" | "dead" | "failed" | "cancelled"): void {
    job.record.completedAt = this.now;
    this.#count(job.record, status);
    this.#enter(job, status);
    const key = this.#ownKey(job);
    if (key === undefined) return;
    key.status = status;
    if (status === "completed" || status === "cancelled") key.expiresAt = this.now + job.record.keyTtlMs;
  }

  #enter(job: ModelJob, status: Status): void {
    if (job.record.status === "running") this.rules(job.record.queue).ended(job.record.limitKey);
    job.wakeAt = null;
    job.record.status = status;
    job.record.updatedAt = this.now;
  }

  #refusal(job: ModelJob, fence: number): "stale" | "cancelled" {
    return job.record.status === "cancelled" && job.cancelledFence === fence ? "cancelled" : "stale";
  }

  extend(id: string, fence: number, leaseMs: number): LeaseAnswer {
    const job = this.jobs.get(id);
    if (job === undefined) return "stale";
    if (job.record.status !== "running" || job.record.fence !== fence) return this.#refusal(job, fence);
    job.leaseUntil = this.now + leaseMs;
    return "ok";
  }

  note(id: string, fence: number, progress: Progress | null, lines: readonly string[]): LeaseAnswer {
    const job = this.jobs.get(id);
    if (job === undefined) return "stale";
    if (job.record.status !== "running" || job.record.fence !== fence) return this.#refusal(job, fence);
    if (progress !== null) {
      job.record.progress = progress;
      job.record.updatedAt = this.now;
    }
    for (const text of lines) {
      if (job.logs.length < LOG_LINES) job.logs.push({ number: job.logs.length + 1, at: this.now, attempt: job.record.attempt, text });
    }
    return "ok";
  }

  // ── Jobs do durable work ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  keepSteps(id: string, fence: number, steps: readonly NewStep[]): LeaseAnswer {
    const job = this.jobs.get(id);
    if (job === undefined) return "stale";
    const { record } = job;
    if (record.status !== "running" || record.fence !== fence) return this.#refusal(job, fence);
    for (const step of steps) job.steps.keep(step, record.attempt, this.now);
    Object.assign(record, { hasSteps: true, retryCount: 0, lostCount: 0, updatedAt: this.now });
    return "ok";
  }

  /** Ends what is overdue, if the lease holds. */
  readSteps(id: string, fence: number | null): { life: number; steps: StepRecord[] } | null {
    const job = this.jobs.get(id);
    if (job === undefined) return null;
    if (fence !== null && (job.record.status !== "running" || job.record.fence !== fence)) return null;
    if (fence !== null) job.steps.endOverdue(this.now);
    return job.steps.page();
  }

  endStep(end: StepEnd): StepEndAnswer {
    const job = this.jobs.get(end.id);
    if (job === undefined) return { kind: "missing" };
    const { record } = job;
    const { type, queue, status } = record;
    if (!end.from.includes(status)) return { kind: "refused", status };
    const ended = job.steps.end(end, record.attempt, this.now);
    if (typeof ended === "object") return { kind: "late", state: ended.late };
    record.hasSteps = true;
    const woke = ended === "woke" && status === "blocked";
    if (woke) {
      record.runAt = this.now;
      this.#enter(job, "pending");
    }
    return { kind: "ok", woke, type, queue };
  }

  // ── Jobs are managed ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  change(id: string, kind: ChangeKind, manual?: Manual, edit?: Move["edit"]): ModelChange {
    const job = this.jobs.get(id);
    if (job === undefined) return { kind: "missing" };
    const { record } = job;
    const { status: was, attempt } = record;
    const allowed = {
      cancel: !ENDED.includes(was),
      retry: ["dead", "failed", "cancelled"].includes(was),
      edit: ["dead", "failed", "cancelled"].includes(was),
      restart: ["dead", "failed", "cancelled"].includes(was),
      "run now": ["scheduled", "retrying"].includes(was),
      open: was === "blocked",
      "open later": was === "blocked",
    };
    if (!allowed[kind]) return { kind: "refused", status: was };
    if (kind === "cancel") this.#cancel(job);
    else if (kind === "retry" || kind === "edit" || kind === "restart") this.#startAgain(job);
    if (kind === "restart") job.steps.forget("all", record.hasSteps);
    else if (kind === "retry" || kind === "edit") job.steps.forget("failed", record.hasSteps);
    if (edit !== undefined) Object.assign(record, edit);
    if (kind !== "cancel") {
      record.runAt = this.now + (kind === "open later" ? 1_000 : 0);
      this.#enter(job, kind === "open later" ? "scheduled" : "pending");
    }
    if (manual !== undefined) {
      job.changes.push({ ...manual, at: this.now, from: was, attempt });
      if (job.changes.length > MANUAL_CHANGES) job.changes.shift();
    }
    return { kind: "ok", was };
  }

  #cancel(job: ModelJob): void {
    const { record } = job;
    const ran = record.status === "running";
    job.cancelledFence = ran ? record.fence : null;
    record.fence += 1;
    if (ran) {
      record.error = withGroup({ name: "Cancelled", message: "cancelled while it ran", stack: null, kind: "cancelled" });
      this.#endAttempt(job, this.now - record.startedAt!);
    }
    this.#finish(job, "cancelled");
    this.notices.push(...cancelNotices(record));
  }

  #startAgain(job: ModelJob): void {
    const { record } = job;
    job.history = this.attempts(record.id);
    record.retryCount = 0;
    record.lostCount = 0;
    record.snoozes = 0;
    record.completedAt = null;
    if (record.idempotencyKey === null) return;
    const key = this.#ownKey(job);
    if (key !== undefined && (key.expiresAt === null || key.expiresAt > this.now)) key.expiresAt = null;
    else record.idempotencyKey = null;
  }

  remove(id: string): ModelChange {
    const job = this.jobs.get(id);
    if (job === undefined) return { kind: "missing" };
    const was = job.record.status;
    if (!ENDED.includes(was)) return { kind: "refused", status: was };
    if (this.#ownKey(job) !== undefined) this.keys.delete(keyName(job.record.queue, job.record.idempotencyKey!));
    this.jobs.delete(id);
    return { kind: "ok", was };
  }

  /** The entry of a job's key, while it is still that job's. */
  #ownKey({ record }: ModelJob): ModelKey | undefined {
    const key = record.idempotencyKey === null ? undefined : this.keys.get(keyName(record.queue, record.idempotencyKey));
    return key?.id === record.id ? key : undefined;
  }

  attempts(id: string): Attempt[] {
    const job = this.jobs.get(id);
    if (job === undefined) return [];
    const { attempt, status, completedAt } = job.record;
    if (attempt === 0 || job.history.some(({ number }) => number === attempt)) return [...job.history];
    if (status === "running") {
      const { workerId, startedAt } = job.record;
      const running = {
        number: attempt,
        workerId,
        startedAt: startedAt!,
        endedAt: null,
        durationMs: null,
        outcome: "running",
        error: null,
      } as const;
      return [...job.history, running];
    }
    const outcome = status === "completed" || status === "cancelled" ? status : "failed";
    return [...job.history, this.#ended(job, outcome, completedAt!)];
  }

  #ended({ record }: ModelJob, outcome: Attempt["outcome"], endedAt: number): Attempt {
    const { attempt, workerId, startedAt, runMs, error } = record;
    return { number: attempt, workerId, startedAt: startedAt!, endedAt, durationMs: runMs, outcome, error };
  }

  list({
    status,
    type,
    queue,
    internal,
    priority,
    tag,
    limitKey,
    facets,
    q,
    from,
    to,
    endedFrom,
    sort,
  }: Omit<ListQuery, "limit" | "cursor">): string[] {
    const matching = [...this.jobs.values()].filter(({ record }) => {
      if (status !== undefined && !status.includes(record.status)) return false;
      if (type !== undefined && record.type !== type) return false;
      if (queue !== undefined && record.queue !== queue) return false;
      if (internal !== true && record.queue.includes("~")) return false;
      if (priority !== undefined && (record.priority < priority.min || record.priority > priority.max)) return false;
      if (limitKey !== undefined && record.limitKey !== limitKey) return false;
      if (tag !== undefined && !record.tags.includes(tag)) return false;
      if (facets !== undefined && Object.entries(facets).some(([field, value]) => record.facets?.[field] !== value)) return false;
      if (q !== undefined && !textsOf(record).some((text) => text.toLowerCase().includes(q.toLowerCase()))) return false;
      if (endedFrom !== undefined && (record.completedAt === null || record.completedAt < endedFrom)) return false;
      return record.createdAt >= (from ?? 0) && record.createdAt < (to ?? Number.POSITIVE_INFINITY);
    });
    const possible = endedFrom === undefined ? (status ?? ["running"]) : (status ?? ENDED).filter((one) => ENDED.includes(one));
    matching.sort(this.#orderOf(sort === "state" ? possible : []));
    return matching.map(({ record }) => record.id);
  }

  /** How jobs of these statuses follow each other in the order of their state; newest created first if they have none in common. */
  #orderOf(statuses: readonly string[]): (a: ModelJob, b: ModelJob) => number {
    const are = (...some: string[]): boolean => statuses.length > 0 && statuses.every((status) => some.includes(status));
    const rankOf = ({ record }: ModelJob): number => record.runAt - record.priority * this.queues.get(record.queue)!.settings.headStartMs;
    if (are("pending")) return (a, b) => rankOf(a) - rankOf(b) || a.sequence - b.sequence;
    if (are("scheduled", "retrying")) return (a, b) => a.record.runAt - b.record.runAt || a.sequence - b.sequence;
    if (are(...ENDED)) return (a, b) => b.record.completedAt! - a.record.completedAt! || b.sequence - a.sequence;
    return (a, b) => b.record.createdAt - a.record.createdAt || b.sequence - a.sequence;
  }

  // ── Upkeep ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  promote(): { moved: number; nextInMs: number | null; jobs: { id: string; type: string; queue: string }[] } {
    const waits = [...this.jobs.values()].filter(
      ({ record, wakeAt }) => record.status === "scheduled" || record.status === "retrying" || wakeAt !== null,
    );
    const due = waits.filter(({ record }) => record.runAt <= this.now);
    for (const job of due) this.#enter(job, "pending");
    const later = waits.filter((job) => !due.includes(job)).map(({ record }) => record.runAt - this.now);
    const jobs = due.map(({ record: { id, type, queue } }) => ({ id, type, queue }));
    return { moved: due.length, nextInMs: later.length === 0 ? null : Math.min(...later), jobs };
  }

  expired(): { ids: string[]; nextInMs: number | null } {
    const running = [...this.jobs.values()].filter(({ record }) => record.status === "running");
    const out = running.filter(({ leaseUntil }) => leaseUntil <= this.now);
    const later = running.filter((job) => !out.includes(job)).map(({ leaseUntil }) => leaseUntil - this.now);
    return { ids: out.map(({ record }) => record.id), nextInMs: later.length === 0 ? null : Math.min(...later) };
  }

  /** `gone` is what the store removed: of jobs that ended in one moment it may take any. Answers what was wrong with its choice. */
  prune(rules: readonly PruneRule[], limit: number, gone: readonly string[]): string | null {
    const due = rules.flatMap((rule) => {
      const ended = this.jobsIn(rule.queue).filter(({ record }) => record.status === "completed" || record.status === "cancelled");
      ended.sort((a, b) => b.record.completedAt! - a.record.completedAt!);
      const age = ({ record }: ModelJob): number => this.now - record.completedAt!;
      return ended.filter((job, place) => (place >= rule.count || age(job) > rule.ageMs) && age(job) > rule.keepAtLeastMs);
    });
    if (gone.length !== Math.min(limit, due.length)) return `removed ${gone.length} jobs of ${due.length} that were due, limit ${limit}`;
    for (const { queue } of rules) {
      const ends = (ids: ModelJob[]): number[] => ids.map(({ record }) => record.completedAt!).sort((a, b) => a - b);
      const mine = ends(gone.map((id) => this.jobs.get(id)!).filter(({ record }) => record.queue === queue));
      const earliest = ends(due.filter(({ record }) => record.queue === queue)).slice(0, mine.length);
      if (mine.join() !== earliest.join()) return `removed of ${queue} those that ended at ${mine.join()}, not at ${earliest.join()}`;
    }
    for (const id of gone) this.jobs.delete(id);
    return null;
  }

  // ── Queues and figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  queue(name: string): ModelQueue {
    const queue = this.queues.get(name) ?? { settings: DEFAULTS, paused: false };
    this.queues.set(name, queue);
    return queue;
  }

  configure(name: string, { paused, ...change }: Partial<QueueSettings> & { paused?: boolean }): void {
    const queue = this.queue(name);
    queue.settings = { ...queue.settings, ...change };
    queue.paused = paused ?? queue.paused;
    if (change.limits !== undefined) this.rules(name).setLimits(change.limits);
  }

  setKeyLimits(name: string, key: string | null, limits: string | null): void {
    this.queue(name);
    this.rules(name).setKey(key, limits);
  }

  jobsIn(queue: string): ModelJob[] {
    return [...this.jobs.values()].filter(({ record }) => record.queue === queue);
  }

  /** `status level` → how many. */
  counts(queue: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { record } of this.jobsIn(queue)) {
      const cell = `${record.status} ${levelOf(record.priority)}`;
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
    return counts;
  }

  #count({ queue, type }: Pick<NewJob, "queue" | "type">, counter: Counter): void {
    this.counted.push({ queue, type, at: this.now, counter });
  }

  #time({ record: { queue, type, runMs, startedAt, runAt } }: ModelJob): void {
    this.timed.push({ queue, type, at: this.now, kind: "run", ms: runMs! });
    this.timed.push({ queue, type, at: this.now, kind: "wait", ms: startedAt! - runAt });
  }

  // ── Schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  putSchedule(spec: ScheduleSpec, nextTick: number | null): void {
    const old = this.schedules.get(spec.name);
    const { lastTick = null, lastJobId = null, createdAt = this.now } = old ?? {};
    this.schedules.set(spec.name, { spec, nextTick, lastTick, lastJobId, createdAt });
  }

  dueSchedules(): { names: string[]; nextInMs: number | null } {
    const waits = [...this.schedules.values()].filter(({ spec, nextTick }) => !spec.paused && nextTick !== null);
    const due = waits.filter(({ nextTick }) => nextTick! <= this.now);
    const later = waits.filter((schedule) => !due.includes(schedule)).map(({ nextTick }) => nextTick! - this.now);
    return { names: due.map(({ spec }) => spec.name).sort(), nextInMs: later.length === 0 ? null : Math.min(...later) };
  }

  /** `isCurrent`: the version that was given is the stored one. */
  tick(name: string, isCurrent: boolean, tick: number, nextTick: number | null, job: NewJob | null): "ticked" | "stale" | "full" {
    if (job !== null && this.jobs.has(job.id)) return "ticked";
    const schedule = this.schedules.get(name);
    if (schedule === undefined || !isCurrent || (schedule.lastTick !== null && schedule.lastTick >= tick)) return "stale";
    schedule.lastTick = tick;
    schedule.nextTick = nextTick;
    if (job === null) return "ticked";
    if (this.insert(job).kind === "full") return "full";
    schedule.lastJobId = job.id;
    return "ticked";
  }
}

/** What a search looks through; all of it is ASCII here, and short. */
function textsOf({ id, type, tags, idempotencyKey, error, payload }: JobRecord): string[] {
  return [id, type, ...tags, idempotencyKey ?? "", error?.name ?? "", error?.message ?? "", payload];
}

const DEFAULTS: QueueSettings = {
  capacity: null,
  headStartMs: 8_796_093_022_208,
  deadLetters: true,
  retention: { ageMs: 86_400_000, count: 10_000, keepAtLeastMs: 600_000 },
  facets: null,
  defaults: null,
  limits: null,
};

const LOST: AttemptError = {
  name: "LeaseLost",
  message: "the lease ran out: the worker died, was cut off from the store, or did not renew it in time",
  stack: null,
  kind: "lost",
};

function keyName(queue: string, key: string): string {
  return `${queue} ${key}`;
}

function levelOf(priority: number): PriorityLevel {
  if (priority >= 20) return "critical";
  if (priority >= 10) return "high";
  return priority >= 0 ? "default" : "low";
}

function lastWords(losses: number): string {
  const times = losses === 1 ? "once" : `${losses} times`;
  const ended = losses === 1 ? "that worker" : "these workers";
  return `its worker died or was cut off ${times} while it ran: find out what ended ${ended}, then retry the job`;
}
