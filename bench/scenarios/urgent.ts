import type { Entrant } from "../contest.ts";
import { duringDrain } from "../measure/backlog.ts";
import { halfAndWorst, sampleFor } from "../measure/sample.ts";
import { openMillrace } from "../millrace-queue.ts";
import { PAYLOAD } from "../payload.ts";
import type { WorkOptions } from "../../src/index.ts";
import type { Session } from "../session.ts";
import type { Tree } from "../tree.ts";
import type { Scenario } from "./scenario.ts";

const LOAD = { slots: 10, handlerMs: 0 };
const PAUSE_MS = 10;

/** How soon an urgent job starts while a worker drains a backlog of trivial ones: with what the worker claims ahead of its slots, and without. */
export const urgent: Scenario = {
  name: "urgent",
  isOnPage: true,
  measure(session) {
    // A checkout from before this option refuses it: then the report says so, instead of figures.
    const nothingAhead: WorkOptions = { ahead: 0 };
    const without: Entrant = { name: "`ahead: 0`", kind: "otherwise", run: () => timeStarts(session, session.trees[0], nothingAhead) };
    return session.contest(
      [
        { what: "start of an urgent job during a drain with 10 slots", of: "p50", unit: "ms" },
        { what: "start of an urgent job during a drain with 10 slots", of: "p99", unit: "ms" },
      ],
      [...session.ofTrees((tree) => timeStarts(session, tree, {})), without],
    );
  },
};

function timeStarts(session: Session, tree: Tree, work: WorkOptions): Promise<[p50: number, p99: number]> {
  const { seconds } = session.extent;
  let started: (at: number) => void = () => {};
  const handlers = { urgent: async () => started(performance.now()) };
  return session.onFresh(
    (place) => openMillrace(tree, place, { work, handlers }),
    async (queue) => {
      const takeOne = async (): Promise<number> => {
        const start = new Promise<number>((resolve) => (started = resolve));
        const called = performance.now();
        await queue.client.enqueue("urgent", PAYLOAD, { priority: "critical" });
        return (await start) - called;
      };
      return halfAndWorst(await duringDrain(queue, LOAD, seconds, () => sampleFor(seconds, takeOne, PAUSE_MS)));
    },
  );
}
