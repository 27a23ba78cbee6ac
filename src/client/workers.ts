import { isInternalWorker } from "../core/internal.ts";
import type { Store } from "../store/store.ts";
import type { WorkerInfo } from "./client.ts";
import { readInternalOption } from "./filter.ts";

/** Live workers, without internal ones unless the caller asks for them. */
export async function listWorkers(store: Pick<Store, "workers">, options: unknown): Promise<WorkerInfo[]> {
  const isAll = readInternalOption(options, "workers");
  const all = await store.workers();
  return isAll ? all : all.filter((worker) => !isInternalWorker(worker));
}
