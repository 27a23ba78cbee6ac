/**
 * LONG POLLS wait for work. Polls that would take the same jobs form a group. A hint wakes only the first of a group, and a poll that got
 * all it could take wakes the next: a new job costs one claim per group, however many wait. Hints may be lost, so each group is also woken
 * once a second, and when a job may start that waits for a rate or a held limit key, if its last claim was told so.
 */
import type { LeasedJob, WorkerClient } from "../client/client.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { EarliestTimer } from "../lib/earliest-timer.ts";

const LOOK_AGAIN_MS = 1000;

/** What a claim brought. */
export interface Claimed {
  readonly jobs: LeasedJob[];
  /** When a job may start that waits for a limit; null if none waits for time. */
  readonly againInMs: number | null;
}

/** A request that waits for jobs. */
export interface LongPoll {
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  /** Tries to get jobs. */
  readonly claim: () => Promise<Claimed>;
}

interface WaitingPoll {
  readonly poll: LongPoll;
  readonly resolve: (claimed: Claimed) => void;
  readonly reject: (error: unknown) => void;
  /** Its claim is running. The jobs that it gets need a receiver, so the poll cannot end before. */
  isAsking: boolean;
  isOver: boolean;
}

interface PollGroup {
  readonly queues: ReadonlySet<string>;
  readonly polls: Set<WaitingPoll>;
  isAsking: boolean;
  /** A hint came during a claim, which may have missed the job. */
  isWoken: boolean;
  /** When the next of its jobs may start that waits for a limit. */
  readonly again: EarliestTimer;
}

export class LongPolls {
  readonly #leases: WorkerClient["leases"];
  readonly #clock: Clock;
  readonly #groups = new Map<string, PollGroup>();
  #unwatch: (() => void) | null = null;
  #timer: Timer | null = null;

  constructor({ leases }: Pick<WorkerClient, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Waits until the poll gets jobs; returns none after `waitMs`, or when `ending` aborts. `first`: what its first claim brought. */
  async wait(poll: LongPoll, first: Claimed, waitMs: number, ending: AbortSignal): Promise<Claimed> {
    if (ending.aborted) return first;
    const { promise, resolve, reject } = Promise.withResolvers<Claimed>();
    const waiting: WaitingPoll = { poll, resolve, reject, isAsking: false, isOver: false };
    const group = this.#add(waiting);
    if (first.againInMs !== null) group.again.set(first.againInMs);
    const giveUp = (): void => {
      waiting.isOver = true;
      if (!waiting.isAsking) resolve({ jobs: [], againInMs: group.again.leftMs });
    };
    const timer = this.#clock.setTimer(giveUp, waitMs);
    ending.addEventListener("abort", giveUp);
    try {
      return await promise;
    } finally {
      timer.cancel();
      ending.removeEventListener("abort", giveUp);
      this.#remove(group, waiting);
    }
  }

  #add(waiting: WaitingPoll): PollGroup {
    const { queues, types } = waiting.poll;
    const name = JSON.stringify([queues, types]);
    const group = this.#groups.get(name) ?? this.#makeGroup(name, queues);
    group.polls.add(waiting);
    this.#unwatch ??= this.#leases.watch((hint) => {
      if (hint.topic === "work") for (const each of this.#groups.values()) if (serves(each, hint.queue)) void this.#wake(each);
    });
    if (this.#timer === null) this.#lookLater();
    return group;
  }

  #makeGroup(name: string, queues: readonly string[]): PollGroup {
    const again = new EarliestTimer(this.#clock, () => void this.#wake(group));
    const group: PollGroup = { queues: new Set(queues), polls: new Set(), isAsking: false, isWoken: false, again };
    this.#groups.set(name, group);
    return group;
  }

  #remove(group: PollGroup, waiting: WaitingPoll): void {
    group.polls.delete(waiting);
    if (group.polls.size > 0) return;
    group.again.cancel();
    for (const [name, each] of this.#groups) if (each === group) this.#groups.delete(name);
    if (this.#groups.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = null;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #lookLater(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.#lookLater();
      for (const group of this.#groups.values()) void this.#wake(group);
    }, LOOK_AGAIN_MS);
  }

  /** Claims for the first poll, and for the next one while each gets all that it could take. */
  async #wake(group: PollGroup): Promise<void> {
    group.isWoken = true;
    if (group.isAsking) return;
    group.isAsking = true;
    while (group.isWoken) {
      group.isWoken = false;
      const [first] = group.polls;
      if (first !== undefined && (await this.#ask(group, first))) group.isWoken = true;
    }
    group.isAsking = false;
  }

  /** Claims for one poll. Whether there may be more for the next. */
  async #ask(group: PollGroup, waiting: WaitingPoll): Promise<boolean> {
    waiting.isAsking = true;
    try {
      const claimed = await waiting.poll.claim();
      const { jobs } = claimed;
      if (claimed.againInMs !== null) group.again.set(claimed.againInMs);
      if (jobs.length > 0 || waiting.isOver) {
        group.polls.delete(waiting);
        waiting.resolve(claimed);
      }
      return jobs.length >= waiting.poll.limit;
    } catch (error) {
      group.polls.delete(waiting);
      waiting.reject(error);
      return false;
    } finally {
      waiting.isAsking = false;
    }
  }
}

/** By name, or by "*". */
function serves({ queues }: Pick<PollGroup, "queues">, queue: string): boolean {
  return queues.has(queue) || queues.has(kindOfQueue(queue));
}
