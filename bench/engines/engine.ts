import type { OpenBare } from "../bare/bare.ts";
import type { Site } from "../places/place.ts";
import type { Peer } from "../queue.ts";

/** An engine in the bench: where it runs, and what it is compared with. */
export interface Engine {
  readonly name: string;
  /** Its name in the docs. */
  readonly title: string;
  openSite(): Promise<Site>;
  /** How many batches are in flight, for ours and for the bare statements. */
  readonly inFlight: 1 | 2;
  readonly openBare: OpenBare | null;
  readonly peers: readonly Peer[];
  /** Whether other processes can open the same store. */
  readonly isShared: boolean;
  /** The same engine with another set-up, to measure its cost. */
  readonly variant: { readonly name: string; openSite(): Promise<Site> } | null;
}
