import type { Deed } from "../deed.ts";

/** Where the store of a run is, and what can be done to it there. */
export interface Place {
  /** Straight to the store, for the one who looks. */
  readonly url: string;
  /** Whether its time is that of the machine, against which all times can be held. */
  readonly hasMachineTime: boolean;
  readonly deeds: readonly Deed[];
  /** What cannot be done here, and why. */
  readonly untried: readonly string[];
  /** The way of one process to the store: it has it alone, so that it can be cut off alone. */
  reach(): Promise<string>;
  /** Nothing stands in anybody's way any more. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}
