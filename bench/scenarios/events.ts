import type { Entrant } from "../contest.ts";
import { drain, runStretch } from "../measure/drain.ts";
import { warmUpMs } from "../measure/meter.ts";
import { end, messageOf, start } from "../processes/child.ts";
import { openProcesses } from "../processes/process-queue.ts";
import type { Session } from "../session.ts";
import type { Tree } from "../tree.ts";
import type { Scenario } from "./scenario.ts";

const LOAD = { slots: 100, handlerMs: 0 };

/** What a reader of events in another process costs a worker. We compare CPU time, because other programs do not change it. */
export const events: Scenario = {
  name: "events",
  isOnPage: false,
  async measure(session) {
    if (!session.engine.isShared) return [];
    const alone: Entrant = { name: "nobody reads", kind: "otherwise", run: () => cpuOfJobs(session, session.trees[0], false) };
    return session.contest(
      [{ what: "CPU of a worker for a job while events are read", unit: "µs" }],
      [...session.ofTrees((tree) => cpuOfJobs(session, tree, true)), alone],
    );
  },
};

function cpuOfJobs(session: Session, tree: Tree, isRead: boolean): Promise<number[]> {
  const { seconds } = session.extent;
  return session.onFresh(
    (place) => openProcesses(tree, place, 1),
    async (queue, { url }) => {
      await using stack = new AsyncDisposableStack();
      if (isRead) {
        const reader = stack.adopt(start(new URL("../processes/event-reader.ts", import.meta.url), [tree.folder, url]), end);
        await messageOf(reader);
      }
      const jobs = Math.ceil((await drain(queue, LOAD, warmUpMs(seconds) / 1000)) * seconds);
      const before = queue.cpuUs();
      await runStretch(queue, LOAD, jobs);
      return [(queue.cpuUs() - before) / jobs];
    },
  );
}
