import { isInternalWorker } from "../core/internal.ts";
import { type FormerWorker, MAX_LISTED_FORMER_WORKERS } from "../core/worker-entry.ts";
import type { Store } from "../store/store.ts";
import type { WorkerInfo } from "./client.ts";
import { readInternalOption } from "./filter.ts";

/** Live workers, without internal ones unless the caller asks for them. */
export async function listWorkers(store: Pick<Store, "workers">, options: unknown, verb = "workers"): Promise<WorkerInfo[]> {
  return leaveOutInternal(await store.workers(), readInternalOption(options, verb));
}

/** The last workers that stopped or were lost in the last day; the same. */
export async function listFormerWorkers(store: Pick<Store, "formerWorkers">, options: unknown): Promise<FormerWorker[]> {
  const isAll = readInternalOption(options, "formerWorkers");
  return leaveOutInternal(await store.formerWorkers(), isAll).slice(0, MAX_LISTED_FORMER_WORKERS);
}

function leaveOutInternal<Worker extends Parameters<typeof isInternalWorker>[0]>(workers: Worker[], isAll: boolean): Worker[] {
  return isAll ? workers : workers.filter((worker) => !isInternalWorker(worker));
}
