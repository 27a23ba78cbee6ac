/** HOW MUCH SLOWER A STORE IS WITH MANY JOBS THAN WITH FEW, waiting or finished. */
import type { Figure } from "../figure.ts";
import { callRate } from "../measure/call.ts";
import { drain, runStretch } from "../measure/drain.ts";
import { type MillraceQueue, openMillrace } from "../millrace-queue.ts";
import type { Session } from "../session.ts";

const FEW = 10_000;
const RUN_AT_ONCE = 200_000;

/** How jobs get into the store. */
const PREPARE = {
  waiting: (queue: MillraceQueue, jobs: number) => queue.fill(jobs),
  async finished(queue: MillraceQueue, jobs: number) {
    await queue.client.configure("default", { retention: { count: 10 * jobs, age: "60d" } });
    for (let left = jobs; left > 0; left -= RUN_AT_ONCE) {
      await runStretch(queue, { slots: 1000, handlerMs: 0 }, Math.min(left, RUN_AT_ONCE));
    }
  },
} as const;

/** Drain and enqueue rates beside those with few jobs, and the time of `stats`. A store with many is made once for each checkout; a drain leaves it as deep as it was. */
export async function besideFew(session: Session, state: keyof typeof PREPARE, many: number): Promise<Figure[]> {
  const { seconds } = session.extent;
  await using stack = new AsyncDisposableStack();
  const deep = new Map<string, MillraceQueue>();
  for (const tree of session.trees) {
    const place = stack.adopt(await session.site.fresh(), (place) => place.close());
    const queue = stack.adopt(await openMillrace(tree, place), (queue) => queue.close());
    await PREPARE[state](queue, many);
    deep.set(tree.folder, queue);
  }
  const measures = {
    "drain, 100 slots": (queue: MillraceQueue) => drain(queue, { slots: 100, handlerMs: 0 }, seconds),
    "enqueue, 100 callers": (queue: MillraceQueue) => callRate(seconds, { callers: 100, jobs: 1 }, () => queue.add()),
  };
  const figures: Figure[] = [];
  for (const [what, measure] of Object.entries(measures)) {
    const ours = session.ofTrees(async ({ folder }) => [await measure(deep.get(folder)!)]);
    const few = session.otherwise(`with ${inWords(FEW)}`, async (queue) => {
      await PREPARE[state](queue, FEW);
      return [await measure(queue)];
    });
    figures.push(...(await session.contest([{ what: `${what}, ${inWords(many)} ${state}`, unit: "jobs/s" }], [...ours, few])));
  }
  return figures;
}

export const inWords = (jobs: number): string => jobs.toLocaleString("en-US");
