import { isInternalWorker } from "../core/internal.ts";
import type { Store } from "../store/store.ts";
import type { WorkerInfo } from "./client.ts";
import { readInternal } from "./filter.ts";
import { readOptions } from "./refusals.ts";

/** Live workers, without internal ones unless the caller asks for them. */
export async function listWorkers(store: Pick<Store, "workers">, options: unknown): Promise<WorkerInfo[]> {
  const { internal = false } = readOptions(options, "the options of workers", ["internal"]);
  const all = await store.workers();
  return readInternal(internal) ? all : all.filter((worker) => !isInternalWorker(worker));
}
