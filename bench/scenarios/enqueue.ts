import { callRate } from "../measure/call.ts";
import type { Queue } from "../queue.ts";
import type { Scenario } from "./scenario.ts";

const CALLERS = [1, 100];

/** Callers that each await their call of `enqueue` before they make the next. */
export const enqueue: Scenario = {
  name: "enqueue",
  isOnPage: true,
  async measure(session) {
    const { seconds } = session.extent;
    const figures = [];
    for (const callers of CALLERS) {
      const add = async (queue: Queue): Promise<number[]> => [await callRate(seconds, { callers, jobs: 1 }, () => queue.add())];
      const inFlight = Math.min(callers, session.engine.inFlight);
      const batch = callers / inFlight;
      const bare = session.bare(`${inFlight} × ${batch}`, async (bare) => [
        await callRate(seconds, { callers: inFlight, jobs: batch }, () => bare.insert(batch)),
      ]);
      const of = callers === 1 ? "1 caller" : `${callers} callers`;
      const entrants = [...session.ours(add), ...bare, ...session.peers("throughput", add)];
      figures.push(...(await session.contest([{ what: "enqueue", of, unit: "jobs/s" }], entrants)));
    }
    return figures;
  },
};
