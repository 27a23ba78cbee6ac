import { openMillrace } from "../millrace-queue.ts";
import { onFresh } from "../places/place.ts";
import { consume, produce } from "../processes/run-processes.ts";
import type { Run } from "../contest.ts";
import type { Figure } from "../report.ts";
import type { Session } from "./session.ts";

/** Every process warms itself up, so no round is needed for that. */
const MOST_ROUNDS = 2;

/** Whether more processes are faster: they must not slow each other down. On two cores they also compete with the database server. */
export async function processFigures(session: Session): Promise<Figure[]> {
  const { processes } = session.engine;
  if (processes === "none") return [];
  const compare = (what: string, ours: Run, alone: Run): Promise<Figure[]> => {
    const one = { name: "1 process", run: alone, atLeast: processes === "required" ? 1 : undefined };
    return session.contest(what, "jobs/s", ours, [one], Math.min(session.rounds, MOST_ROUNDS));
  };
  return [
    ...(await compare("drain, 2 processes", consumers(session, 2), consumers(session, 1))),
    ...(await compare("enqueue, 4 processes", producers(session, 4), producers(session, 1))),
  ];
}

function consumers(session: Session, count: number): Run {
  const jobs = session.jobs(session.engine.jobs.processes);
  return () =>
    onFresh(session.site, async ({ url }) => {
      const queue = await openMillrace({ url });
      await queue.fill(jobs);
      await queue.close();
      return [await consume(url, count, jobs)];
    });
}

function producers(session: Session, count: number): Run {
  const jobs = session.jobs(session.engine.jobs.processes);
  return () => onFresh(session.site, async ({ url }) => [await produce(url, count, jobs)]);
}
