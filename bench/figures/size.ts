import * as measures from "../measures.ts";
import type { Place } from "../places/place.ts";
import type { Queue } from "../queue.ts";
import type { Figure } from "../report.ts";
import type { Session } from "./session.ts";

/** Enough that what a store takes for itself does not show; and just below a power of two, where hash tables are full and not half empty. */
const JOBS = 32_000;

/** What a job takes in the store, with its share of the indexes. Once is enough: it is no matter of speed. */
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
