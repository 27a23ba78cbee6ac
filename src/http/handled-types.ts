/** WHO WOULD RUN IT: a server that runs jobs itself says if no worker handles a new job. Looks it up seldom, and answers almost without delay. */
import type { Client } from "../client/client.ts";
import { isServed } from "../core/explain.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";

/** How long a lookup counts that found a worker, and one that found none. */
const FOUND_MS = 5000;
const MISSED_MS = 1000;
/** The longest that an answer waits for a lookup; then it has no notice. */
const MAX_WAIT_MS = 100;
/** How many pairs of queue and type are remembered. */
const MAX_PAIRS = 10_000;

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
  /** Pairs that a worker handled at the last lookup. */
  readonly #taken = new Set<string>();
  #workers: readonly WorkerEntry[] = [];
  #lookedAt = -Infinity;
  readonly #lookTogether = sharedRun(() => this.#look());

  constructor({ client, clock, own }: HandledTypesOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#own = new Set(own);
  }

  /** The notice for a job; undefined if some worker handles it, or if that is not known. No promise on the hot path. */
  noticeOf(job: { readonly queue: string; readonly type: string }): undefined | Promise<string | undefined> {
    if (this.#own.has(job.type) || this.#own.has("*")) return undefined;
    const age = this.#clock.monotonic() - this.#lookedAt;
    if (age < FOUND_MS && this.#taken.has(pairOf(job))) return undefined;
    return this.#notice(job, age);
  }

  async #notice(job: { readonly queue: string; readonly type: string }, age: number): Promise<string | undefined> {
    const isFresh = age < MISSED_MS || (await atMost(this.#clock, MAX_WAIT_MS, this.#lookTogether())) === true;
    if (!isFresh) return undefined;
    if (!isServed(job, this.#workers)) {
      return `no live worker handles type ${job.type} in queue ${job.queue}: the job waits until one takes it`;
    }
    if (this.#taken.size >= MAX_PAIRS) this.#taken.clear();
    this.#taken.add(pairOf(job));
    return undefined;
  }

  /** Whether the lookup succeeded. The job is already stored, so a failed lookup must not fail the answer. */
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
