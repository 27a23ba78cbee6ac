import { setTimeout as sleep } from "node:timers/promises";
import { warmUpMs } from "./meter.ts";

/** Takes samples for `seconds`, one after the other. Those of the warm-up are left out. */
export async function sampleFor(seconds: number, take: () => Promise<number>, pauseMs = 0): Promise<number[]> {
  const warmUntil = performance.now() + warmUpMs(seconds);
  const until = warmUntil + seconds * 1000;
  const samples: number[] = [];
  do {
    const isWarm = performance.now() >= warmUntil;
    const sample = await take();
    if (isWarm) samples.push(sample);
    if (pauseMs > 0) await sleep(pauseMs);
  } while (performance.now() < until || samples.length === 0);
  return samples;
}

/** How long a call takes, in milliseconds. */
export async function timeOf(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await call();
  return performance.now() - started;
}

export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** The numbers of a scenario that measures times. */
export function halfAndWorst(samples: readonly number[]): [p50: number, p99: number] {
  return [percentileOf(samples, 0.5), percentileOf(samples, 0.99)];
}
