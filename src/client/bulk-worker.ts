import { BULK_QUEUE, BULK_TYPE } from "../core/bulk.ts";
import { MillraceError } from "../core/errors.ts";
import type { Handler, Handlers, WorkerHandle, WorkOptions } from "./client.ts";

export interface BulkWorkerParts {
  readonly handler: Handler;
  readonly work: (handlers: Handlers, options: WorkOptions) => WorkerHandle;
  /** Resolves once the operation has ended in any process; rejects if that cannot be known. */
  readonly whenEnded: (id: string) => Promise<unknown>;
  /** Waits a while before an unreachable store is asked again. */
  readonly pause: () => Promise<void>;
}

/**
 * Operations mostly wait for the store, so a few run at once. A shutdown does not wait for them, because they continue after their last batch.
 * The lease is short, so that another process takes over soon after a crash: somebody is watching.
 */
const WORK_OPTIONS: WorkOptions = { queues: [BULK_QUEUE], concurrency: 4, lease: 5000, grace: 1000 };

/**
 * RUNS BULK OPERATIONS in this process with an ordinary worker. The worker runs while an operation that began here goes on, and meanwhile also
 * takes those of other processes. In a server it always runs.
 */
export class BulkWorker {
  readonly #parts: BulkWorkerParts;
  /** Operations that began here and have not ended yet. */
  readonly #own = new Set<string>();
  #worker: WorkerHandle | null = null;
  #isKept = false;

  constructor(parts: BulkWorkerParts) {
    this.#parts = parts;
  }

  /** Runs operations as long as the client is open. */
  keep(): void {
    this.#isKept = true;
    this.#begin();
  }

  /** Runs operations until this one has ended. */
  workUntilEnd(id: string): void {
    this.#own.add(id);
    this.#begin();
    void this.#untilEnded(id).then(() => this.#forget(id));
  }

  /** An operation survives a store that is away for some minutes, so its worker must, too. */
  async #untilEnded(id: string): Promise<void> {
    for (;;) {
      try {
        await this.#parts.whenEnded(id);
        return;
      } catch (error) {
        if (!(error instanceof MillraceError) || error.code === "closed" || error.code === "not_found") return;
      }
      await this.#parts.pause();
    }
  }

  #begin(): void {
    this.#worker ??= this.#parts.work({ [BULK_TYPE]: this.#parts.handler }, WORK_OPTIONS);
  }

  #forget(id: string): void {
    this.#own.delete(id);
    if (this.#own.size > 0 || this.#isKept) return;
    // The operations have ended, so an error of the stop does not matter.
    this.#worker?.stop().catch(() => {});
    this.#worker = null;
  }
}
