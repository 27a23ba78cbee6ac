/** Where pending jobs stand, for people who wait for them. All of it is read from the heads of lanes, or counted up to a bound. */
import { STRICT_HEAD_START_MS } from "../../core/rank.ts";
import { STATE } from "../numbers.ts";
import type { OldestPending } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { idToBlob } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { COUNT_CAME_BEFORE, COUNT_RANKED_BEFORE, HEAD_OF_LANE, STANDING_OF_JOB } from "./statements.ts";

/** Of each queue that has pending jobs, when the longest due of them was due. */
export function oldestPending(on: Connection, catalog: Catalog): OldestPending[] {
  const oldest = new Map<string, number>();
  for (const lane of catalog.readyLanes()) {
    const { queue } = catalog.namesOf(lane);
    const isStrict = catalog.queue(queue).settings.headStartMs === STRICT_HEAD_START_MS;
    for (const runAt of headsOf(on, lane, isStrict)) oldest.set(queue, Math.min(runAt, oldest.get(queue) ?? runAt));
  }
  return Array.from(oldest, ([queue, runAt]) => ({ queue, runAt }));
}

/**
 * The first of a lane by rank; with strict priority, the first of each priority in it: their ranks lie apart by more than all times there are,
 * so that one can jump from one priority to the next.
 */
function* headsOf(on: Connection, lane: number, isStrict: boolean): Generator<number> {
  for (let from = -Number.MAX_SAFE_INTEGER; ;) {
    const head = on.get(HEAD_OF_LANE, lane, from) as [rank: number, runAt: number] | undefined;
    if (head === undefined) return;
    const [rank, runAt] = head;
    yield runAt;
    if (!isStrict) return;
    // By its rank and not by its priority: while a queue is being ranked anew, some have the rank of the old head start.
    from = (Math.floor(rank / STRICT_HEAD_START_MS) + 1) * STRICT_HEAD_START_MS;
  }
}

/** How many jobs of these types go before a pending one, counted up to `most`; null when it is not pending. */
export function countAhead(on: Connection, catalog: Catalog, id: string, types: readonly string[] | "*", most: number): number | null {
  const found = on.get(STANDING_OF_JOB, idToBlob(id)) as [seq: number, queue: number, state: number, rank: number] | undefined;
  if (found === undefined || found[2] !== STATE.pending) return null;
  const [seq, queue, , rank] = found;
  let count = 0;
  for (const lane of catalog.lanes(queue, types)) {
    if (count < most) count += on.number(COUNT_RANKED_BEFORE, lane, rank, most - count)!;
    if (count < most) count += on.number(COUNT_CAME_BEFORE, lane, rank, seq, most - count)!;
  }
  return count;
}
