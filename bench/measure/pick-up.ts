import type { Queue } from "../queue.ts";
import { halfAndWorst, sampleFor } from "./sample.ts";

const IDLE_MS = 5;

/** From the call of enqueue on an idle queue to the end of a handler that does nothing, in milliseconds. */
export async function pickUp(queue: Queue, seconds: number): Promise<[p50: number, p99: number]> {
  let arrived: (at: number) => void = () => {};
  const work = await queue.work({ slots: 10, handlerMs: 0 }, () => arrived(performance.now()));
  const takeOne = async (): Promise<number> => {
    const arrival = new Promise<number>((resolve) => (arrived = resolve));
    const started = performance.now();
    await queue.add();
    return (await arrival) - started;
  };
  const samples = await sampleFor(seconds, takeOne, IDLE_MS);
  await work.stop();
  return halfAndWorst(samples);
}
