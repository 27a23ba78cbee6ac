import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";

/** Asks for all addresses of a host. `signal` aborts when nobody waits for the answer any more. */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

/**
 * The system's own lookup (hosts file and all) holds one of four threads that files and cryptography need too, for as long as a name
 * server cares to be silent. So only two wait at a time: names that never answer must not stop the rest of the process.
 */
const MAX_LOOKUPS = 2;

let underWay = 0;
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
  if (underWay < MAX_LOOKUPS) underWay++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
}

/** To the one who waited longest, if anybody does: whoever comes now must not slip in between. */
function passTurnOn(): void {
  const next = waiting.shift();
  if (next === undefined) underWay--;
  else next();
}
