import { pickUp as timePickUp } from "../measure/pick-up.ts";
import type { Queue } from "../queue.ts";
import type { Scenario } from "./scenario.ts";

/** How soon an idle worker has run a job that was enqueued in the same process. */
export const pickUp: Scenario = {
  name: "pick-up",
  isOnPage: true,
  measure(session) {
    const time = (queue: Queue): Promise<readonly number[]> => timePickUp(queue, session.extent.seconds);
    return session.contest(
      [
        { what: "pick-up from idle", of: "p50", unit: "ms" },
        { what: "pick-up from idle", of: "p99", unit: "ms" },
      ],
      [...session.ours(time), ...session.peers("latency", time)],
    );
  },
};
