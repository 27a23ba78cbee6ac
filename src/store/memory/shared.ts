import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";
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

  /** Drops up to `limit` of each. */
  sweep(now: number, limit: number): number {
    return this.workers.sweep(now - FORMER_WORKERS_MS, limit) + this.allowances.sweep(now, limit) + this.marks.sweep(now, limit);
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

  sweep(now: number, limit: number): number {
    const over = [...this.#entries].filter(([, { until }]) => until <= now).slice(0, limit);
    for (const [name] of over) this.#entries.delete(name);
    return over.length;
  }
}

export function registerWorker({ shared, now }: Context, worker: WorkerEntry, ttlMs: number): void {
  shared.workers.set(worker.id, { ...structuredClone(worker), heartbeatAt: now }, now + ttlMs);
}

export function unregisterWorker({ shared, now }: Context, workerId: string): void {
  const worker = shared.workers.get(workerId, now);
  if (worker !== undefined) shared.workers.set(workerId, { ...worker, state: STOPPED }, now);
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
