/** The payload of all jobs, about 150 bytes. */
export const PAYLOAD = {
  to: "someone@example.com",
  subject: "Your order has been shipped",
  template: "order-shipped",
  data: { order: 4711, lines: 3, total: 129.9 },
};

/** Jobs per second. */
export async function rate(jobs: number, run: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await run();
  return jobs / ((performance.now() - started) / 1000);
}

/** Runs `callers` loops; each awaits one call before it makes the next. */
export async function byCallers(callers: number, calls: number, call: () => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next++ < calls) await call();
    }),
  );
}

/** The same with batches: `run` gets the size of its batch. */
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

export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
