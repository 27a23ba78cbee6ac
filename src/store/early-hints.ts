import type { NewJob } from "../core/job.ts";
import type { Hint } from "./store.ts";

/**
 * HINTS BEFORE THE COMMIT. An engine that does its calls in order can tell the workers of its process of an insert that is only about to be
 * done: their claim is done after it, and an idle worker has the job one commit or round trip sooner.
 *
 * Only for queues whose last insert was taken: one that is full or new gets its hint afterwards, if at all.
 */
export class EarlyHints {
  readonly #queues = new Set<string>();

  of(jobs: readonly NewJob[]): Extract<Hint, { topic: "work" }>[] {
    const queues = new Set<string>();
    for (const job of jobs) if (isDueAtOnce(job) && this.#queues.has(job.queue)) queues.add(job.queue);
    return [...queues].map((queue) => ({ topic: "work", queue }));
  }

  taken(jobs: readonly NewJob[]): void {
    for (const { queue } of jobs) this.#queues.add(queue);
  }

  refused(jobs: readonly NewJob[]): void {
    for (const { queue } of jobs) this.#queues.delete(queue);
  }
}

function isDueAtOnce({ blocked, runAt, delayMs }: NewJob): boolean {
  return blocked !== true && runAt === null && delayMs === 0;
}
