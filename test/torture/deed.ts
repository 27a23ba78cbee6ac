import type { Client } from "../../src/client/client.ts";
import type { Recorder } from "../history/recorder.ts";
import type { Random } from "../simulation/random.ts";
import type { Deployment } from "./deployment.ts";

/** What a deed may lay hands on. */
export interface Stage {
  readonly random: Random;
  readonly deployments: readonly Deployment[];
  /** A client that nothing is done to, straight to the store. */
  readonly witness: Client;
  readonly recorder: Recorder;
  /** Whether the run is short, and so its deeds should be. */
  readonly isShort: boolean;
  /** How far ahead the clock is that was set forward the furthest. */
  readonly lead: { ms: number };
}

/** Writes down that something was done, to whom and since when, whether it was seen to take effect or not: it may have. */
export async function noted<Answer>(
  { recorder }: Stage,
  fault: { readonly what: string; readonly who: string | null; readonly jobs?: readonly string[] },
  harm: () => Promise<Answer>,
): Promise<Answer> {
  const from = recorder.now();
  try {
    return await harm();
  } finally {
    recorder.see("fault", { ...fault, from });
  }
}

/** A deed that everybody feels, because it is done to the store itself. */
export function storeDeed(what: string, attempt: Deed["attempt"], options: Pick<Deed, "isLong"> = {}): Deed {
  return { what, ...options, attempt: (stage) => noted(stage, { what, who: null }, () => attempt(stage)) };
}

/** Something that is done to a run. */
export interface Deed {
  /** Its name in the figures. */
  readonly what: string;
  /** Takes so long that a short run leaves it out. */
  readonly isLong?: boolean;
  /** Does it, and makes good again what can be made good. Tells whether it was seen to take effect: nothing else counts. */
  readonly attempt: (stage: Stage) => Promise<boolean>;
}
