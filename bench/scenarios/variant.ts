import { callRate } from "../measure/call.ts";
import type { Queue } from "../queue.ts";
import type { Scenario } from "./scenario.ts";

/** The cost of the engine's other set-up. */
export const variant: Scenario = {
  name: "variant",
  isOnPage: false,
  async measure(session) {
    const { variant } = session.engine;
    if (variant === null) return [];
    const { seconds } = session.extent;
    await using stack = new AsyncDisposableStack();
    const site = stack.adopt(await variant.openSite(), (site) => site.close());
    const add = async (queue: Queue): Promise<number[]> => [await callRate(seconds, { callers: 100, jobs: 1 }, () => queue.add())];
    return await session.contest(
      [{ what: "enqueue, 100 callers", unit: "jobs/s" }],
      [...session.ours(add), session.otherwise(variant.name, add, { site })],
    );
  },
};
