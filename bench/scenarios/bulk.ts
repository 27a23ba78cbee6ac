import { callRate } from "../measure/call.ts";
import type { Queue } from "../queue.ts";
import type { Scenario } from "./scenario.ts";

const AT_ONCE = 10_000;

/** Many jobs in each call, and two calls at once. */
export const bulk: Scenario = {
  name: "bulk",
  isOnPage: true,
  measure(session) {
    const { seconds } = session.extent;
    const fill = async (queue: Queue): Promise<number[]> => [
      await callRate(seconds, { callers: 1, jobs: AT_ONCE }, () => queue.fill(AT_ONCE)),
    ];
    return session.contest(
      [{ what: "bulk", unit: "jobs/s" }],
      [...session.ours(fill), ...session.bare(`${session.engine.inFlight} × 1,000`, fill), ...session.peers("throughput", fill)],
    );
  },
};
