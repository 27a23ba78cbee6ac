import type { OnTrouble, Trouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";

/** The default for trouble: a line on the console. */
export function warn({ message }: Trouble): void {
  console.warn(`millrace: ${message}`);
}

/** The same message is repeated only after this time. */
const WARN_AGAIN_MS = 60_000;

/** Protects a worker from a listener that throws, and the listener from the same message ten thousand times a second. */
export function guarded(onTrouble: OnTrouble, clock: Clock): OnTrouble {
  const latest = new Map<Trouble["kind"], { readonly message: string; readonly at: number }>();
  return (trouble) => {
    const last = latest.get(trouble.kind);
    const now = clock.monotonic();
    if (last?.message === trouble.message && now - last.at < WARN_AGAIN_MS) return;
    latest.set(trouble.kind, { message: trouble.message, at: now });
    try {
      onTrouble(trouble);
    } catch {
      // Nobody is left to tell.
    }
  };
}
