import * as measures from "../measures.ts";
import type { Figure } from "../report.ts";
import { rate } from "../workload.ts";
import type { Session } from "./session.ts";

/** Enqueue rates: one caller, a hundred callers that each await their call, and `enqueueMany`. */
export async function enqueueFigures(session: Session): Promise<Figure[]> {
  return [...(await oneCaller(session)), ...(await hundredCallers(session)), ...(await manyAtATime(session))];
}

function oneCaller(session: Session): Promise<Figure[]> {
  const jobs = session.jobs(session.engine.jobs.oneCaller);
  return session.contest(
    "enqueue, 1 caller",
    "jobs/s",
    session.ours(async (queue) => [await measures.enqueue(queue, 1, jobs)]),
    [session.bare("1 a commit", (bare) => rate(jobs, () => bare.insert(jobs, 1, 1)))],
  );
}

function hundredCallers(session: Session): Promise<Figure[]> {
  const { engine, rivals } = session;
  const { inFlight, asked } = engine;
  const jobs = session.jobs(engine.jobs.callers);
  const batch = 100 / inFlight;
  const insert = session.bare(`${inFlight} × ${batch}`, (bare) => rate(jobs, () => bare.insert(jobs, batch, inFlight)), {
    atLeast: asked.bareEnqueue,
  });
  const peers = rivals.map(({ peer, asked }) => ({
    ...session.peer(peer, "throughput", async (queue) => [await measures.enqueue(queue, 100, session.jobs(peer.jobs.add))]),
    atLeast: asked.enqueue,
  }));
  const ours = session.ours(async (queue) => [await measures.enqueue(queue, 100, jobs)]);
  return session.contest("enqueue, 100 callers", "jobs/s", ours, [insert, ...peers]);
}

function manyAtATime(session: Session): Promise<Figure[]> {
  const { inFlight, jobs: counts } = session.engine;
  const jobs = session.jobs(counts.many);
  return session.contest(
    "enqueueMany",
    "jobs/s",
    session.ours(async (queue) => [await rate(jobs, () => queue.fill(jobs))]),
    [session.bare(`${inFlight} × 1,000`, (bare) => rate(jobs, () => bare.insert(jobs, 1000, inFlight)))],
  );
}
