import { Meter } from "./meter.ts";

/** Jobs per second of `callers` loops; each awaits one call before it makes the next. A call adds `jobs`. */
export async function callRate(seconds: number, { callers, jobs }: Calls, call: () => Promise<unknown>): Promise<number> {
  const meter = new Meter(seconds);
  await Promise.all(
    Array.from({ length: callers }, async () => {
      do await call();
      while (meter.add(jobs));
    }),
  );
  return meter.perSecond;
}

export interface Calls {
  readonly callers: number;
  readonly jobs: number;
}

/** Makes `jobs` in batches, `inFlight` of them at once: `run` gets the size of its batch. */
export async function inBatches(
  jobs: number,
  { batch, inFlight }: { readonly batch: number; readonly inFlight: number },
  run: (size: number) => Promise<unknown>,
): Promise<void> {
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
