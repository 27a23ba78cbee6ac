import type { WorkerHandle } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";

/** Stops a worker. What it could not report, because the store was away to the end, is lost: whether that was right is seen in the history. */
export async function stopWorker(worker: WorkerHandle, graceMs: number): Promise<void> {
  try {
    await worker.stop({ grace: graceMs });
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== "store_unavailable") throw error;
  }
}
