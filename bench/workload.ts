/** What every contender is given: a payload of about 150 bytes. */
export const PAYLOAD = {
  to: "someone@example.com",
  subject: "Your order has been shipped",
  template: "order-shipped",
  data: { order: 4711, lines: 3, total: 129.9 },
};

/** Jobs a second. */
export async function rate(jobs: number, run: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await run();
  return jobs / ((performance.now() - started) / 1000);
}

/** `callers` loops that each await one call before they make the next. */
export async function byCallers(callers: number, calls: number, call: () => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next++ < calls) await call();
    }),
  );
}

/** The same with whole batches: `run` is told how many jobs its batch has. */
export async function byBatches(jobs: number, batch: number, inFlight: number, run: (size: number) => Promise<unknown>): Promise<void> {
  let left = jobs;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (left > 0) {
        const size = Math.min(batch, left);
        left -= size;
        await run(size);
      }
    }),
  );
}

/** The value that this share of all values is below. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
