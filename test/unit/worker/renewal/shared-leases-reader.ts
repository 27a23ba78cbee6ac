/** Reads leases that another thread writes all the time, and tells which were torn. */
import { parentPort, workerData } from "node:worker_threads";
import type { Held } from "../../../../src/worker/renewal/lease-book.ts";
import { readSharedLeases } from "../../../../src/worker/renewal/shared-leases.ts";

const torn: Held[] = [];
/** By how much the clock of this thread is ahead of the writer's: the same for all that it reads, but for rounding. */
let aheadMs: number | null = null;
let seen = 0;
while (seen < 2000) {
  for (const lease of readSharedLeases(workerData as SharedArrayBuffer)) {
    const { id, fence, stopAt, heldAt } = lease;
    seen++;
    aheadMs ??= fence - heldAt;
    if (String(fence) !== id || stopAt !== heldAt || Math.abs(fence - heldAt - aheadMs) > 0.01) torn.push(lease);
    if (seen === 2000) break;
  }
}
const port = parentPort!;
port.postMessage({ seen, torn });
