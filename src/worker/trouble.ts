import type { Clock } from "../lib/clock.ts";

/** Something that a person should know about a worker and that no job can tell. */
export interface Trouble {
  readonly kind:
    | "abandoned" // so many handlers ignored their abort that the worker stopped claiming
    | "store" // the store cannot be reached; the worker keeps trying
    | "report" // an outcome could not be reported; the job will be seen as lost
    | "backoff" // a backoff function failed, and the stored curve was used
    | "thread"; // leases are renewed from the main loop, because the thread for it died
  /** One line: what is wrong and what to do. */
  readonly message: string;
  readonly error?: unknown;
}

export type OnTrouble = (trouble: Trouble) => void;

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
