import type { LeasedJob, LeaseFacts, LeaseRef } from "../client/client.ts";

const MAX_GRANTS = 100_000;

/**
 * LEASES THAT THIS SERVER GRANTED. Keeps what the rules need when a lease is settled, so that the store need not be asked. It never comes
 * from the worker, which could give itself retries. A lease that is not here (granted by another process, or long ago) is looked up.
 */
export class Grants {
  readonly #max: number;
  readonly #grants = new Map<string, LeaseFacts>();

  constructor(max: number = MAX_GRANTS) {
    this.#max = max;
  }

  get size(): number {
    return this.#grants.size;
  }

  add(jobs: readonly LeasedJob[]): void {
    for (const { job, fence, facts } of jobs) this.#grants.set(nameOf({ id: job.id, fence }), facts);
    for (const oldest of this.#grants.keys()) {
      if (this.#grants.size <= this.#max) return;
      this.#grants.delete(oldest);
    }
  }

  get(lease: LeaseRef): LeaseFacts | undefined {
    return this.#grants.get(nameOf(lease));
  }

  delete(lease: LeaseRef): void {
    this.#grants.delete(nameOf(lease));
  }
}

function nameOf({ id, fence }: LeaseRef): string {
  return `${id} ${fence}`;
}
