import type { Spend, Spent } from "../../core/allowance.ts";
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
import { spendShares } from "./allowances.ts";
import type { Context } from "./context.ts";
import type { Driver } from "./driver.ts";
import { EvictionWatch } from "./eviction-watch.ts";
import { exchange, extendLeases, writeNotes } from "./exchange.ts";
import { RedisFeed } from "./feed.ts";
import { groupErrors } from "./groups.ts";
import { insertJobs } from "./insert.ts";
import { openIoredis } from "./ioredis-driver.ts";
import { Keys } from "./keys.ts";
import { countMatches, listJobs } from "./list.ts";
import { attemptsOf, changeJobs, findJobs, logsOf, removeJobs } from "./manage.ts";
import { readMarks, setMark } from "./marks.ts";
import { QueueRegistry } from "./queue-registry.ts";
import {
  configureQueue,
  countAhead,
  livingWorkers,
  oldestPending,
  queueStates,
  readCounters,
  registerWorker,
  rerankJobs,
  unregisterWorker,
} from "./queues.ts";
import { checkServer } from "./requirements.ts";
import { dueSchedules, findSchedules, putSchedule, removeSchedule, takeTicks } from "./schedules.ts";
import { Session } from "./session.ts";
import { expiredJobs, promoteJobs, pruneJobs, sweep } from "./upkeep.ts";
import { parseRedisUrl, placeOf } from "./url.ts";

export interface RedisStoreOptions {
  readonly clock: Clock;
  /** How long a call may wait for the server before it fails with `store_unavailable`. */
  readonly deadlineMs: number;
  /** Give up soon while the server refuses connections. */
  readonly impatient?: boolean | undefined;
  /** Told what a person should know about the server. Default: nobody. */
  readonly onWarning?: (message: string) => void;
  /** Another client than ioredis. */
  readonly driver?: Driver;
}

/** A connection that owes an answer for so long is taken for dead; a call lives twice as long at least, to be made again on another. */
const LONGEST_SILENCE_MS = 5_000;

/** Opens the server or Cluster of a `redis:` or `rediss:` URL. Waits for it up to the deadline. */
export async function openRedisStore(url: string, options: RedisStoreOptions): Promise<Store> {
  const parsed = parseRedisUrl(url);
  const driver = options.driver ?? (await openIoredis(parsed, Math.min(LONGEST_SILENCE_MS, options.deadlineMs / 2)));
  const refusedMs = options.impatient === true ? REFUSED_AT_OPENING_MS : Infinity;
  const session = new Session(driver, { ...options, place: placeOf(parsed), refusedMs });
  try {
    await checkServer(session, options.onWarning ?? (() => {}));
  } catch (error) {
    driver.close();
    throw error;
  }
  const eviction = new EvictionWatch(driver, options.clock, options.onWarning ?? (() => {}));
  eviction.start();
  const keys = new Keys(parsed.prefix);
  const feed = new RedisFeed(session, keys, parsed.cluster);
  await feed.ready();
  return new RedisStore({ session, keys, feed, registry: new QueueRegistry(session, keys) }, eviction);
}

/** The contract on Redis. Each verb is a script or a few, one for each partition that it touches (see keys.ts). */
class RedisStore implements Store {
  readonly inFlight = 2;
  readonly shareable = true;
  readonly #context: Context;
  readonly #session: Session;
  readonly #eviction: EvictionWatch;
  #closing: Promise<void> | null = null;

  constructor(context: Context, eviction: EvictionWatch) {
    this.#context = context;
    this.#eviction = eviction;
    this.#session = context.session;
  }

  insert(jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
    return this.#session.carry(() => {
      this.#eviction.refuse();
      return insertJobs(this.#context, jobs);
    });
  }

  exchange(settlements: readonly Settlement[], claims: readonly Claim[]): Promise<{ settled: LeaseAnswer[]; claimed: LeasedRecord[][] }> {
    return this.#session.carry(() => {
      if (claims.length > 0) this.#eviction.refuse();
      return exchange(this.#context, settlements, claims);
    });
  }

  extend(leases: readonly (Lease & { readonly leaseMs: number })[]): Promise<LeaseAnswer[]> {
    return this.#session.carry(() => extendLeases(this.#context, leases));
  }

  note(notes: readonly Note[]): Promise<LeaseAnswer[]> {
    return this.#session.carry(() => writeNotes(this.#context, notes));
  }

  change(ids: readonly string[], move: Move): Promise<ChangeAnswer[]> {
    return this.#session.carry(() => changeJobs(this.#context, ids, move));
  }

  remove(ids: readonly string[], from: readonly Status[]): Promise<ChangeAnswer[]> {
    return this.#session.carry(() => removeJobs(this.#context, ids, from));
  }

  find(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    return this.#session.carry(() => findJobs(this.#context, ids));
  }

  list(query: ListQuery): ReturnType<Store["list"]> {
    return this.#session.carry(() => listJobs(this.#context, query));
  }

  errorGroups(query: GroupQuery): ReturnType<Store["errorGroups"]> {
    return this.#session.carry(() => groupErrors(this.#context, query));
  }

  count(filter: Filter): Promise<{ count: number; isCapped: boolean }> {
    return this.#session.carry(() => countMatches(this.#context, filter));
  }

  attempts(id: string): Promise<Attempt[]> {
    return this.#session.carry(() => attemptsOf(this.#context, id));
  }

  logs(id: string, after: number, limit: number): Promise<LogLine[]> {
    return this.#session.carry(() => logsOf(this.#context, id, after, limit));
  }

  promote(limit: number, tell = false): Promise<Promoted> {
    return this.#session.carry(() => promoteJobs(this.#context, limit, tell));
  }

  expired(limit: number): Promise<{ jobs: ExpiredRecord[]; nextInMs: number | null }> {
    return this.#session.carry(() => expiredJobs(this.#context, limit));
  }

  prune(rules: readonly PruneRule[], limit: number): Promise<{ removed: number }> {
    return this.#session.carry(async () => ({ removed: await pruneJobs(this.#context, rules, limit) }));
  }

  sweep(keep: { minutesMs: number; hoursMs: number }, limit: number): Promise<{ removed: number }> {
    return this.#session.carry(async () => ({ removed: await sweep(this.#context, keep, limit) }));
  }

  queues(): Promise<QueueState[]> {
    return this.#session.carry(() => queueStates(this.#context));
  }

  configure(queue: string, change: QueueChange): Promise<void> {
    return this.#session.carry(() => configureQueue(this.#context, queue, change));
  }

  rerank(queue: string, limit: number): Promise<boolean> {
    return this.#session.carry(() => rerankJobs(this.#context, queue, limit));
  }

  oldest(): Promise<{ now: number; queues: OldestPending[] }> {
    return this.#session.carry(async () => {
      const [now, queues] = await Promise.all([this.#session.now(), oldestPending(this.#context)]);
      return { now, queues };
    });
  }

  ahead(id: string, types: readonly string[] | "*", most: number): Promise<number | null> {
    return this.#session.carry(() => countAhead(this.#context, id, types, most));
  }

  counters(query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
    return this.#session.carry(async () => {
      const [now, rows] = await Promise.all([this.#session.now(), readCounters(this.#context, query)]);
      return { now, rows };
    });
  }

  schedules(names: readonly string[] | "all"): Promise<{ now: number; schedules: ScheduleRecord[] }> {
    return this.#session.carry(() => findSchedules(this.#context, names));
  }

  putSchedule(spec: ScheduleSpec, nextTick: number | null, expected: number | null): Promise<boolean> {
    return this.#session.carry(() => putSchedule(this.#context, spec, nextTick, expected));
  }

  removeSchedule(name: string): Promise<boolean> {
    return this.#session.carry(() => removeSchedule(this.#context, name));
  }

  dueSchedules(limit: number): Promise<{ now: number; schedules: ScheduleRecord[]; nextInMs: number | null }> {
    return this.#session.carry(() => dueSchedules(this.#context, limit));
  }

  tick(ticks: readonly Tick[]): Promise<("ticked" | "stale" | "full")[]> {
    return this.#session.carry(() => {
      this.#eviction.refuse();
      return takeTicks(this.#context, ticks);
    });
  }

  register(worker: WorkerEntry, ttlMs: number): Promise<void> {
    return this.#session.carry(() => registerWorker(this.#context, worker, ttlMs));
  }

  unregister(workerId: string): Promise<void> {
    return this.#session.carry(() => unregisterWorker(this.#context, workerId));
  }

  workers(): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
    return this.#session.carry(() => livingWorkers(this.#context));
  }

  spend(spends: readonly Spend[]): Promise<Spent[]> {
    return this.#session.carry(() => spendShares(this.#context, spends));
  }

  mark(name: string, ttlMs: number): Promise<void> {
    return this.#session.carry(() => setMark(this.#context, name, ttlMs));
  }

  marked(names: readonly string[]): Promise<boolean[]> {
    return this.#session.carry(() => readMarks(this.#context, names));
  }

  watch(listener: (hint: Hint) => void): () => void {
    return this.#context.feed.watch(listener);
  }

  publish(events: readonly Event[]): Promise<void> {
    return this.#session.carry(() => this.#context.feed.publish(events));
  }

  newsWanted(): boolean {
    return this.#context.feed.newsWanted();
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#context.feed.listen(listener);
  }

  /** No transaction of the caller's could hold what a script does. */
  within(_tx: unknown): TransactionVerbs | null {
    return null;
  }

  close(giveUp?: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(giveUp);
    return this.#closing;
  }

  async #close(giveUp: AbortSignal | undefined): Promise<void> {
    this.#eviction.stop();
    await this.#session.close(giveUp);
    this.#context.feed.close();
    this.#session.driver.close();
  }
}
