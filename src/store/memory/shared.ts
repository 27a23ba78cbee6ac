import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";
import { AUDIT_KEPT_MS, type AuditEntry, MAX_AUDIT_ENTRIES, type NewAuditEntry } from "../../core/audit.ts";
import type { Actor } from "../../core/manual-change.ts";
import { livingMutes, type Mute } from "../../core/mute.ts";
import { MAX_KEPT_SCHEMAS } from "../../core/payload-schema.ts";
import { FORMER_WORKERS_MS, formerOf, type FormerWorker, MAX_FORMER_WORKERS, STOPPED, type WorkerEntry } from "../../core/worker-entry.ts";
import type { Context } from "./context.ts";

type LivingWorker = WorkerEntry & { readonly heartbeatAt: number };
/** An entry that ended or expired stays, with its end as the time of its expiry. */
type KnownWorker = Omit<LivingWorker, "state"> & { readonly state: WorkerEntry["state"] | typeof STOPPED };

/** What processes share besides jobs. */
export class Shared {
  readonly workers = new Expiring<KnownWorker>();
  /** When each allowance will be unused again. */
  readonly allowances = new Expiring<number>();
  readonly marks = new Expiring<true>();
  /** The text of each schema by its digest. */
  readonly schemas = new Expiring<string>();
  readonly mutes = new Map<string, Mute>();
  /** The oldest first. */
  readonly audit: AuditEntry[] = [];
  auditNumber = 0;

  /** Drops up to `limit` of each. */
  sweep(now: number, limit: number): number {
    return (
      this.workers.sweep(now, limit, { ms: FORMER_WORKERS_MS, most: MAX_FORMER_WORKERS }) +
      this.allowances.sweep(now, limit) +
      this.marks.sweep(now, limit) +
      this.schemas.sweep(now, limit) +
      this.schemas.sweepBeyond(MAX_KEPT_SCHEMAS, limit) +
      this.#sweepMutes(now, limit) +
      this.#sweepAudit(now, limit)
    );
  }

  #sweepMutes(now: number, limit: number): number {
    const kept = new Set(livingMutes(this.mutes.values(), now));
    const over = [...this.mutes.values()].filter((mute) => !kept.has(mute)).slice(0, limit);
    for (const { group } of over) this.mutes.delete(group);
    return over.length;
  }

  #sweepAudit(now: number, limit: number): number {
    const kept = this.audit.findIndex(({ at, number }) => at >= now - AUDIT_KEPT_MS && number > this.auditNumber - MAX_AUDIT_ENTRIES);
    return this.audit.splice(0, Math.min(limit, kept === -1 ? this.audit.length : kept)).length;
  }
}

/** Values by name, each with its own expiry. */
class Expiring<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>();

  set(name: string, value: Value, until: number): void {
    this.#entries.set(name, { value, until });
  }

  get(name: string, now: number): Value | undefined {
    const entry = this.#entries.get(name);
    return entry !== undefined && entry.until > now ? entry.value : undefined;
  }

  has(name: string, now: number): boolean {
    return this.get(name, now) !== undefined;
  }

  living(now: number): Value[] {
    return [...this.#entries.values()].filter(({ until }) => until > now).map(({ value }) => value);
  }

  /** Expired after `since`, with the time of the expiry, the latest first. */
  expired(now: number, since: number): { readonly value: Value; readonly until: number }[] {
    return [...this.#entries.values()].filter(({ until }) => until <= now && until > since).sort((a, b) => b.until - a.until);
  }

  /** Drops what has expired, except that `kept` of it stay: the latest, for so long. */
  sweep(now: number, limit: number, kept: { readonly ms: number; readonly most: number } = { ms: 0, most: 0 }): number {
    const expired = [...this.#entries].filter(([, { until }]) => until <= now).sort(([, a], [, b]) => b.until - a.until);
    const over = expired.filter(([, { until }], index) => index >= kept.most || until <= now - kept.ms).slice(0, limit);
    for (const [name] of over) this.#entries.delete(name);
    return over.length;
  }

  /** Drops what expires first, so that `most` stay. */
  sweepBeyond(most: number, limit: number): number {
    const count = Math.max(0, Math.min(limit, this.#entries.size - most));
    if (count === 0) return 0;
    const first = [...this.#entries].sort(([, a], [, b]) => a.until - b.until).slice(0, count);
    for (const [name] of first) this.#entries.delete(name);
    return count;
  }
}

export function registerWorker({ shared, now }: Context, worker: WorkerEntry, ttlMs: number): void {
  shared.workers.set(worker.id, { ...structuredClone(worker), heartbeatAt: now }, now + ttlMs);
}

export function unregisterWorker({ shared, now }: Context, workerId: string): void {
  const worker = shared.workers.get(workerId, now);
  if (worker !== undefined) shared.workers.set(workerId, { ...worker, state: STOPPED }, now);
}

export function muteGroup({ shared, now }: Context, group: string, { by, reason }: Actor, ttlMs: number | null): void {
  shared.mutes.set(group, { group, by, reason, at: now, until: ttlMs === null ? null : now + ttlMs });
}

export function readMutes({ shared, now }: Context): Mute[] {
  return livingMutes(shared.mutes.values(), now).map((mute) => ({ ...mute }));
}

export function writeAudit({ shared, now }: Context, entries: readonly NewAuditEntry[]): void {
  shared.audit.push(...entries.map((entry) => ({ ...entry, number: ++shared.auditNumber, at: now })));
}

export function readAudit({ shared }: Context, before: number | null, limit: number): AuditEntry[] {
  const older = before === null ? shared.audit : shared.audit.filter(({ number }) => number < before);
  return older
    .slice(-limit)
    .reverse()
    .map((entry) => ({ ...entry }));
}

export function livingWorkers({ shared, now }: Context): LivingWorker[] {
  return structuredClone(shared.workers.living(now) as LivingWorker[]);
}

export function formerWorkers({ shared, now }: Context): FormerWorker[] {
  const expired = shared.workers.expired(now, now - FORMER_WORKERS_MS).slice(0, MAX_FORMER_WORKERS);
  return structuredClone(expired).map(({ value: { heartbeatAt, ...entry }, until }) => formerOf(entry, heartbeatAt, until));
}

export function spendShare({ shared: { allowances }, now }: Context, spend: Spend): Spent {
  const { taken, waitMs, freeAt } = takeShare(allowances.get(spend.name, now) ?? now, spend, now);
  allowances.set(spend.name, freeAt, freeAt);
  return { taken, waitMs };
}
