import type { Figure } from "../figure.ts";
import { drain as drainRate } from "../measure/drain.ts";
import type { Load, Queue } from "../queue.ts";
import type { Session } from "../session.ts";
import type { Scenario } from "./scenario.ts";

const SLOTS = [10, 100, 1000];
const HANDLERS_MS = [0, 1, 10];

/** One worker that runs waiting jobs. */
export const drain: Scenario = {
  name: "drain",
  isOnPage: true,
  async measure(session) {
    const figures = [];
    for (const handlerMs of HANDLERS_MS) {
      for (const slots of SLOTS) figures.push(...(await drainWith(session, { slots, handlerMs })));
    }
    return figures;
  },
};

/** Bare statements have no handlers, so they are only beside handlers that do nothing. So is ours with the most slots, beside ours with the fewest. */
function drainWith(session: Session, load: Load): Promise<Figure[]> {
  const { seconds } = session.extent;
  const { inFlight } = session.engine;
  const { slots, handlerMs } = load;
  const withLoad =
    (load: Load) =>
    async (queue: Queue): Promise<number[]> => [await drainRate(queue, load, seconds)];
  const most = SLOTS.at(-1)!;
  const only = handlerMs > 0 ? [] : session.bare(`${inFlight} × ${slots / inFlight}`, withLoad(load));
  const itself = handlerMs > 0 || slots > SLOTS[0]! ? [] : [session.otherwise(slotsText(most), withLoad({ slots: most, handlerMs }))];
  return session.contest(
    [{ what: `drain, handlers of ${handlerMs} ms`, of: slotsText(slots), unit: "jobs/s" }],
    [...session.ours(withLoad(load)), ...only, ...itself, ...session.peers("throughput", withLoad(load))],
  );
}

const slotsText = (slots: number): string => `${slots.toLocaleString("en-US")} slots`;
