import type { OnTrouble, Trouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";

/** What is done with trouble when nobody else listens. */
export function warn({ message }: Trouble): void {
  console.warn(`millrace: ${message}`);
}

/** The same words again are told once in so long. */
const TELL_AGAIN_MS = 60_000;

/** A listener that may be told the same thing ten thousand times a second, and may throw: neither must harm a worker. */
export function guarded(onTrouble: OnTrouble, clock: Clock): OnTrouble {
  const told = new Map<Trouble["kind"], { readonly message: string; readonly at: number }>();
  return (trouble) => {
    const last = told.get(trouble.kind);
    const now = clock.monotonic();
    if (last?.message === trouble.message && now - last.at < TELL_AGAIN_MS) return;
    told.set(trouble.kind, { message: trouble.message, at: now });
    try {
      onTrouble(trouble);
    } catch {
      // There is nobody left to tell.
    }
  };
}
