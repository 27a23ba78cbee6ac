import { once } from "node:events";

/**
 * What a process of the bench says to the one that started it: it is warm, or how many jobs it did since all were ready, when the last of them
 * was, and how much of the processor's time that took it.
 */
export type Word =
  { readonly kind: "ready" } | { readonly kind: "did"; readonly jobs: number; readonly at: number; readonly cpuUs: number };

/** Says it to the process that started this one. */
export function say(word: Word): void {
  process.send!(word);
}

/** The processor's time, in microseconds, that this process took since the given moment. */
export function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Says that this process is warm, and waits until all others are. */
export async function untilAllAreReady(): Promise<void> {
  const go = once(process, "message");
  say({ kind: "ready" });
  await go;
}

/** Jobs that a process does before it is timed: what is compared is not how fast a process starts. */
export const WARM_UP_JOBS = 3_000;
