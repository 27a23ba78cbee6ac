import { counterOf, countsTimes } from "../../core/counters.ts";
import { isTerminal, KEPT_FOR_A_TIME, type Status, WAITING } from "../../core/job.ts";
import { decodeLimits } from "../../core/limits.ts";
import type { Move, Transition } from "../../core/lifecycle.ts";
import { STATE } from "../numbers.ts";
import type { MemoryFeed } from "./feed.ts";
import { Keys } from "./keys.ts";
import type { Counters } from "./counters.ts";
import { Line } from "./line.ts";
import { StoredQueue } from "./queues.ts";
import { JobsBySequence } from "./jobs-by-sequence.ts";
import type { StoredJob } from "./stored-job.ts";
import { applyTransition } from "./transition.ts";

/**
 * All jobs. Every job is in `bySequence` (for lists) and, depending on its status, in one line at a time:
 *
 *   pending               a lane of its queue   by rank: for claims
 *   scheduled, retrying   `due`                 by due time: for promote
 *   running               `leases`              by the end of its lease: for expired
 *   completed, cancelled  its queue's `ended`   by its end: for prune
 *   blocked               `due`, if it has a time at which it becomes pending by itself; otherwise none
 *   failed, dead          none: they stay until someone acts
 */
export class Jobs {
  readonly #byId = new Map<string, StoredJob>();
  readonly bySequence = new JobsBySequence();
  readonly due = new Line<StoredJob>();
  readonly leases = new Line<StoredJob>();
  readonly queues = new Map<string, StoredQueue>();
  readonly keys = new Keys();
  readonly #counters: Counters;
  readonly #feed: MemoryFeed;

  constructor(counters: Counters, feed: MemoryFeed) {
    this.#counters = counters;
    this.#feed = feed;
  }

  get(id: string): StoredJob | undefined {
    return this.#byId.get(id);
  }

  /** The queue of this name; makes it if it is new. */
  queueOf(name: string): StoredQueue {
    const known = this.queues.get(name);
    if (known !== undefined) return known;
    const queue = new StoredQueue(name);
    this.queues.set(name, queue);
    return queue;
  }

  add(job: StoredJob): void {
    this.#byId.set(job.record.id, job);
    this.bySequence.add(job);
    if (job.record.facets !== null) job.queue.byFacet.add(job);
    job.queue.tally(job.record.status, job.level, 1);
    this.#countInKey(job, 1);
    this.#enterLine(job);
  }

  /** Applies a transition. The caller has checked its condition. */
  apply(job: StoredJob, transition: Transition, now: number): void {
    const { to } = transition;
    const { status: was, startedAt, runAt } = job.record;
    this.leaveLine(job);
    if (isTerminal(was)) this.keys.stopTime(job, now);
    applyTransition(job, transition, now);
    job.wakeAt = to === "blocked" && transition.delayMs !== null ? job.record.runAt : null;
    this.enter(job, to);
    if (KEPT_FOR_A_TIME.includes(to)) this.keys.startTime(job);
    const { counters } = job;
    const counter = counterOf(to);
    if (counter !== null) this.#counters.count(counters, counter, now);
    if (transition.losses === "add") this.#counters.count(counters, "lost", now);
    if (was !== "running" || !countsTimes(transition)) return;
    this.#counters.time(counters, "run", job.record.runMs!, now);
    this.#counters.time(counters, "wait", startedAt! - runAt, now);
  }

  /** Changes the status of a job that has left its line. The only place where a status changes, so that no count can be forgotten. */
  enter(job: StoredJob, to: Status): void {
    const { record, queue, page, level } = job;
    this.#countInKey(job, -1);
    queue.tally(record.status, level, -1);
    page.counts[STATE[record.status]]!--;
    queue.tally(to, level, 1);
    page.counts[STATE[to]]!++;
    const was = record.status;
    record.status = to;
    this.#countInKey(job, 1);
    this.#enterLine(job);
    if (was === "running") this.#leaseEnded(job);
  }

  /** Limit keys know how many of their jobs wait, and which run. */
  #countInKey({ record, queue }: StoredJob, change: 1 | -1): void {
    if (record.limitKey === null || !WAITING.includes(record.status)) return;
    queue.limitKeys.of(record.limitKey).waiting += change;
  }

  /** What stood aside because of this lease may start. */
  #leaseEnded({ record, queue }: StoredJob): void {
    const key = record.limitKey === null ? undefined : queue.limitKeys.get(record.limitKey);
    const hadAside = key !== undefined && queue.turns.reconsider(key);
    if (hadAside || decodeLimits(queue.settings.limits).running !== null) this.#feed.sendWorkHint(queue.name);
  }

  extendLease(job: StoredJob, until: number): void {
    this.leases.remove(job);
    job.leaseUntil = until;
    this.#enterLine(job);
  }

  leaveLine(job: StoredJob): void {
    switch (job.record.status) {
      case "pending":
        return job.queue.removePending(job);
      case "scheduled":
      case "retrying":
        return this.due.remove(job);
      case "running":
        if (job.record.limitKey !== null) job.queue.limitKeys.of(job.record.limitKey).running.delete(job);
        return this.leases.remove(job);
      case "completed":
      case "cancelled":
        return job.queue.ended.remove(job);
      case "blocked":
        if (job.wakeAt !== null) this.due.remove(job);
        return;
      case "failed":
      case "dead":
        return;
    }
  }

  /** Gives a job another payload. */
  edit(job: StoredJob, { payload, facets }: NonNullable<Move["edit"]>): void {
    if (job.record.facets !== null) job.queue.byFacet.remove(job);
    job.record.payload = payload;
    job.record.facets = facets === null ? null : { ...facets };
    if (job.record.facets !== null) job.queue.byFacet.add(job);
  }

  /** Removes all of the job but its key, which the caller drops or keeps. */
  forget(job: StoredJob): void {
    this.leaveLine(job);
    this.#byId.delete(job.record.id);
    this.bySequence.remove(job);
    if (job.record.facets !== null) job.queue.byFacet.remove(job);
    job.queue.tally(job.record.status, job.level, -1);
    this.#countInKey(job, -1);
  }

  #enterLine(job: StoredJob): void {
    const { record, queue } = job;
    switch (record.status) {
      case "pending":
        job.order = record.runAt;
        queue.addPending(job);
        return this.#feed.sendWorkHint(queue.name);
      case "scheduled":
      case "retrying":
        job.order = record.runAt;
        this.due.add(job);
        return this.#feed.sendDueHint(record.runAt - record.updatedAt);
      case "running":
        if (record.limitKey !== null) queue.limitKeys.of(record.limitKey).running.add(job);
        job.order = job.leaseUntil;
        return this.leases.add(job);
      case "completed":
      case "cancelled":
        job.order = record.completedAt!;
        return queue.ended.add(job);
      case "blocked":
        if (job.wakeAt === null) return;
        job.order = job.wakeAt;
        this.due.add(job);
        return this.#feed.sendDueHint(job.wakeAt - record.updatedAt);
      case "failed":
      case "dead":
        return;
    }
  }
}
