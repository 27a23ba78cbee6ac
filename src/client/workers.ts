import { isInternalWorker } from "../core/internal.ts";
import type { FormerWorker } from "../core/worker-entry.ts";
import type { Store } from "../store/store.ts";
import type { WorkerInfo } from "./client.ts";
import { readInternal } from "./filter.ts";
import { readOptions } from "./refusals.ts";

/** Live workers, without internal ones unless the caller asks for them. */
export async function listWorkers(store: Pick<Store, "workers">, options: unknown): Promise<WorkerInfo[]> {
  return leaveOutInternal(await store.workers(), options, "the options of workers");
}

/** Workers that stopped or were lost in the last day; the same. */
export async function listFormerWorkers(store: Pick<Store, "formerWorkers">, options: unknown): Promise<FormerWorker[]> {
  return leaveOutInternal(await store.formerWorkers(), options, "the options of formerWorkers");
}

function leaveOutInternal<Worker extends Parameters<typeof isInternalWorker>[0]>(all: Worker[], options: unknown, what: string): Worker[] {
  const { internal = false } = readOptions(options, what, ["internal"]);
  return readInternal(internal) ? all : all.filter((worker) => !isInternalWorker(worker));
}
