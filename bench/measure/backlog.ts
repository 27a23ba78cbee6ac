import type { Load, Queue } from "../queue.ts";
import { drain } from "./drain.ts";
import { warmUpMs } from "./meter.ts";

/** The backlog is planned to last this many times longer than it must. */
const LONGER = 2;

/** Calls `during`, which takes `seconds` and its warm-up, while a worker drains a backlog that outlasts it. A backlog that ended too soon is doubled. */
export async function duringDrain<Answer>(queue: Queue, load: Load, seconds: number, during: () => Promise<Answer>): Promise<Answer> {
  const warmUpSeconds = warmUpMs(seconds) / 1000;
  const perSecond = await drain(queue, load, warmUpSeconds);
  for (let jobs = Math.ceil(perSecond * (warmUpSeconds + seconds) * LONGER); ; jobs *= 2) {
    await queue.fill(jobs);
    let left = jobs;
    const work = await queue.work(load, (ended) => (left -= ended));
    const answer = await during();
    const hasLasted = left > 0;
    await work.stop();
    if (hasLasted) return answer;
  }
}
