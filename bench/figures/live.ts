import { openMillrace } from "../millrace-queue.ts";
import { onFresh } from "../places/place.ts";
import { consumeAlone, consumeHeard } from "../processes/run-processes.ts";
import type { Run } from "../contest.ts";
import type { Figure } from "../report.ts";
import type { Session } from "./session.ts";

/** Readers of events may cost workers at most this much more. We compare CPU time, because other programs do not change it. */
const ASKED = 1.1;

/** What a reader of events in another process costs a worker. */
export async function liveFigures(session: Session): Promise<Figure[]> {
  if (session.engine.processes === "none") return [];
  const alone = { name: "nobody reads", run: draining(session, consumeAlone), atMost: ASKED };
  return session.contest("drain, a job, while events are read", "µs", draining(session, consumeHeard), [alone]);
}

function draining(session: Session, consume: (url: string, jobs: number) => Promise<number>): Run {
  const jobs = session.jobs(session.engine.jobs.processes);
  return () =>
    onFresh(session.site, async ({ url }) => {
      const queue = await openMillrace({ url });
      await queue.fill(jobs);
      await queue.close();
      return [await consume(url, jobs)];
    });
}
