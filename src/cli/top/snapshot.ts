/** The data of `top`: current statistics, the rate over time, and recent errors. */
import type { PlainClient, Stats, WorkerInfo } from "../../client/client.ts";
import type { Event } from "../../core/event.ts";
import { isInternalQueue } from "../../core/internal.ts";
import { toStatsWire, toWorkerWire } from "../../http/wire/queue.ts";
import { toTime } from "../../http/wire/values.ts";

/** One error of one type, and how often it was seen. */
export interface SeenError {
  readonly type: string;
  readonly message: string;
  readonly count: number;
  readonly lastAt: number;
}

/** What one frame shows. */
export interface Snapshot {
  readonly at: number;
  readonly stats: Stats;
  readonly workers: readonly WorkerInfo[];
  /** Jobs completed per second since the snapshot before, newest last. */
  readonly rates: readonly number[];
  /** Latest first. */
  readonly errors: readonly SeenError[];
}

/** The same for programs. */
export function toSnapshotJson({ at, stats, workers, errors }: Snapshot): object {
  const seen = errors.map(({ type, message, count, lastAt }) => ({ type, message, count, last_at: toTime(lastAt) }));
  return { at: toTime(at), stats: toStatsWire(stats), workers: workers.map(toWorkerWire), errors: seen };
}

const KEPT_RATES = 120;
const KEPT_ERRORS = 50;

/** Takes snapshots, and keeps rates and errors between them. */
export class Watch {
  readonly #client: PlainClient;
  readonly #errors = new Map<string, SeenError>();
  #rates: number[] = [];
  #last: { readonly at: number; readonly processed: number } | null = null;

  constructor(client: PlainClient) {
    this.#client = client;
  }

  /** Starts with the existing dead letters. */
  async start(): Promise<void> {
    const { jobs } = await this.#client.dead.list({ limit: KEPT_ERRORS });
    for (const { type, error, updatedAt } of jobs.toReversed()) this.#count(type, error?.message ?? "", updatedAt);
  }

  /** Counts failures from events until the signal aborts. */
  async listen(signal: AbortSignal): Promise<void> {
    for await (const event of this.#client.events({ signal })) this.#countFailure(event);
  }

  async look(now: number): Promise<Snapshot> {
    const [stats, workers] = await Promise.all([this.#client.stats(), this.#client.workers()]);
    this.#measure(now, stats.totalProcessed);
    const errors = [...this.#errors.values()].sort((a, b) => b.lastAt - a.lastAt);
    return { at: now, stats, workers, rates: this.#rates, errors };
  }

  #measure(at: number, processed: number): void {
    const last = this.#last;
    this.#last = { at, processed };
    if (last === null || at <= last.at) return;
    const perSecond = Math.max(0, processed - last.processed) / ((at - last.at) / 1000);
    this.#rates = [...this.#rates, perSecond].slice(-KEPT_RATES);
  }

  #countFailure(event: Event): void {
    if (event.event !== "job:failed" && event.event !== "job:dead") return;
    if (!isInternalQueue(event.queue)) this.#count(event.type, event.error, event.at);
  }

  #count(type: string, message: string, lastAt: number): void {
    const key = JSON.stringify([type, message]);
    const count = (this.#errors.get(key)?.count ?? 0) + 1;
    // Deleted and set again, so that the map drops the error that was not seen for the longest time.
    this.#errors.delete(key);
    this.#errors.set(key, { type, message, count, lastAt });
    if (this.#errors.size > KEPT_ERRORS) this.#errors.delete(this.#errors.keys().next().value!);
  }
}
