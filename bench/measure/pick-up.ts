import type { Queue } from "../queue.ts";
import { halfAndWorst, sampleFor } from "./sample.ts";

const IDLE_MS = 5;
/** Then code is compiled and files have their size: a commit that makes a file longer takes twice as long on most disks. */
const WARM_UP_JOBS = 2000;
const AT_ONCE = 50;

/** From the call of enqueue on an idle queue to the end of a handler that does nothing, in milliseconds. */
export async function pickUp(queue: Queue, seconds: number): Promise<[p50: number, p99: number]> {
  let arrived: (at: number) => void = () => {};
  const work = await queue.work({ slots: 10, handlerMs: 0 }, () => arrived(performance.now()));
  const take = (jobs: number): Promise<number> => {
    const arrival = new Promise<number>((resolve) => {
      let left = jobs;
      arrived = (at) => --left === 0 && resolve(at);
    });
    return Promise.all([arrival, ...Array.from({ length: jobs }, () => queue.add())]).then(([at]) => at);
  };
  const takeOne = async (): Promise<number> => {
    const started = performance.now();
    return (await take(1)) - started;
  };
  for (let passed = 0; passed < WARM_UP_JOBS; passed += AT_ONCE) await take(AT_ONCE);
  const samples = await sampleFor(seconds, takeOne, IDLE_MS);
  await work.stop();
  return halfAndWorst(samples);
}
