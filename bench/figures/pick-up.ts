import * as measures from "../measures.ts";
import type { Figure } from "../report.ts";
import { askedFor, type Session } from "./session.ts";

const SAMPLES = 200;
const LEAST_SAMPLES = 60;

/** How soon an idle worker starts a job that was enqueued in the same process. */
export function pickUpFigures(session: Session): Promise<Figure[]> {
  const { rivals, engine } = session;
  const samples = session.jobs(SAMPLES, LEAST_SAMPLES);
  const peers = rivals.map(({ peer, asked }) => ({
    ...session.peer(peer, "latency", (queue) => measures.pickUp(queue, samples)),
    atMost: asked.pickUp,
  }));
  return session.contest(
    ["pick-up from idle, p50", "pick-up from idle, p99"],
    "ms",
    session.ours((queue) => measures.pickUp(queue, samples)),
    [askedFor(engine.asked.pickUpMs, { atMost: 1 }), ...peers],
  );
}
