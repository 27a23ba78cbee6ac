import type { Spend, Spent } from "../../core/allowance.ts";
import { MillraceError } from "../../core/errors.ts";
import type { Event } from "../../core/event.ts";
import type { Filter } from "../../core/filter.ts";
import type { Attempt, JobRecord, JobSummaryRecord, LogLine, NewJob, Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import type { QueueSettings } from "../../core/queue.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { Clock } from "../../lib/clock.ts";
import type {
  ChangeAnswer,
  Claim,
  CounterQuery,
  CounterRow,
  ExpiredRecord,
  GroupQuery,
  Hint,
  InsertAnswer,
  Lease,
  LeaseAnswer,
  LeasedRecord,
  ListQuery,
  Note,
  OldestPending,
  PruneRule,
  QueueState,
  Settlement,
  Store,
  Tick,
  TransactionVerbs,
  Promoted,
  PromotedJob,
} from "../store.ts";
import { REPEAT_REMEMBERED_MS } from "../store.ts";
import { Allowances } from "./allowances.ts";
import { MemoryFeed } from "./feed.ts";
import { Jobs } from "./jobs.ts";
import { holds, isRepeat, refusal, writeNote } from "./leases.ts";
import { Ledger } from "./ledger.ts";
import { groupErrors } from "./groups.ts";
import { countMatches, listJobs } from "./list.ts";
import { Marks } from "./marks.ts";
import { Schedules } from "./schedules.ts";
import { StoreTime } from "./store-time.ts";
import { attemptsOf, leasedCopy, recordCopy, type StoredJob, summaryOf } from "./stored-job.ts";
import { WorkerRegistry } from "./worker-registry.ts";

/**
 * THE CONTRACT IN ITS PLAINEST FORM: everything is in this process and gone with it.
 *
 * Each verb runs from its first line to its last without a pause, so it is atomic by nature; its promise is resolved when it returns.
 * Where a job stands between two verbs is told in jobs.ts.
 */
export class MemoryStore implements Store {
  readonly inFlight = 1;
  readonly shareable = false;

  readonly #time: StoreTime;
  readonly #feed = new MemoryFeed();
  readonly #ledger = new Ledger();
  readonly #jobs = new Jobs(this.#ledger, this.#feed);
  readonly #schedules = new Schedules();
  readonly #workers = new WorkerRegistry();
  readonly #allowances = new Allowances();
  readonly #marks = new Marks();
  #isClosed = false;

  /** `deadlineMs` is what every engine is given; here nothing is waited for. */
  constructor({ clock }: { readonly clock: Clock; readonly deadlineMs: number }) {
    this.#time = new StoreTime(clock);
  }

  // ── Jobs come in ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    const now = this.#begin();
    return jobs.map((job) => this.#jobs.insert(job, now));
  }

  // ── Jobs are worked ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async exchange(
    settlements: readonly Settlement[],
    claims: readonly Claim[],
  ): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    const now = this.#begin();
    const settled = settlements.map((settlement) => this.#settle(settlement, now));
    const claimed = claims.map((claim) => this.#claim(claim, now));
    return { settled, claimed };
  }

  #settle(settlement: Settlement, now: number): LeaseAnswer {
    const { id, fence, outcome, transition, ifExpired } = settlement;
    const job = this.#jobs.get(id);
    if (!holds(job, fence)) return isRepeat(job, settlement) && !ifExpired ? this.#follow(settlement, now) : refusal(job, fence);
    if (ifExpired && job.leaseUntil > now) return "stale";

    this.#jobs.apply(job, transition, now);
    job.settledFence = fence;
    job.settledOutcome = outcome;
    if (transition.losses === "add") this.#feed.ring("lease");
    return this.#follow(settlement, now);
  }

  #follow({ followUp }: Settlement, now: number): "ok" {
    if (followUp) this.#jobs.insert(followUp, now);
    return "ok";
  }

  #claim(claim: Claim, now: number): LeasedRecord[] {
    const isLate = this.#isLate(claim, now);
    const granted = claim.again && claim.turn > 0 ? this.#grantAgain(claim, now) : [];
    if (granted.length > 0 || isLate) return granted;
    for (const name of claim.queues) {
      const book = this.#jobs.books.get(name);
      if (granted.length === claim.limit) break;
      if (book === undefined || book.paused) continue;
      const taken = book.lanes.take(claim.types, claim.limit - granted.length, book.settings.headStartMs);
      for (const job of taken) granted.push(this.#grant(job, claim, now));
    }
    return granted;
  }

  #grant(job: StoredJob, claim: Claim, now: number): LeasedRecord {
    const { record } = job;
    record.fence++;
    record.attempt++;
    record.startedAt = now;
    record.updatedAt = now;
    record.workerId = claim.workerId;
    record.progress = null;
    job.leaseUntil = now + claim.leaseMs;
    job.turn = claim.turn;
    this.#jobs.enter(job, "running");
    return leasedCopy(job);
  }

  /** Whether a repeat of this claim was here before it. A repeat leaves a mark. */
  #isLate({ workerId, turn, again }: Claim, now: number): boolean {
    if (turn === 0) return false;
    const name = `claim ${workerId} ${turn}`;
    const isLate = this.#marks.has(name, now);
    if (again) this.#marks.set(name, now + REPEAT_REMEMBERED_MS);
    return isLate;
  }

  /** What the claim of this turn took before its answer was lost on the way to a remote worker. */
  #grantAgain(claim: Claim, now: number): LeasedRecord[] {
    const running = [...this.#jobs.leases];
    const taken = running.filter((job) => job.record.workerId === claim.workerId && job.turn === claim.turn);
    return taken.map((job) => {
      this.#jobs.extendLease(job, now + claim.leaseMs);
      return leasedCopy(job);
    });
  }

  async extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
    const now = this.#begin();
    return leases.map(({ id, fence, leaseMs }) => {
      const job = this.#jobs.get(id);
      if (!holds(job, fence)) return refusal(job, fence);
      this.#jobs.extendLease(job, now + leaseMs);
      return "ok";
    });
  }

  async note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    const now = this.#begin();
    return notes.map((note) => {
      const job = this.#jobs.get(note.id);
      if (!holds(job, note.fence)) return refusal(job, note.fence);
      writeNote(job, note, now);
      return "ok";
    });
  }

  // ── Jobs are managed ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  async change(ids: readonly string[], move: Move): Promise<ChangeAnswer[]> {
    const now = this.#begin();
    return ids.map((id) => {
      const job = this.#jobs.get(id);
      if (job === undefined) return { kind: "missing" };
      const was = job.record.status;
      if (!move.from.includes(was)) return { kind: "refused", status: was };
      this.#jobs.apply(job, move.transition, now);
      if (was === "running") this.#feed.ring("lease");
      return { kind: "ok", was, job: summaryOf(job) };
    });
  }

  async remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
    this.#begin();
    return ids.map((id) => {
      const job = this.#jobs.get(id);
      if (job === undefined) return { kind: "missing" };
      const was = job.record.status;
      if (!from.includes(was)) return { kind: "refused", status: was };
      this.#jobs.keys.dropWith(job);
      this.#jobs.forget(job);
      return { kind: "ok", was, job: summaryOf(job) };
    });
  }

  async find(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    this.#begin();
    return ids.map((id) => {
      const job = this.#jobs.get(id);
      return job === undefined ? null : recordCopy(job);
    });
  }

  async list(query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
    this.#begin();
    return listJobs(this.#jobs.shelf, query);
  }

  async errorGroups(query: GroupQuery): ReturnType<Store["errorGroups"]> {
    this.#begin();
    return groupErrors(this.#jobs.shelf, (id) => this.#jobs.get(id), query);
  }

  async count(filter: Filter): Promise<{ count: number; isCapped: boolean }> {
    this.#begin();
    return countMatches(this.#jobs.shelf, filter);
  }

  async attempts(id: string): Promise<Attempt[]> {
    this.#begin();
    const job = this.#jobs.get(id);
    return job === undefined ? [] : structuredClone(attemptsOf(job));
  }

  async logs(id: string, after: number, limit: number): Promise<LogLine[]> {
    this.#begin();
    const lines = this.#jobs.get(id)?.logs ?? [];
    return structuredClone(lines.filter((line) => line.number > after).slice(0, limit));
  }

  // ── Upkeep ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async promote(limit: number, tell = false): Promise<Promoted> {
    const now = this.#begin();
    const { due } = this.#jobs;
    const jobs: PromotedJob[] = [];
    let moved = 0;
    for (; moved < limit; moved++) {
      const job = due.first;
      if (job === undefined || job.record.runAt > now) break;
      this.#jobs.leaveLine(job);
      job.record.updatedAt = now;
      this.#jobs.enter(job, "pending");
      if (tell) jobs.push({ id: job.record.id, type: job.record.type, queue: job.record.queue });
    }
    const nextInMs = untilNext(due.first?.record.runAt, now);
    return tell ? { moved, nextInMs, jobs } : { moved, nextInMs };
  }

  async expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null }> {
    const now = this.#begin();
    const { leases } = this.#jobs;
    const found: StoredJob[] = [];
    while (found.length < limit) {
      const job = leases.first;
      if (job === undefined || job.leaseUntil > now) break;
      leases.remove(job);
      found.push(job);
    }
    const nextInMs = untilNext(leases.first?.leaseUntil, now);
    // They were only put aside to see who stands behind them.
    for (const job of found) leases.add(job);
    return { jobs: found.map((job) => ({ ...summaryOf(job), deadLetters: job.book.settings.deadLetters })), nextInMs };
  }

  async prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
    const now = this.#begin();
    let removed = 0;
    for (const rule of rules) {
      const ended = this.#jobs.books.get(rule.queue)?.ended;
      while (removed < limit) {
        const job = ended?.first;
        if (job === undefined || !isPastKeep(now - job.record.completedAt!, ended!.size, rule)) break;
        this.#jobs.keys.outlive(job);
        this.#jobs.forget(job);
        removed++;
      }
    }
    return { removed };
  }

  async sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }> {
    const now = this.#begin();
    const keys = this.#jobs.keys.sweep(now, limit);
    const workers = this.#workers.sweep(now, limit);
    const periods = this.#ledger.sweep(now - keep.minutesMs, now - keep.hoursMs, limit);
    const allowances = this.#allowances.sweep(now, limit);
    const marks = this.#marks.sweep(now, limit);
    return { removed: keys + workers + periods + allowances + marks };
  }

  // ── Queues ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async queues(): Promise<QueueState[]> {
    this.#begin();
    return Array.from(this.#jobs.books.values()).map((book) => book.state());
  }

  async configure(queue: string, change: Partial<QueueSettings> & { paused?: boolean }): Promise<void> {
    this.#begin();
    this.#jobs.bookOf(queue).configure(change);
    this.#feed.ring("queues");
  }

  /** Nothing to do: a claim ranks by the head start of its moment. */
  async rerank(_queue: string, _limit: number): Promise<boolean> {
    this.#begin();
    return false;
  }

  async oldest(): Promise<{ now: number; queues: OldestPending[] }> {
    const now = this.#begin();
    const heads = Array.from(this.#jobs.books.values(), ({ name, lanes }) => ({ queue: name, runAt: lanes.oldest() }));
    return { now, queues: heads.filter((head): head is OldestPending => head.runAt !== null) };
  }

  async ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null> {
    this.#begin();
    const job = this.#jobs.get(id);
    if (job === undefined || job.record.status !== "pending") return null;
    return job.book.lanes.countBefore(job, types, job.book.settings.headStartMs, most);
  }

  async counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
    const now = this.#begin();
    return { now, rows: this.#ledger.read(query) };
  }

  // ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }> {
    const now = this.#begin();
    return { now, schedules: this.#schedules.find(names) };
  }

  async putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean> {
    const now = this.#begin();
    if (!this.#schedules.put(spec, nextTick, expected, now)) return false;
    this.#feed.ring("schedules");
    return true;
  }

  async removeSchedule(name: string): Promise<boolean> {
    this.#begin();
    if (!this.#schedules.remove(name)) return false;
    this.#feed.ring("schedules");
    return true;
  }

  async dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
    const now = this.#begin();
    const { schedules, nextAt } = this.#schedules.due(now, limit);
    return { now, schedules, nextInMs: untilNext(nextAt, now) };
  }

  async tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
    const now = this.#begin();
    return ticks.map((tick) => {
      if (tick.job !== null && this.#jobs.get(tick.job.id) !== undefined) return "ticked";
      if (!this.#schedules.takeTick(tick, now)) return "stale";
      if (tick.job === null) return "ticked";
      const { kind } = this.#jobs.insert(tick.job, now);
      if (kind === "created") this.#schedules.setLastJob(tick.name, tick.job.id);
      return kind === "full" ? "full" : "ticked";
    });
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async register(worker: WorkerEntry, ttlMs: number): Promise<void> {
    this.#workers.register(worker, ttlMs, this.#begin());
  }

  async unregister(workerId: string): Promise<void> {
    this.#begin();
    this.#workers.unregister(workerId);
  }

  async workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
    return this.#workers.living(this.#begin());
  }

  // ── Allowances ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async spend(spends: readonly Spend[]): Promise<Spent[]> {
    const now = this.#begin();
    return spends.map((spend) => this.#allowances.spend(spend, now));
  }

  // ── Marks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async mark(name: string, ttlMs: number): Promise<void> {
    this.#marks.set(name, this.#begin() + ttlMs);
  }

  async marked(names: readonly string[]): Promise<boolean[]> {
    const now = this.#begin();
    return names.map((name) => this.#marks.has(name, now));
  }

  // ── Feed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  watch(listener: (hint: Hint) => void): () => void {
    return this.#feed.watch(listener);
  }

  async publish(events: readonly Event[]): Promise<void> {
    this.#begin();
    this.#feed.publish(events);
  }

  newsWanted(): boolean {
    return this.#feed.newsWanted();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#feed.listen(listener);
  }

  // ── Others ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  within(_tx: unknown): TransactionVerbs | null {
    return null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#feed.close();
  }

  /** The store's now, for a verb that begins; refuses after close. */
  #begin(): number {
    if (this.#isClosed) throw new MillraceError("closed", "the client is closed");
    return this.#time.now();
  }
}

function isPastKeep(agoMs: number, kept: number, rule: PruneRule): boolean {
  return agoMs >= rule.keepAtLeastMs && (agoMs > rule.ageMs || kept > rule.count);
}

function untilNext(at: number | null | undefined, now: number): number | null {
  return at === undefined || at === null ? null : Math.max(0, at - now);
}
