import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";

/** Resolves all addresses of a host. `signal` aborts when nobody waits for them any more. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/**
 * The system's lookup (with the hosts file) occupies one of four threads that files and cryptography need, too, as long as a name server does
 * not answer. So only two run at a time: names that never resolve must not stop the rest of the process.
 */
const MAX_LOOKUPS = 2;

let running = 0;
const waiting: (() => void)[] = [];

export const resolveHost: ResolveHost = async (hostname, signal) => {
  await takeTurn();
  try {
    signal.throwIfAborted();
    return await lookup(hostname, { all: true });
  } finally {
    passTurnOn();
  }
};

async function takeTurn(): Promise<void> {
  if (running < MAX_LOOKUPS) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
}

/** Passes on to the one that has waited longest, so that no new one comes in between. */
function passTurnOn(): void {
  const next = waiting.shift();
  if (next === undefined) running--;
  else next();
}
