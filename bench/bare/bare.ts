/**
 * The nearby limit: the same tables or keys, indexes and durability as ours, driven by batched statements, without our rules, counters,
 * promises and workers.
 */
export interface Bare {
  /** Inserts `jobs` in batches, so many of them under way at once. */
  insert(jobs: number, batch: number, inFlight: number): Promise<void>;
  /** Claims `jobs` and completes them. Each batch completes what it claimed before and claims anew, in one commit. */
  drain(jobs: number, batch: number, inFlight: number): Promise<void>;
  close(): Promise<void>;
}

/** How a bare engine is opened on a fresh place. */
export type OpenBare = (place: { readonly url: string }) => Promise<Bare>;

/** Loops that each complete what they hold and claim the next: `exchange` is given what is held and answers what is claimed. */
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
      if (held.length < limit) throw new Error(`a bare claim of ${limit} gave ${held.length}`);
    }
    await exchange(held, 0);
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
}
