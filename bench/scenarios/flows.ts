import type { Figure } from "../figure.ts";
import { drain } from "../measure/drain.ts";
import type { MillraceQueue } from "../millrace-queue.ts";
import type { Session } from "../session.ts";
import type { Scenario } from "./scenario.ts";

const LOAD = { slots: 100, handlerMs: 0 };
const MEMBERS = 1000;
export const WITHOUT_FLOWS = "jobs without flows";

/** What flows cost: members that run side by side, with one that runs after all of them. The end of each flow is timed, too. */
export const flows: Scenario = {
  name: "flows",
  isOnPage: true,
  measure: (session) => drainFlows(session),
};

function drainFlows(session: Session): Promise<Figure[]> {
  const { seconds } = session.extent;
  const rate = async (queue: MillraceQueue): Promise<number[]> => [await drain(queue, LOAD, seconds)];
  return session.contest(
    [{ what: `drain, 100 slots, flows of ${MEMBERS.toLocaleString("en")} members and a callback`, unit: "jobs/s" }],
    [session.ours(rate, { membersOfFlow: MEMBERS })[0]!, session.otherwise(WITHOUT_FLOWS, rate)],
  );
}
