import { counterOf, countsTimes } from "../../core/counters.ts";
import { isTerminal, KEPT_FOR_A_TIME, type Status } from "../../core/job.ts";
import type { Transition } from "../../core/lifecycle.ts";
import { STATE } from "../numbers.ts";
import type { MemoryFeed } from "./feed.ts";
import { Keys } from "./keys.ts";
import type { Ledger } from "./ledger.ts";
import { Line } from "./line.ts";
import { QueueBook } from "./queues.ts";
import { JobsBySequence } from "./jobs-by-sequence.ts";
import type { StoredJob } from "./stored-job.ts";
import { applyTransition } from "./transition.ts";

/**
 * All jobs, and where each stands. Every job is in `bySequence` (for lists) and, by its status, in one line at a time:
 *
 *   pending               a lane of its queue   by rank: for claims
 *   scheduled, retrying   `due`                 by due time: for promote
 *   running               `leases`              by the end of its lease: for expired
 *   completed, cancelled  its queue's `ended`   by its end: for prune
 *   blocked, failed, dead none: they stay until someone acts
 */
export class Jobs {
  readonly #byId = new Map<string, StoredJob>();
  readonly bySequence = new JobsBySequence();
  readonly due = new Line<StoredJob>();
  readonly leases = new Line<StoredJob>();
  readonly books = new Map<string, QueueBook>();
  readonly keys = new Keys();
  readonly #ledger: Ledger;
  readonly #feed: MemoryFeed;

  constructor(ledger: Ledger, feed: MemoryFeed) {
    this.#ledger = ledger;
    this.#feed = feed;
  }

  get(id: string): StoredJob | undefined {
    return this.#byId.get(id);
  }

  /** The book of a queue, made if it is new. */
  bookOf(queue: string): QueueBook {
    const known = this.books.get(queue);
    if (known !== undefined) return known;
    const book = new QueueBook(queue);
    this.books.set(queue, book);
    return book;
  }

  /** Takes in a new job. */
  add(job: StoredJob): void {
    this.#byId.set(job.record.id, job);
    this.bySequence.add(job);
    job.book.tally(job.record.status, job.level, 1);
    this.#enterLine(job);
  }

  /** Applies a transition whose condition was checked. */
  apply(job: StoredJob, transition: Transition, now: number): void {
    const { to } = transition;
    const { status: was, startedAt, runAt } = job.record;
    this.leaveLine(job);
    if (isTerminal(was)) this.keys.stopTime(job, now);
    applyTransition(job, transition, now);
    this.enter(job, to);
    if (KEPT_FOR_A_TIME.includes(to)) this.keys.startTime(job);
    const { account } = job.book;
    const counter = counterOf(to);
    if (counter !== null) this.#ledger.count(account, counter, now);
    if (transition.losses === "add") this.#ledger.count(account, "lost", now);
    if (was !== "running" || !countsTimes(transition)) return;
    this.#ledger.time(account, "run", job.record.runMs!, now);
    this.#ledger.time(account, "wait", startedAt! - runAt, now);
  }

  /** Gives a job that has left its line another status. The only place where a status changes, so that no count can forget one. */
  enter(job: StoredJob, to: Status): void {
    const { record, book, page, level } = job;
    book.tally(record.status, level, -1);
    page.counts[STATE[record.status]]!--;
    book.tally(to, level, 1);
    page.counts[STATE[to]]!++;
    record.status = to;
    this.#enterLine(job);
  }

  extendLease(job: StoredJob, until: number): void {
    this.leases.remove(job);
    job.leaseUntil = until;
    this.#enterLine(job);
  }

  leaveLine(job: StoredJob): void {
    switch (job.record.status) {
      case "pending":
        return job.book.lanes.remove(job);
      case "scheduled":
      case "retrying":
        return this.due.remove(job);
      case "running":
        return this.leases.remove(job);
      case "completed":
      case "cancelled":
        return job.book.ended.remove(job);
      case "blocked":
      case "failed":
      case "dead":
        return;
    }
  }

  /** Nothing of the job is left. Its key is the caller's to drop or to keep. */
  forget(job: StoredJob): void {
    this.leaveLine(job);
    this.#byId.delete(job.record.id);
    this.bySequence.remove(job);
    job.book.tally(job.record.status, job.level, -1);
  }

  #enterLine(job: StoredJob): void {
    const { record, book } = job;
    switch (record.status) {
      case "pending":
        job.order = record.runAt;
        book.lanes.add(job);
        return this.#feed.ringWork(book.name);
      case "scheduled":
      case "retrying":
        job.order = record.runAt;
        this.due.add(job);
        return this.#feed.ringDue(record.runAt - record.updatedAt);
      case "running":
        job.order = job.leaseUntil;
        return this.leases.add(job);
      case "completed":
      case "cancelled":
        job.order = record.completedAt!;
        return book.ended.add(job);
      case "blocked":
      case "failed":
      case "dead":
        return;
    }
  }
}
