import type { Bare } from "../bare/bare.ts";
import * as measures from "../measures.ts";
import type { Figure } from "../report.ts";
import { rate } from "../workload.ts";
import { askedFor, type Session } from "./session.ts";

/** Rates of running jobs: with few slots, with many, and while others are enqueued. */
export async function workFigures(session: Session): Promise<Figure[]> {
  return [...(await tenSlots(session)), ...(await hundredSlots(session)), ...(await bothAtOnce(session))];
}

function tenSlots(session: Session): Promise<Figure[]> {
  const { inFlight, jobs: counts } = session.engine;
  const jobs = session.jobs(counts.drainTen);
  const batch = 10 / inFlight;
  return session.contest("drain, 10 slots", "jobs/s", oursWith(session, 10, jobs), [
    session.bare(`${inFlight} × ${batch}`, drained(jobs, batch, inFlight)),
  ]);
}

function hundredSlots(session: Session): Promise<Figure[]> {
  const { engine, rivals } = session;
  const { inFlight, asked } = engine;
  const jobs = session.jobs(engine.jobs.drainHundred);
  const batch = 100 / inFlight;
  const peers = rivals.map(({ peer, asked }) => ({
    ...session.peer(peer, "throughput", async (queue) => {
      const some = session.jobs(peer.jobs.drain);
      await queue.fill(some);
      return [await measures.drain(queue, 100, some)];
    }),
    atLeast: asked.drain,
  }));
  return session.contest("drain, 100 slots", "jobs/s", oursWith(session, 100, jobs), [
    session.bare(`${inFlight} × ${batch}`, drained(jobs, batch, inFlight), { atLeast: asked.bareDrain }),
    askedFor(asked.drain, { atLeast: 1 }),
    ...peers,
  ]);
}

function bothAtOnce(session: Session): Promise<Figure[]> {
  const jobs = session.jobs(session.engine.jobs.both);
  const ours = session.ours(async (queue) => [await measures.both(queue, 100, jobs)]);
  return session.contest("enqueue and drain at once", "jobs/s", ours, []);
}

function oursWith(session: Session, slots: number, jobs: number): ReturnType<Session["ours"]> {
  return session.ours(async (queue) => {
    await queue.fill(jobs);
    return [await measures.drain(queue, slots, jobs)];
  });
}

function drained(jobs: number, batch: number, inFlight: number): (bare: Bare) => Promise<number> {
  return async (bare) => {
    await bare.insert(jobs, 1000, inFlight);
    return rate(jobs, () => bare.drain(jobs, batch, inFlight));
  };
}
