/**
 * The practical limit: batched statements on the same tables or keys, indexes and durability as ours, without our rules, counters,
 * promises and workers.
 */
export interface Bare {
  /** Inserts `jobs` in batches, `inFlight` of them at once. */
  insert(jobs: number, batch: number, inFlight: number): Promise<void>;
  /** Claims `jobs` and completes them. Each commit completes one batch and claims the next. */
  drain(jobs: number, batch: number, inFlight: number): Promise<void>;
  close(): Promise<void>;
}

/** How a bare engine is opened on a fresh place. */
export type OpenBare = (place: { readonly url: string }) => Promise<Bare>;

/** Loops that each complete a batch and claim the next: `exchange` gets the batch to complete and returns the claimed one. */
export async function drainInTurns<Held>(
  jobs: number,
  batch: number,
  inFlight: number,
  exchange: (held: readonly Held[], limit: number) => Promise<readonly Held[]>,
): Promise<void> {
  let left = jobs;
  const loop = async (): Promise<void> => {
    let held: readonly Held[] = [];
    while (left > 0) {
      const limit = Math.min(batch, left);
      left -= limit;
      held = await exchange(held, limit);
      if (held.length < limit) throw new Error(`a bare claim of ${limit} returned ${held.length}`);
    }
    await exchange(held, 0);
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
}
