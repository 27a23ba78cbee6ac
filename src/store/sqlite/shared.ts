import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";
import type { AuditEntry, NewAuditEntry } from "../../core/audit.ts";
import type { Actor } from "../../core/manual-change.ts";
import type { Mute } from "../../core/mute.ts";
import { FORMER_WORKERS_MS, formerOf, type FormerWorker, type WorkerEntry } from "../../core/worker-entry.ts";
import {
  ADD_AUDIT,
  DROP_MUTE,
  FORMER_WORKERS,
  LIVE_WORKERS,
  PUT_MARK,
  PUT_MUTE,
  PUT_WORKER,
  READ_ALLOWANCE,
  READ_AUDIT,
  READ_MARK,
  READ_MUTES,
  STOP_WORKER,
  WRITE_ALLOWANCE,
} from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

export function registerWorker({ on, now }: Transaction, worker: WorkerEntry, ttlMs: number): void {
  on.run(PUT_WORKER, worker.id, JSON.stringify(worker), now, now + ttlMs);
}

export function unregisterWorker({ on, now }: Transaction, workerId: string): void {
  on.run(STOP_WORKER, now, workerId, now);
}

export function livingWorkers({ on, now }: View): (WorkerEntry & { readonly heartbeatAt: number })[] {
  return on
    .all(LIVE_WORKERS, now)
    .map(([entry, heartbeatAt]) => ({ ...(JSON.parse(entry as string) as WorkerEntry), heartbeatAt: heartbeatAt as number }));
}

export function formerWorkers({ on, now }: View): FormerWorker[] {
  return on
    .all(FORMER_WORKERS, now, now - FORMER_WORKERS_MS)
    .map(([entry, heartbeatAt, endedAt]) => formerOf(JSON.parse(entry as string) as WorkerEntry, heartbeatAt as number, endedAt as number));
}

export function spendShare({ on, now }: Transaction, spend: Spend): Spent {
  const stored = on.number(READ_ALLOWANCE, spend.name) ?? now;
  const { taken, waitMs, freeAt } = takeShare(stored, spend, now);
  if (freeAt !== stored) on.run(WRITE_ALLOWANCE, spend.name, freeAt);
  return { taken, waitMs };
}

export function setMark({ on, now }: Transaction, name: string, ttlMs: number): void {
  on.run(PUT_MARK, name, now + ttlMs);
}

export function readMarks({ on, now }: View, names: readonly string[]): boolean[] {
  return names.map((name) => (on.number(READ_MARK, name) ?? now) > now);
}

export function muteGroup({ on, now }: Transaction, group: string, actor: Actor, ttlMs: number | null): void {
  on.run(PUT_MUTE, group, now, ttlMs === null ? null : now + ttlMs, JSON.stringify(actor));
}

export function unmuteGroup({ on }: Transaction, group: string): void {
  on.run(DROP_MUTE, group);
}

export function readMutes({ on, now }: View): Mute[] {
  return on.all(READ_MUTES, now).map(([group, at, until, actor]) => {
    return { ...(JSON.parse(actor as string) as Actor), group: group as string, at: at as number, until: until as number | null };
  });
}

export function writeAudit({ on, now }: Transaction, entries: readonly NewAuditEntry[]): void {
  for (const entry of entries) on.run(ADD_AUDIT, now, JSON.stringify(entry));
}

export function readAudit({ on }: View, before: number | null, limit: number): AuditEntry[] {
  return on.all(READ_AUDIT, before ?? Number.MAX_SAFE_INTEGER, limit).map(([number, at, entry]) => {
    return { ...(JSON.parse(entry as string) as NewAuditEntry), number: number as number, at: at as number };
  });
}
