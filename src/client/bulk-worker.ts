import { BULK_QUEUE, BULK_TYPE } from "../core/bulk.ts";
import { MillraceError } from "../core/errors.ts";
import type { Handler, Handlers, WorkerHandle, WorkOptions } from "./client.ts";

export interface BulkWorkerParts {
  readonly handler: Handler;
  readonly work: (handlers: Handlers, options: WorkOptions) => WorkerHandle;
  /** Resolves once the operation has ended, wherever it was worked; rejects when that cannot be known any more. */
  readonly whenEnded: (id: string) => Promise<unknown>;
  /** A while, after which a store that was away is asked again. */
  readonly pause: () => Promise<void>;
}

/**
 * Operations wait for the store most of the time. One that a shutdown breaks off goes on from its last batch, so it is not waited for; and one
 * whose process died is taken over soon, because somebody looks on.
 */
const MANNER: WorkOptions = { queues: [BULK_QUEUE], concurrency: 4, lease: 5000, grace: 1000 };

/**
 * WHO WORKS OPERATIONS in this process: a worker as for any job. It is there while an operation that began here goes on, and takes on what
 * others left; or all the time, in a process that serves.
 */
export class BulkWorker {
  readonly #parts: BulkWorkerParts;
  /** Operations that began here and have not ended. */
  readonly #own = new Set<string>();
  #worker: WorkerHandle | null = null;
  #isKept = false;

  constructor(parts: BulkWorkerParts) {
    this.#parts = parts;
  }

  /** Works operations as long as the client is open. */
  keep(): void {
    this.#isKept = true;
    this.#begin();
  }

  /** Works operations until this one has ended. */
  workUntilEnd(id: string): void {
    this.#own.add(id);
    this.#begin();
    void this.#untilEnded(id).then(() => this.#forget(id));
  }

  /** A store that is away for some minutes does not end an operation, so it does not end the work on it. */
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
    this.#worker ??= this.#parts.work({ [BULK_TYPE]: this.#parts.handler }, MANNER);
  }

  #forget(id: string): void {
    this.#own.delete(id);
    if (this.#own.size > 0 || this.#isKept) return;
    // What its stop has to say concerns nobody: the operations have ended.
    this.#worker?.stop().catch(() => {});
    this.#worker = null;
  }
}
