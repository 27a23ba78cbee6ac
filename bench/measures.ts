/** The measurements. The same code measures ours and the peers. */
import type { Queue } from "./queue.ts";
import { byCallers, percentileOf, rate } from "./workload.ts";

/** Jobs per second that `callers` loops enqueue, each awaiting its call. */
export function enqueue(queue: Queue, callers: number, jobs: number): Promise<number> {
  return rate(jobs, () => byCallers(callers, jobs, () => queue.add()));
}

/** Jobs per second that run while at least `jobs` wait. The first tenth is not timed, to leave out the start-up. */
export async function drain(queue: Queue, slots: number, jobs: number): Promise<number> {
  const warm = Math.floor(jobs / 10);
  const finished = Promise.withResolvers<void>();
  let count = 0;
  let started = performance.now();
  const work = await queue.work(slots, () => {
    count++;
    if (count === warm) started = performance.now();
    if (count === jobs) finished.resolve();
  });
  await finished.promise;
  await work.settled?.();
  const seconds = (performance.now() - started) / 1000;
  await work.stop();
  return (jobs - warm) / seconds;
}

/** Callers enqueue while as many slots run the jobs; timed until the last job has run. */
export async function both(queue: Queue, callers: number, jobs: number): Promise<number> {
  const finished = Promise.withResolvers<void>();
  let count = 0;
  const work = await queue.work(callers, () => {
    if (++count === jobs) finished.resolve();
  });
  const perSecond = await rate(jobs, () => Promise.all([byCallers(callers, jobs, () => queue.add()), finished.promise]));
  await work.stop();
  return perSecond;
}

const IDLE_MS = 5;
const FIRST_SAMPLES = 5;

/** From the call of enqueue on an idle queue to the start of the handler, in milliseconds: p50 and p99. */
export async function pickUp(queue: Queue, samples: number): Promise<[p50: number, p99: number]> {
  let arrived: (at: number) => void = () => {};
  const work = await queue.work(10, () => arrived(performance.now()));
  const times: number[] = [];
  for (let sample = 0; sample < FIRST_SAMPLES + samples; sample++) {
    const arrival = new Promise<number>((resolve) => (arrived = resolve));
    const started = performance.now();
    await queue.add();
    times.push((await arrival) - started);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS)); // idle again
  }
  await work.stop();
  const counted = times.slice(FIRST_SAMPLES);
  return [percentileOf(counted, 0.5), percentileOf(counted, 0.99)];
}
