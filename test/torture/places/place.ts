import type { Deed } from "../deed.ts";

/** Where the store of a run is, and what can be done to it there. */
export interface Place {
  /** Straight to the store, for the one who looks. */
  readonly url: string;
  /** Whether its time is that of the machine, against which all times can be held. */
  readonly hasMachineTime: boolean;
  /** What is done to the store, and to the ways there. */
  readonly deeds: readonly Deed[];
  /** What others do beside us who share it. */
  readonly strangers: readonly Deed[];
  /** What cannot be done here, and why. */
  readonly untried: readonly string[];
  /** The way of one process to the store: it has it alone, so that it can be cut off alone. */
  reach(process: string): Promise<string>;
  /** Writes something that is none of ours, and resolves when it is committed. */
  probe(): Promise<void>;
  /** Nothing stands in anybody's way any more. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}
