import type { Spend, Spent } from "../../core/allowance.ts";
import type { AuditEntry, NewAuditEntry } from "../../core/audit.ts";
import type { Actor } from "../../core/manual-change.ts";
import type { Mute } from "../../core/mute.ts";
import { formerOf, type FormerWorker, type WorkerEntry } from "../../core/worker-entry.ts";
import { encodeText } from "./codec.ts";
import { type Context, readNumbers } from "./context.ts";

export async function registerWorker(context: Context, worker: WorkerEntry, ttlMs: number): Promise<void> {
  const values = [context.now(), encodeText(worker.id), JSON.stringify(worker), ttlMs];
  await context.connections.call(context.sql.putWorker, values, { beat: true });
}

export async function unregisterWorker(context: Context, workerId: string): Promise<void> {
  await context.connections.call(context.sql.stopWorker, [context.now(), encodeText(workerId)]);
}

export async function livingWorkers(context: Context): Promise<(WorkerEntry & { readonly heartbeatAt: number })[]> {
  const rows = await context.connections.call(context.sql.liveWorkers, [context.now()]);
  return rows.map(([entry, heartbeatAt]) => ({ ...(JSON.parse(entry as string) as WorkerEntry), heartbeatAt: heartbeatAt as number }));
}

export async function formerWorkers(context: Context): Promise<FormerWorker[]> {
  const rows = await context.connections.call(context.sql.formerWorkers, [context.now()]);
  return rows.map(([entry, heartbeatAt, endedAt]) =>
    formerOf(JSON.parse(entry as string) as WorkerEntry, heartbeatAt as number, endedAt as number),
  );
}

export async function spendShares(context: Context, spends: readonly Spend[]): Promise<Spent[]> {
  if (spends.length === 0) return [];
  const names = spends.map(({ name }) => encodeText(name));
  const values = [context.now(), names, spends.map(({ units }) => units), spends.map(({ perMs }) => perMs)];
  const [row] = await context.connections.call(context.sql.spend, values);
  const answers = readNumbers(row![0] as string);
  return spends.map((_, index) => ({ taken: answers[2 * index]!, waitMs: answers[2 * index + 1]! }));
}

export async function setMark(context: Context, name: string, ttlMs: number): Promise<void> {
  await context.connections.call(context.sql.putMark, [context.now(), encodeText(name), ttlMs]);
}

export async function readMarks(context: Context, names: readonly string[]): Promise<boolean[]> {
  if (names.length === 0) return [];
  const encoded = names.map(encodeText);
  const rows = await context.connections.call(context.sql.readMarks, [context.now(), encoded]);
  const marked = new Set(rows.map(([name]) => name as string));
  return encoded.map((name) => marked.has(name));
}

export async function muteGroup(context: Context, group: string, actor: Actor, ttlMs: number | null): Promise<void> {
  await context.connections.call(context.sql.putMute, [context.now(), group, ttlMs, JSON.stringify(actor)]);
}

export async function unmuteGroup(context: Context, group: string): Promise<void> {
  await context.connections.call(context.sql.dropMute, [group]);
}

export async function readMutes(context: Context): Promise<Mute[]> {
  const rows = await context.connections.call(context.sql.readMutes, [context.now()]);
  return rows.map(([group, at, until, actor]) => {
    return { ...(JSON.parse(actor as string) as Actor), group: group as string, at: at as number, until: until as number | null };
  });
}

export async function writeAudit(context: Context, entries: readonly NewAuditEntry[]): Promise<void> {
  const texts = entries.map((entry) => JSON.stringify(entry));
  await context.connections.call(context.sql.writeAudit, [context.now(), texts]);
}

export async function readAudit(context: Context, before: number | null, limit: number): Promise<AuditEntry[]> {
  const rows = await context.connections.call(context.sql.readAudit, [before, limit]);
  return rows.map(([number, at, entry]) => {
    return { ...(JSON.parse(entry as string) as NewAuditEntry), number: number as number, at: at as number };
  });
}
