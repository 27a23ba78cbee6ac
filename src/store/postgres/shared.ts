import type { Spend, Spent } from "../../core/allowance.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import { encodeText } from "./codec.ts";
import { type Desk, readNumbers } from "./desk.ts";

export async function registerWorker(desk: Desk, worker: WorkerEntry, ttlMs: number): Promise<void> {
  const values = [desk.now(), encodeText(worker.id), JSON.stringify(worker), ttlMs];
  await desk.connections.call(desk.sql.putWorker, values, { beat: true });
}

export async function unregisterWorker(desk: Desk, workerId: string): Promise<void> {
  await desk.connections.call(desk.sql.deleteWorker, [encodeText(workerId)]);
}

export async function livingWorkers(desk: Desk): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
  const rows = await desk.connections.call(desk.sql.liveWorkers, [desk.now()]);
  return rows.map(([entry, heartbeatAt]) => ({ ...(JSON.parse(entry as string) as WorkerEntry), heartbeatAt: heartbeatAt as number }));
}

export async function spendShares(desk: Desk, spends: readonly Spend[]): Promise<Spent[]> {
  if (spends.length === 0) return [];
  const names = spends.map(({ name }) => encodeText(name));
  const values = [desk.now(), names, spends.map(({ units }) => units), spends.map(({ perMs }) => perMs)];
  const [row] = await desk.connections.call(desk.sql.spend, values);
  const answers = readNumbers(row![0] as string);
  return spends.map((_, index) => ({ taken: answers[2 * index]!, waitMs: answers[2 * index + 1]! }));
}

export async function setMark(desk: Desk, name: string, ttlMs: number): Promise<void> {
  await desk.connections.call(desk.sql.putMark, [desk.now(), encodeText(name), ttlMs]);
}

export async function readMarks(desk: Desk, names: readonly string[]): Promise<boolean[]> {
  if (names.length === 0) return [];
  const encoded = names.map(encodeText);
  const rows = await desk.connections.call(desk.sql.readMarks, [desk.now(), encoded]);
  const marked = new Set(rows.map(([name]) => name as string));
  return encoded.map((name) => marked.has(name));
}
