import { Meter } from "../measure/meter.ts";
import type { Scenario } from "./scenario.ts";

const AT_ONCE = 100;

/** Callers enqueue while as many slots run the jobs. */
export const enqueueAndDrain: Scenario = {
  name: "enqueue-and-drain",
  isOnPage: false,
  measure(session) {
    const ours = session.ours(async (queue) => {
      const meter = new Meter(session.extent.seconds);
      const timeIsUp = new AbortController();
      const work = await queue.work({ slots: AT_ONCE, handlerMs: 0 }, (ended) => void (meter.add(ended) || timeIsUp.abort()));
      const caller = async (): Promise<void> => {
        while (!timeIsUp.signal.aborted) await queue.add();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, caller));
      await work.stop();
      return [meter.perSecond];
    });
    return session.contest([{ what: "enqueue and drain at once", unit: "jobs/s" }], ours);
  },
};
