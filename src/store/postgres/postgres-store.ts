import type { Spend, Spent } from "../../core/allowance.ts";
import { MillraceError } from "../../core/errors.ts";
import type { Event } from "../../core/event.ts";
import type { Filter } from "../../core/filter.ts";
import type { Attempt, JobRecord, LogLine, NewJob, Status } from "../../core/job.ts";
import type { Move } from "../../core/lifecycle.ts";
import type { QueueChange } from "../../core/queue.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import { REFUSED_AT_OPENING_MS } from "../../core/work-limits.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { Clock } from "../../lib/clock.ts";
import type {
  ChangeAnswer,
  Claim,
  CounterQuery,
  CounterRow,
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
import { spendShares } from "./allowances.ts";
import { Catalog } from "./catalog.ts";
import { CommitWatch } from "./commit-watch.ts";
import { Connections } from "./connections.ts";
import type { Desk } from "./desk.ts";
import { type Driver, loadDriver } from "./driver.ts";
import { DueFloor } from "./due-floor.ts";
import { Exchanger } from "./exchange.ts";
import { PostgresFeed } from "./feed.ts";
import { Floors } from "./floors.ts";
import { groupErrors } from "./groups.ts";
import { Housekeeping } from "./housekeeping.ts";
import { Inserter } from "./insert.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJobs, findJobs, logsOf, removeJobs } from "./manage.ts";
import { readMarks, setMark } from "./marks.ts";
import { migrate } from "./migrations.ts";
import { configureQueue, countAhead, oldestPending, queueStates, readCounters } from "./queues.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTicks } from "./schedules.ts";
import { hotStatements, statementsFor } from "./statements.ts";
import { expiredJobs, promoteJobs, pruneJobs, sweepStore } from "./upkeep.ts";
import { parsePostgresUrl } from "./url.ts";
import { verbsWithin } from "./within.ts";
import { liveWorkers, registerWorker, unregisterWorker } from "./workers.ts";

export interface PostgresStoreOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The most connections in the pool; beats and the feed have one each beside it. */
  readonly poolSize?: number | undefined;
  /** Told each time that a call met a row that another process holds. */
  readonly onLocked?: (() => void) | undefined;
  /** Give up soon while the server refuses connections. */
  readonly impatient?: boolean | undefined;
  /** Rules the store's time, in tests only: otherwise it is the server's. */
  readonly testTime?: () => number;
  /** Instead of the installed package `pg`. */
  readonly driver?: Driver;
}

const POOL_SIZE = 10;

/** Opens the store of a `postgres:` URL; its schema is made or brought to its newest first. */
export async function openPostgresStore(url: string, options: PostgresStoreOptions): Promise<Store> {
  const address = parsePostgresUrl(url);
  const driver = options.driver ?? (await loadDriver());
  const { clock, deadlineMs, poolSize = POOL_SIZE, onLocked } = options;
  const refusedMs = options.impatient === true ? REFUSED_AT_OPENING_MS : Infinity;
  const connections = new Connections({ driver, address, clock, deadlineMs, poolSize, refusedMs, onLocked });
  try {
    await migrate(connections, address.schema);
    const [row] = await connections.call("select current_database()");
    return new PostgresStore(connections, address.schema, row![0] as string, options);
  } catch (error) {
    await connections.close();
    throw error;
  }
}

/** The contract on a PostgreSQL server. Each verb is one call of a function there, or one statement. */
class PostgresStore implements Store {
  readonly inFlight = 2;
  readonly shareable = true;
  readonly #desk: Desk;
  readonly #feed: PostgresFeed;
  readonly #inserter: Inserter;
  readonly #exchanger: Exchanger;
  readonly #commits: CommitWatch;
  readonly #database: string;
  #underWay = 0;
  #whenIdle: () => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(connections: Connections, schema: string, database: string, options: PostgresStoreOptions) {
    const { clock, testTime } = options;
    const sql = statementsFor(schema);
    connections.prepare(hotStatements(sql));
    const now = testTime === undefined ? () => null : testTime;
    const catalog = new Catalog(connections, sql);
    this.#database = database;
    this.#feed = new PostgresFeed({ connections, sql, clock, channel: schema, now });
    this.#desk = {
      connections,
      sql,
      catalog,
      housekeeping: new Housekeeping(connections, sql),
      floors: new Floors(),
      dueFloor: new DueFloor(),
      now,
      ring: (hints) => this.#feed.ring(hints),
      ringQueues: (ids) => {
        // A hint that is lost costs a delay.
        catalog.queueNames(ids).then(
          (names) => this.#feed.ring(names.map((queue) => ({ topic: "work", queue }))),
          () => {},
        );
      },
    };
    this.#commits = new CommitWatch({
      connections,
      sql,
      onCommit: (hints) => {
        this.#desk.housekeeping.wrote(0);
        this.#feed.ring(hints);
      },
    });
    this.#inserter = new Inserter(this.#desk);
    this.#exchanger = new Exchanger(this.#desk);
  }

  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    return this.#do(() => this.#inserter.insert(jobs));
  }

  exchange(settlements: readonly Settlement[], claims: readonly Claim[]): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    return this.#do(() => this.#exchanger.exchange(settlements, claims));
  }

  extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
    return this.#do(() => this.#exchanger.extend(leases));
  }

  note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    return this.#do(() => this.#exchanger.note(notes));
  }

  change(ids: readonly string[], move: Move): Promise<ChangeAnswer[]> {
    return this.#do(() => changeJobs(this.#desk, ids, move));
  }

  remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
    return this.#do(() => removeJobs(this.#desk, ids, from));
  }

  find(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    return this.#do(() => findJobs(this.#desk, ids));
  }

  list(query: ListQuery): ReturnType<Store["list"]> {
    return this.#do(() => listJobs(this.#desk, query));
  }

  errorGroups(query: GroupQuery): ReturnType<Store["errorGroups"]> {
    return this.#do(() => groupErrors(this.#desk, query));
  }

  count(filter: Filter): Promise<{ count: number; isCapped: boolean }> {
    return this.#do(() => countMatches(this.#desk, filter));
  }

  attempts(id: string): Promise<Attempt[]> {
    return this.#do(() => attemptsOf(this.#desk, id));
  }

  logs(id: string, after: number, limit: number): Promise<LogLine[]> {
    return this.#do(() => logsOf(this.#desk, id, after, limit));
  }

  promote(limit: number, tell = false): Promise<Promoted> {
    return this.#do(() => promoteJobs(this.#desk, limit, tell));
  }

  expired(limit: number): ReturnType<Store["expired"]> {
    return this.#do(() => expiredJobs(this.#desk, limit));
  }

  prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
    return this.#do(async () => ({ removed: await pruneJobs(this.#desk, rules, limit) }));
  }

  sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }> {
    return this.#do(async () => ({ removed: await sweepStore(this.#desk, keep, limit) }));
  }

  queues(): Promise<QueueState[]> {
    return this.#do(() => queueStates(this.#desk));
  }

  configure(queue: string, change: QueueChange): Promise<void> {
    return this.#do(() => configureQueue(this.#desk, queue, change));
  }

  /** Nothing to do: a claim adds the head start of its moment when it merges lanes. */
  rerank(_queue: string, _limit: number): Promise<boolean> {
    return this.#do(async () => false);
  }

  oldest(): Promise<{ now: number; queues: OldestPending[] }> {
    return this.#do(() => oldestPending(this.#desk));
  }

  ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null> {
    return this.#do(() => countAhead(this.#desk, id, types, most));
  }

  counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
    return this.#do(() => readCounters(this.#desk, query));
  }

  schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }> {
    return this.#do(() => findSchedules(this.#desk, names));
  }

  putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean> {
    return this.#do(() => putSchedule(this.#desk, spec, nextTick, expected));
  }

  removeSchedule(name: string): Promise<boolean> {
    return this.#do(() => removeSchedule(this.#desk, name));
  }

  dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
    return this.#do(() => dueSchedules(this.#desk, limit));
  }

  tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
    return this.#do(() => takeTicks(this.#desk, ticks));
  }

  register(worker: WorkerEntry, ttlMs: number): Promise<void> {
    return this.#do(() => registerWorker(this.#desk, worker, ttlMs));
  }

  unregister(workerId: string): Promise<void> {
    return this.#do(() => unregisterWorker(this.#desk, workerId));
  }

  workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
    return this.#do(() => liveWorkers(this.#desk));
  }

  spend(spends: readonly Spend[]): Promise<Spent[]> {
    return this.#do(() => spendShares(this.#desk, spends));
  }

  mark(name: string, ttlMs: number): Promise<void> {
    return this.#do(() => setMark(this.#desk, name, ttlMs));
  }

  marked(names: readonly string[]): Promise<boolean[]> {
    return this.#do(() => readMarks(this.#desk, names));
  }

  within(tx: unknown): TransactionVerbs {
    return verbsWithin(this.#desk, this.#commits, tx, this.#database);
  }

  watch(listener: (hint: Hint) => void): () => void {
    return this.#feed.watch(listener);
  }

  publish(events: readonly Event[]): Promise<void> {
    return this.#do(() => this.#feed.publish(events));
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
    if (giveUp !== undefined) this.#desk.connections.giveUpAt(giveUp);
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    await this.#commits.close();
    await this.#feed.close();
    await this.#desk.housekeeping.close();
    await this.#desk.connections.close();
  }

  /** Runs a verb, which may take several steps: close lets it come to its end. */
  async #do<Answer>(verb: () => Promise<Answer>): Promise<Answer> {
    if (this.#closing !== null) throw new MillraceError("closed", "the client is closed");
    this.#underWay++;
    try {
      return await verb();
    } finally {
      if (--this.#underWay === 0) this.#whenIdle();
    }
  }
}
