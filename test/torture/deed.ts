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
  /** How far ahead the clock is that was set forward the furthest. */
  readonly lead: { ms: number };
}

/** Something that is done to a run. */
export interface Deed {
  /** Its name in the figures. */
  readonly what: string;
  /** Does it, and makes good again what can be made good. Tells whether it was seen to take effect: nothing else counts. */
  readonly attempt: (stage: Stage) => Promise<boolean>;
}
