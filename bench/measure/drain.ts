import type { Load, Queue } from "../queue.ts";
import { warmUpMs } from "./meter.ts";

/** Jobs that ran one after the other until none was left, and the time of all but the first of them. */
export interface Stretch {
  /** All jobs of the stretch, and those that were timed. */
  readonly of: number;
  readonly jobs: number;
  readonly ms: number;
}

/** The start of a worker is not timed. */
const NOT_TIMED = 0.1;
/** A stretch never has fewer jobs for each slot, or most of it would be its beginning and its end. */
const JOBS_A_SLOT = 5;
const FEWEST = 200;
const MOST = 200_000;
/** The next stretch may be faster. A short one tells little about how much. */
const MORE = 1.15;
const MOST_TIMES_MORE = 10;

/** Jobs per second that run while enough of them wait. It goes on in stretches until they have taken `seconds`. */
export async function drain(queue: Queue, load: Load, seconds: number): Promise<number> {
  let stretch = await runStretch(queue, load, fewest(load));
  for (let warm = stretch.ms; warm < warmUpMs(seconds); warm += stretch.ms) {
    stretch = await runStretch(queue, load, jobsFor(warmUpMs(seconds) - warm, stretch, load));
  }
  let jobs = 0;
  let ms = 0;
  while (ms < seconds * 1000) {
    stretch = await runStretch(queue, load, jobsFor(seconds * 1000 - ms, stretch, load));
    jobs += stretch.jobs;
    ms += stretch.ms;
  }
  return (jobs * 1000) / ms;
}

/** Adds jobs, and times a worker until it has run them all. */
export async function runStretch(queue: Queue, load: Load, jobs: number): Promise<Stretch> {
  await queue.fill(jobs);
  const notTimed = Math.floor(jobs * NOT_TIMED);
  const finished = Promise.withResolvers<void>();
  let count = 0;
  let from: { readonly at: number; readonly count: number } | null = null;
  const work = await queue.work(load, (ended) => {
    count += ended;
    if (from === null && count >= notTimed) from = { at: performance.now(), count };
    if (count >= jobs) finished.resolve();
  });
  await finished.promise;
  await work.settled?.();
  const { at, count: before } = from!;
  const ms = performance.now() - at;
  await work.stop();
  return { of: jobs, jobs: jobs - before, ms };
}

function fewest({ slots }: Load): number {
  return Math.max(FEWEST, JOBS_A_SLOT * slots);
}

function jobsFor(wantedMs: number, { of, jobs, ms }: Stretch, load: Load): number {
  const most = Math.min(MOST, of * MOST_TIMES_MORE);
  // All of a short stretch may have ended at once.
  if (jobs === 0) return most;
  const wanted = Math.ceil((wantedMs * MORE * jobs) / ms / (1 - NOT_TIMED));
  return Math.min(most, Math.max(fewest(load), wanted));
}
