import { duringDrain } from "../measure/backlog.ts";
import { halfAndWorst, sampleFor, timeOf } from "../measure/sample.ts";
import { openProcesses } from "../processes/process-queue.ts";
import type { Scenario } from "./scenario.ts";

const LOAD = { slots: 100, handlerMs: 0 };
const PAUSE_MS = 2;

/** How long `enqueue` takes in one process while a worker in another drains a backlog. */
export const otherCallers: Scenario = {
  name: "other-callers",
  isOnPage: true,
  async measure(session) {
    if (!session.engine.isShared) return [];
    const { seconds } = session.extent;
    const ours = session.ofTrees((tree) =>
      session.onFresh(
        (place) => openProcesses(tree, place, 1),
        async (queue) =>
          halfAndWorst(await duringDrain(queue, LOAD, seconds, () => sampleFor(seconds, () => timeOf(() => queue.add()), PAUSE_MS))),
      ),
    );
    const alone = session.otherwise("nothing is drained", async (queue) =>
      halfAndWorst(await sampleFor(seconds, () => timeOf(() => queue.add()), PAUSE_MS)),
    );
    return session.contest(
      [
        { what: "enqueue while another process drains", of: "p50", unit: "ms" },
        { what: "enqueue while another process drains", of: "p99", unit: "ms" },
      ],
      [...ours, alone],
    );
  },
};
