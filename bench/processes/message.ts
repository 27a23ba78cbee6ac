import { once } from "node:events";

/** What a process sends to its parent: that it is warm, or how many jobs it did since all were ready, when the last one ended, and the CPU time. */
export type Message =
  { readonly kind: "ready" } | { readonly kind: "did"; readonly jobs: number; readonly at: number; readonly cpuUs: number };

export function say(message: Message): void {
  process.send!(message);
}

/** CPU time of this process since `start`, in microseconds. */
export function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

/** Reports that this process is warm, and waits until all others are. */
export async function untilAllAreReady(): Promise<void> {
  const go = once(process, "message");
  say({ kind: "ready" });
  await go;
}

/** Jobs that a process does before it is timed, to leave out its start-up. */
export const WARM_UP_JOBS = 3_000;
