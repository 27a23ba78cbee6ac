import type { Status } from "../../core/job.ts";
import { Line, type LineItem } from "./line.ts";
import type { StoredQueue } from "./queues.ts";
import type { StoredJob } from "./stored-job.ts";

/** An idempotency key, which may outlive its job. Its order is the time at which it expires. */
export interface Key extends LineItem {
  readonly queue: StoredQueue;
  readonly text: string;
  readonly fingerprint: string | null;
  readonly id: string;
  /** Null if the job was pruned; `status` is then its last one. */
  job: StoredJob | null;
  status: Status;
}

/** The keys of all queues, and when they expire. */
export class Keys {
  readonly #expiring = new Line<Key>();

  /** The key with this text if it lives. Frees it if it has expired. */
  living(queue: StoredQueue, text: string, now: number): Key | null {
    const key = queue.keys.get(text);
    if (key === undefined) return null;
    if (key.order > now) return key;
    this.#free(key);
    return null;
  }

  give(job: StoredJob, text: string, fingerprint: string | null): void {
    const { queue, seq, record } = job;
    job.key = { queue, text, fingerprint, id: record.id, job, status: record.status, order: Infinity, seq, spot: 0 };
    queue.keys.set(text, job.key);
  }

  /** The job completed or was cancelled: its key expires `keyTtlMs` from then. */
  startTime({ key, record }: StoredJob): void {
    if (key === null) return;
    key.order = record.completedAt! + record.keyTtlMs;
    this.#expiring.add(key);
  }

  /** The job leaves its terminal status. A key that has expired is gone for good: another job may have it by now. */
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

  dropWith(job: StoredJob): void {
    if (job.key !== null) this.#free(job.key);
  }

  /** The job is pruned, but its key lives until it expires. */
  outlive(job: StoredJob): void {
    if (job.key === null) return;
    job.key.status = job.record.status;
    job.key.job = null;
    job.key = null;
  }

  /** Frees up to `limit` expired keys. */
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
    key.queue.keys.delete(key.text);
    if (key.order !== Infinity) this.#expiring.remove(key);
    if (key.job !== null) key.job.key = null;
  }
}
