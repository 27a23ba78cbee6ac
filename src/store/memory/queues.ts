import { type Status, STATUSES, WAITING } from "../../core/job.ts";
import { changeSettings, QUEUE_DEFAULTS, type QueueChange, type QueueSettings } from "../../core/queue.ts";
import { LEVELS, STATE, tallyCell } from "../numbers.ts";
import type { CounterQuery, CounterRow, OldestPending, QueueState } from "../store.ts";
import type { Context } from "./context.ts";
import type { Key } from "./keys.ts";
import { JobsByFacet } from "./jobs-by-facet.ts";
import { LimitKeys } from "./limit-keys.ts";
import { Lanes } from "./lanes.ts";
import { QueueCounters } from "./counters.ts";
import { Line } from "./line.ts";
import type { RateState } from "../../core/rate.ts";
import type { StoredJob } from "./stored-job.ts";
import { Turns } from "./turns.ts";

/** The data of one queue. */
export class StoredQueue {
  readonly name: string;
  settings: QueueSettings = QUEUE_DEFAULTS;
  paused = false;
  /** Pending jobs without a limit key, and those with one. */
  readonly lanes = new Lanes<StoredJob>();
  readonly turns = new Turns();
  readonly limitKeys = new LimitKeys();
  /** The weight of the jobs without a limit key, as core/limits.ts stores it. */
  limitsWithoutKey: string | null = null;
  /** What the rate of the queue remembers. */
  rate: RateState | null = null;
  /** How many claims took turns: see take.ts. */
  claims = 0;
  /** Completed and cancelled jobs, the earliest ended first. */
  readonly ended = new Line<StoredJob>();
  readonly keys = new Map<string, Key>();
  readonly byFacet = new JobsByFacet();
  readonly counters: QueueCounters;
  /** How many jobs there are by status and level. */
  readonly #tallies: number[] = STATUSES.flatMap(() => LEVELS.map(() => 0));

  constructor(name: string) {
    this.name = name;
    this.counters = new QueueCounters(name);
  }

  /** Changes the named settings. An undefined value counts as not named. */
  configure(change: QueueChange): void {
    this.settings = changeSettings(this.settings, change);
    this.paused = change.paused ?? this.paused;
    if (change.limits !== undefined) this.reconsider();
  }

  tally(status: Status, level: number, change: 1 | -1): void {
    this.#tallies[tallyCell(STATE[status], level)]! += change;
  }

  get running(): number {
    return this.#sum("running");
  }

  addPending(job: StoredJob): void {
    if (job.record.limitKey === null) this.lanes.add(job);
    else this.turns.add(job);
  }

  removePending(job: StoredJob): void {
    if (job.record.limitKey === null) this.lanes.remove(job);
    else this.turns.remove(job);
  }

  /** Looks at all keys again: a limit changed. */
  reconsider(): void {
    for (const key of this.limitKeys.all()) this.turns.reconsider(key);
  }

  /** Only a queue with a capacity computes the sum. */
  isFull(): boolean {
    const { capacity } = this.settings;
    if (capacity === null) return false;
    let waiting = 0;
    for (const status of WAITING) waiting += this.#sum(status);
    return waiting >= capacity;
  }

  /** Whether it has jobs in one of these statuses. */
  hasAny(statuses: readonly Status[]): boolean {
    return statuses.some((status) => LEVELS.some((_, level) => this.#count(status, level) > 0));
  }

  state(): QueueState {
    const counts = STATUSES.flatMap((status) => LEVELS.map((level, number) => ({ status, level, count: this.#count(status, number) })));
    const { name, settings, paused } = this;
    return { name, settings: structuredClone(settings), paused, counts: counts.filter(({ count }) => count > 0) };
  }

  #sum(status: Status): number {
    let sum = 0;
    for (const level of LEVELS.keys()) sum += this.#count(status, level);
    return sum;
  }

  #count(status: Status, level: number): number {
    return this.#tallies[tallyCell(STATE[status], level)]!;
  }
}

export function queueStates({ jobs }: Context): QueueState[] {
  return Array.from(jobs.queues.values(), (queue) => queue.state());
}

export function configureQueue({ jobs, feed }: Context, queue: string, change: QueueChange): void {
  jobs.queueOf(queue).configure(change);
  feed.sendHint("queues");
}

export function oldestPending({ jobs, now }: Context): { now: number; lanes: OldestPending[] } {
  return { now, lanes: [...jobs.queues.values()].flatMap((queue) => oldestOf(queue).map((head) => ({ queue: queue.name, ...head }))) };
}

function oldestOf({ lanes, turns }: StoredQueue): { readonly type: string; readonly runAt: number }[] {
  const oldest = new Map(lanes.oldest().map(({ type, runAt }) => [type, runAt]));
  for (const { type, lines } of turns.of("*")) {
    for (const { first } of lines.values()) {
      if (first !== undefined) oldest.set(type, Math.min(first.order, oldest.get(type) ?? Infinity));
    }
  }
  return Array.from(oldest, ([type, runAt]) => ({ type, runAt }));
}

export function countAhead({ jobs }: Context, id: string, types: readonly string[] | "*", most: number): number | null {
  const job = jobs.get(id);
  if (job === undefined || job.record.status !== "pending") return null;
  const { lanes, turns, settings } = job.queue;
  const count = lanes.countBefore(job, types, settings.headStartMs, most);
  return Math.min(most, count + turns.countBefore(job, types, settings.headStartMs, most));
}

export function readCounters({ counters, now }: Context, query: CounterQuery): { now: number; rows: CounterRow[] } {
  return { now, rows: counters.read(query) };
}
