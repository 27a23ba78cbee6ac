import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Spend, Spent } from "../../core/allowance.ts";
import type { Event } from "../../core/event.ts";
import type { Filter } from "../../core/filter.ts";
import type { Attempt, JobRecord, LogLine, NewJob, Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import type { QueueChange } from "../../core/queue.ts";
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
} from "../store.ts";
import { spendShare } from "./allowances.ts";
import { Catalog } from "./catalog.ts";
import { idToBlob, laneOf, readJob, readLogLine } from "./codec.ts";
import { Connection } from "./connection.ts";
import { openDatabase } from "./database.ts";
import { claimJobs, extendLease, isDurable, settleJob, writeNote } from "./exchange.ts";
import { SqliteFeed } from "./feed.ts";
import { FileTime } from "./file-time.ts";
import { GrantedLeases } from "./granted-leases.ts";
import { groupErrors } from "./groups.ts";
import { insertJob } from "./insert.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJob, removeJob } from "./manage.ts";
import { configureQueue, queueStates, readCounters } from "./queues.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTick } from "./schedules.ts";
import { DELETE_WORKER, FACTS_OF_JOB, FIND_JOB, LIVE_WORKERS, PUT_MARK, PUT_WORKER, READ_MARK, READ_LOGS } from "./statements.ts";
import { expiredJobs, promoteJobs, pruneJobs, rerankJobs, sweep } from "./upkeep.ts";
import { parseSqliteUrl } from "./url.ts";
import { countAhead, oldestPending } from "./waiting.ts";
import { CallersTransactions } from "./within.ts";
import { Writer } from "./writer.ts";

/** Opens (and makes, if need be) the file of a `sqlite:` URL. */
export async function openSqliteStore(
  url: string,
  options: { clock: Clock; deadlineMs: number; sqliteVersion?: string; onLocked?: (() => void) | undefined },
): Promise<Store> {
  const { path, synchronous } = parseSqliteUrl(url);
  const opened = await openDatabase({ path, synchronous, sqliteVersion: options.sqliteVersion ?? process.versions.sqlite ?? "0" });
  return new SqliteStore(opened.db, {
    ...options,
    path: resolve(path),
    fullSync: synchronous === "full",
    shareable: opened.shareable,
    release: opened.release,
  });
}

interface SqliteStoreOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly fullSync: boolean;
  readonly shareable: boolean;
  readonly release: () => void;
  readonly onLocked?: (() => void) | undefined;
}

/** The contract on one file. Each verb is a few statements inside the transaction of its tick (see writer.ts). */
export class SqliteStore implements Store {
  readonly inFlight = 1;
  readonly shareable: boolean;
  readonly #on: Connection;
  readonly #time: FileTime;
  readonly #catalog: Catalog;
  readonly #writer: Writer;
  readonly #feed: SqliteFeed;
  readonly #callers: CallersTransactions;
  readonly #granted = new GrantedLeases();
  readonly #release: () => void;
  #closing: Promise<void> | null = null;

  constructor(db: DatabaseSync, options: SqliteStoreOptions) {
    this.shareable = options.shareable;
    this.#release = options.release;
    this.#on = new Connection(db);
    this.#time = new FileTime(this.#on, options.clock);
    this.#catalog = new Catalog(this.#on);
    this.#writer = new Writer(this.#on, {
      clock: options.clock,
      time: this.#time,
      catalog: this.#catalog,
      deadlineMs: options.deadlineMs,
      fullSync: options.fullSync,
      onCommit: (hints) => this.#feed.committed(hints),
      onLocked: options.onLocked,
    });
    this.#feed = new SqliteFeed(this.#on, this.#writer, this.#time);
    this.#callers = new CallersTransactions(options.path, options.clock, options.shareable);
  }

  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    return this.#writer.write((tx) => jobs.map((job) => insertJob(tx, job)));
  }

  exchange(settlements: readonly Settlement[], claims: readonly Claim[]): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    return this.#writer.run(isDurable(settlements, claims), (tx) => ({
      settled: settlements.map((settlement) => settleJob(tx, settlement, this.#granted)),
      claimed: claims.map((claim) => claimJobs(tx, claim, this.#granted)),
    }));
  }

  extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
    return this.#writer.writeSoftly((tx) => leases.map((lease) => extendLease(tx, lease)));
  }

  note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    return this.#writer.writeSoftly((tx) => notes.map((note) => writeNote(tx, note)));
  }

  change(ids: readonly string[], move: Move): Promise<ChangeAnswer[]> {
    return this.#writer.write((tx) => ids.map((id) => changeJob(tx, id, move)));
  }

  remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
    return this.#writer.write((tx) => ids.map((id) => removeJob(tx, id, from)));
  }

  find(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    return this.#writer.read(() =>
      ids.map((id) => {
        const row = this.#on.get(FIND_JOB, idToBlob(id));
        return row === undefined ? null : readJob(row, this.#catalog.namesOf(laneOf(row)));
      }),
    );
  }

  list(query: ListQuery): ReturnType<Store["list"]> {
    return this.#look(() => listJobs(this.#on, this.#catalog, query));
  }

  errorGroups(query: GroupQuery): ReturnType<Store["errorGroups"]> {
    return this.#look(() => groupErrors(this.#on, this.#catalog, query));
  }

  count(filter: Filter): Promise<{ count: number; isCapped: boolean }> {
    return this.#look(() => countMatches(this.#on, this.#catalog, filter));
  }

  attempts(id: string): Promise<Attempt[]> {
    return this.#writer.read(() => attemptsOf(this.#on, id));
  }

  logs(id: string, after: number, limit: number): Promise<LogLine[]> {
    return this.#writer.read(() => {
      const seq = this.#on.number(FACTS_OF_JOB, idToBlob(id));
      return seq === null ? [] : this.#on.all(READ_LOGS, seq, after, limit).map(readLogLine);
    });
  }

  promote(limit: number, tell = false): Promise<Promoted> {
    return this.#writer.writeSoftly((tx) => promoteJobs(tx, limit, tell));
  }

  expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null }> {
    return this.#look(() => expiredJobs(this.#on, this.#catalog, this.#time.peek(), limit));
  }

  prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
    return this.#writer.writeSoftly((tx) => ({ removed: pruneJobs(tx, rules, limit) }));
  }

  sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }> {
    return this.#writer.writeSoftly((tx) => ({ removed: sweep(tx, keep, limit) }));
  }

  queues(): Promise<QueueState[]> {
    return this.#look(() => queueStates(this.#on, this.#catalog));
  }

  configure(queue: string, change: QueueChange): Promise<void> {
    return this.#writer.write((tx) => configureQueue(tx, queue, change));
  }

  rerank(queue: string, limit: number): Promise<boolean> {
    return this.#writer.writeSoftly((tx) => rerankJobs(tx, queue, limit));
  }

  oldest(): Promise<{ now: number; queues: OldestPending[] }> {
    return this.#look(() => ({ now: this.#time.peek(), queues: oldestPending(this.#on, this.#catalog) }));
  }

  ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null> {
    return this.#look(() => countAhead(this.#on, this.#catalog, id, types, most));
  }

  counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
    return this.#look(() => ({ now: this.#time.peek(), rows: readCounters(this.#on, this.#catalog, query) }));
  }

  schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }> {
    return this.#look(() => ({ now: this.#time.peek(), schedules: findSchedules(this.#on, names) }));
  }

  putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean> {
    return this.#writer.write((tx) => putSchedule(tx, spec, nextTick, expected));
  }

  removeSchedule(name: string): Promise<boolean> {
    return this.#writer.write((tx) => removeSchedule(tx, name));
  }

  dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
    return this.#look(() => {
      const now = this.#time.peek();
      return { now, ...dueSchedules(this.#on, now, limit) };
    });
  }

  tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
    return this.#writer.write((tx) => ticks.map((tick) => takeTick(tx, tick)));
  }

  async register(worker: WorkerEntry, ttlMs: number): Promise<void> {
    await this.#writer.writeSoftly((tx) => tx.on.run(PUT_WORKER, worker.id, JSON.stringify(worker), tx.now, tx.now + ttlMs));
  }

  async unregister(workerId: string): Promise<void> {
    await this.#writer.writeSoftly((tx) => tx.on.run(DELETE_WORKER, workerId));
  }

  workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
    return this.#writer.read(() =>
      this.#on
        .all(LIVE_WORKERS, this.#time.peek())
        .map(([entry, heartbeatAt]) => ({ ...(JSON.parse(entry as string) as WorkerEntry), heartbeatAt: heartbeatAt as number })),
    );
  }

  spend(spends: readonly Spend[]): Promise<Spent[]> {
    return this.#writer.writeSoftly((tx) => spends.map((spend) => spendShare(tx, spend)));
  }

  async mark(name: string, ttlMs: number): Promise<void> {
    await this.#writer.write((tx) => tx.on.run(PUT_MARK, name, tx.now + ttlMs));
  }

  marked(names: readonly string[]): Promise<boolean[]> {
    return this.#writer.read(() => {
      const now = this.#time.peek();
      return names.map((name) => (this.#on.number(READ_MARK, name) ?? now) > now);
    });
  }

  within(tx: unknown): TransactionVerbs {
    return this.#callers.verbs(tx);
  }

  watch(listener: (hint: Hint) => void): () => void {
    return this.#feed.watch(listener);
  }

  publish(events: readonly Event[]): Promise<void> {
    return this.#feed.publish(events);
  }

  newsWanted(): boolean {
    return this.#feed.newsWanted();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#feed.listen(listener);
  }

  close(giveUp?: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(giveUp);
    return this.#closing;
  }

  async #close(giveUp: AbortSignal | undefined): Promise<void> {
    await this.#writer.close(giveUp);
    this.#feed.close();
    this.#on.db.close();
    this.#release();
  }

  /** A read that needs settings: they are looked up anew, like at the start of a transaction. */
  #look<Answer>(read: () => Answer): Promise<Answer> {
    return this.#writer.read(() => {
      this.#catalog.forgetSettings();
      return read();
    });
  }
}
