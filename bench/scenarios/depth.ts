import { percentileOf, sampleFor, timeOf } from "../measure/sample.ts";
import { besideFew, inWords } from "./stored-many.ts";
import type { Scenario } from "./scenario.ts";

/** A deep queue must slow neither claims nor calls. */
export const depth: Scenario = {
  name: "depth",
  isOnPage: true,
  async measure(session) {
    const { stored, seconds } = session.extent;
    const ours = session.ours(async (queue) => {
      await queue.fill(stored);
      return [percentileOf(await sampleFor(seconds, () => timeOf(() => queue.client.stats())), 0.95)];
    });
    return [
      ...(await besideFew(session, "waiting", stored)),
      ...(await session.contest([{ what: `stats, p95, ${inWords(stored)} waiting`, unit: "ms" }], ours, { rounds: 1 })),
    ];
  },
};
