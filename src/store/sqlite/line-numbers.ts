/** THE NUMBERS that this engine stores for limit keys and their lines. */

/**
 * Where a line stands (see TURNS in store.ts):
 *
 *   ring     it may have pending jobs, and its key may have room. A claim that finds it without any takes it out
 *   asleep   it has pending jobs, and waits for a rate, or its key is held: until its time
 *   parked   it has pending jobs, and its key has as many leases as it may have: until one of them ends
 *   empty    it has no pending jobs
 */
export const PLACE = { empty: 0, ring: 1, asleep: 2, parked: 3 } as const;

/** What a queue has had of limit keys, as bits: claims and ends of other queues look no further. */
export const KEYED = {
  /** Jobs with a limit key. */
  jobs: 1,
  /** Keys with limits of their own. */
  own: 2,
  /** A limit of waiting jobs: from then on, each key counts them. */
  waiting: 4,
} as const;
