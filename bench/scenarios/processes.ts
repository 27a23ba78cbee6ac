import type { Entrant } from "../contest.ts";
import type { Figure } from "../figure.ts";
import { drain } from "../measure/drain.ts";
import { openProcesses, type ProcessQueue } from "../processes/process-queue.ts";
import type { Session } from "../session.ts";
import type { Tree } from "../tree.ts";
import type { Scenario } from "./scenario.ts";

const HANDLERS_MS = [0, 1];
const SLOTS = 100;
const CALLERS = 100;

/** Whether more processes do more: they must not slow each other down. On two cores they also compete with the server of the database. */
export const processes: Scenario = {
  name: "processes",
  isOnPage: true,
  async measure(session) {
    if (!session.engine.isShared) return [];
    const { seconds } = session.extent;
    const figures = [];
    for (const handlerMs of HANDLERS_MS) {
      const rate = (queue: ProcessQueue): Promise<number> => drain(queue, { slots: SLOTS, handlerMs }, seconds);
      figures.push(...(await besideOne(session, 2, `2 processes drain, handlers of ${handlerMs} ms`, rate)));
    }
    figures.push(...(await besideOne(session, 4, "4 processes enqueue", (queue) => queue.enqueueRate(CALLERS, seconds))));
    return figures;
  },
};

function besideOne(session: Session, count: number, what: string, rate: (queue: ProcessQueue) => Promise<number>): Promise<Figure[]> {
  const run = (tree: Tree, count: number): Promise<number[]> =>
    session.onFresh(
      (place) => openProcesses(tree, place, count),
      async (queue) => [await rate(queue)],
    );
  const one: Entrant = { name: "1 process", kind: "otherwise", run: () => run(session.trees[0], 1) };
  return session.contest([{ what, unit: "jobs/s" }], [...session.ofTrees((tree) => run(tree, count)), one]);
}
