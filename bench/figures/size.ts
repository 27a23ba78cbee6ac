import * as measures from "../measures.ts";
import type { Place } from "../places/place.ts";
import type { Queue } from "../queue.ts";
import type { Figure } from "../report.ts";
import type { Session } from "./session.ts";

/** Enough to hide the fixed size of a store, and just below a power of two, where hash tables are full. */
const JOBS = 32_000;

/** The size of a job in the store, including indexes. One round is enough. */
export async function sizeFigures(session: Session): Promise<Figure[]> {
  if (!session.engine.hasBytes) return [];
  const peers = session.rivals
    .filter(({ asked }) => asked.bytes !== undefined)
    .map(({ peer, asked }) => ({ ...session.peer(peer, "throughput", bytesPerJob), atMost: asked.bytes ?? undefined }));
  return session.contest(["a waiting job", "a finished job"], "bytes", session.ours(bytesPerJob), peers, 1);
}

async function bytesPerJob(queue: Queue, place: Place): Promise<[waiting: number, finished: number]> {
  const empty = await place.bytes();
  await queue.fill(JOBS);
  const waiting = await place.bytes();
  await measures.drain(queue, 100, JOBS);
  const finished = await place.bytes();
  return [(waiting - empty) / JOBS, (finished - empty) / JOBS];
}
