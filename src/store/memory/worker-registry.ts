import type { WorkerEntry } from "../../core/worker-entry.ts";

type LivingWorker = WorkerEntry & { readonly heartbeatAt: number };

/** Which workers there are, as they said themselves lately. */
export class WorkerRegistry {
  readonly #workers = new Map<string, { readonly worker: LivingWorker; readonly until: number }>();

  register(entry: WorkerEntry, ttlMs: number, now: number): void {
    this.#workers.set(entry.id, { worker: { ...structuredClone(entry), heartbeatAt: now }, until: now + ttlMs });
  }

  unregister(id: string): void {
    this.#workers.delete(id);
  }

  living(now: number): LivingWorker[] {
    const living = [...this.#workers.values()].filter(({ until }) => until > now);
    return structuredClone(living.map(({ worker }) => worker));
  }

  sweep(now: number, limit: number): number {
    const gone = [...this.#workers.values()].filter(({ until }) => until <= now).slice(0, limit);
    for (const { worker } of gone) this.#workers.delete(worker.id);
    return gone.length;
  }
}
