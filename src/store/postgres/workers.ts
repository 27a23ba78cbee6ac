import type { WorkerEntry } from "../../core/worker-entry.ts";
import { encodeText } from "./codec.ts";
import type { Desk } from "./desk.ts";

export async function registerWorker(desk: Desk, worker: WorkerEntry, ttlMs: number): Promise<void> {
  const values = [desk.now(), encodeText(worker.id), JSON.stringify(worker), ttlMs];
  await desk.connections.call(desk.sql.putWorker, values, { beat: true });
}

export async function unregisterWorker(desk: Desk, workerId: string): Promise<void> {
  await desk.connections.call(desk.sql.deleteWorker, [encodeText(workerId)]);
}

export async function liveWorkers(desk: Desk): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
  const rows = await desk.connections.call(desk.sql.liveWorkers, [desk.now()]);
  return rows.map(([entry, heartbeatAt]) => ({ ...(JSON.parse(entry as string) as WorkerEntry), heartbeatAt: heartbeatAt as number }));
}
