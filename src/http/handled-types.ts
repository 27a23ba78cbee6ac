/** WHO WOULD RUN IT: lets the answer of a server that runs jobs itself say that nobody is there for a new one. Looks seldom, and keeps who asks for a moment at most. */
import type { Client } from "../client/client.ts";
import { serves } from "../core/explain.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";

/** So long a look counts where it found a worker, and where it found none. */
const FOUND_MS = 5000;
const MISSED_MS = 1000;
/** So long one who asks is kept at most; then nothing is said. */
const PATIENCE_MS = 100;
/** So many pairs of queue and type are remembered. */
const MOST_PAIRS = 10_000;

export interface HandledTypesOptions {
  readonly client: Pick<Client, "workers">;
  readonly clock: Clock;
  /** Types that this process runs itself, in all queues: its workers may not be in the registry yet. */
  readonly own: readonly string[];
}

export class HandledTypes {
  readonly #client: Pick<Client, "workers">;
  readonly #clock: Clock;
  readonly #own: ReadonlySet<string>;
  /** Pairs that a worker took at the last look. */
  readonly #taken = new Set<string>();
  #workers: readonly WorkerEntry[] = [];
  #lookedAt = -Infinity;
  readonly #lookTogether = sharedRun(() => this.#look());

  constructor({ client, clock, own }: HandledTypesOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#own = new Set(own);
  }

  /** What to tell about a job of this queue and type; undefined when some worker takes it, or when that is not known. No promise on the hot way. */
  noticeOf(job: { readonly queue: string; readonly type: string }): undefined | Promise<string | undefined> {
    if (this.#own.has(job.type) || this.#own.has("*")) return undefined;
    const age = this.#clock.monotonic() - this.#lookedAt;
    if (age < FOUND_MS && this.#taken.has(pairOf(job))) return undefined;
    return this.#notice(job, age);
  }

  async #notice(job: { readonly queue: string; readonly type: string }, age: number): Promise<string | undefined> {
    const isFresh = age < MISSED_MS || (await atMost(this.#clock, PATIENCE_MS, this.#lookTogether())) === true;
    if (!isFresh) return undefined;
    if (!this.#workers.some((worker) => serves(worker, job))) {
      return `no live worker handles type ${job.type} in queue ${job.queue}: the job waits until one takes it`;
    }
    if (this.#taken.size >= MOST_PAIRS) this.#taken.clear();
    this.#taken.add(pairOf(job));
    return undefined;
  }

  /** Whether it could be seen. The job is stored already, so a look that fails must not fail the answer. */
  async #look(): Promise<boolean> {
    try {
      this.#workers = await this.#client.workers();
    } catch {
      return false;
    }
    this.#taken.clear();
    this.#lookedAt = this.#clock.monotonic();
    return true;
  }
}

function pairOf({ queue, type }: { readonly queue: string; readonly type: string }): string {
  return `${queue} ${type}`;
}
