import type { Status } from "../../core/job.ts";
import { Line, type Standing } from "./line.ts";
import type { QueueBook } from "./queues.ts";
import type { StoredJob } from "./stored-job.ts";

/** An idempotency key. It lives apart from its job, because it may outlive it. Its order is the time at which it expires. */
export interface Key extends Standing {
  readonly book: QueueBook;
  readonly text: string;
  readonly fingerprint: string | null;
  readonly id: string;
  /** Null when the job is pruned; `status` is then its last one. */
  job: StoredJob | null;
  status: Status;
}

/** The keys of all queues, and which of them expire when. */
export class Keys {
  readonly #expiring = new Line<Key>();

  /** The key of this text if it lives. One that has expired is freed on the way. */
  living(book: QueueBook, text: string, now: number): Key | null {
    const key = book.keys.get(text);
    if (key === undefined) return null;
    if (key.order > now) return key;
    this.#free(key);
    return null;
  }

  give(job: StoredJob, text: string, fingerprint: string | null): void {
    const { book, seq, record } = job;
    job.key = { book, text, fingerprint, id: record.id, job, status: record.status, order: Infinity, seq, spot: 0 };
    book.keys.set(text, job.key);
  }

  /** The job ended completed or cancelled: the time of its key begins to run. */
  startTime({ key, record }: StoredJob): void {
    if (key === null) return;
    key.order = record.completedAt! + record.keyTtlMs;
    this.#expiring.add(key);
  }

  /** The job leaves its end. If its time had run out, the key is gone for good: another job may have it by now. */
  stopTime(job: StoredJob, now: number): void {
    const { key, record } = job;
    if (key === null || key.order <= now) {
      if (key !== null) this.#free(key);
      record.idempotencyKey = null;
    } else if (key.order !== Infinity) {
      this.#expiring.remove(key);
      key.order = Infinity;
    }
  }

  /** The job is removed, and its key with it. */
  dropWith(job: StoredJob): void {
    if (job.key !== null) this.#free(job.key);
  }

  /** The job is pruned: its key lives on, until its time is over. */
  outlive(job: StoredJob): void {
    if (job.key === null) return;
    job.key.status = job.record.status;
    job.key.job = null;
    job.key = null;
  }

  /** Frees up to `limit` keys whose time is over. */
  sweep(now: number, limit: number): number {
    let freed = 0;
    for (; freed < limit; freed++) {
      const key = this.#expiring.first;
      if (key === undefined || key.order > now) break;
      this.#free(key);
    }
    return freed;
  }

  #free(key: Key): void {
    key.book.keys.delete(key.text);
    if (key.order !== Infinity) this.#expiring.remove(key);
    if (key.job !== null) key.job.key = null;
  }
}
