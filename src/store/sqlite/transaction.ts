import type { Hint } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import type { GrantedLeases } from "./exchange.ts";
import type { Counts } from "./counters.ts";
import type { LineMemory } from "./lines.ts";

/** What a read outside of a transaction works with. */
export interface View {
  readonly on: Connection;
  readonly catalog: Catalog;
  /** The store's time; each access reads it from the file. */
  readonly now: number;
}

/** What a write works with. Its time is the same throughout the transaction. */
export interface Transaction extends View {
  /** Adds up what changes; written once before the commit. */
  readonly counts: Counts;
  /** What it has found out about limit keys. */
  readonly lines: LineMemory;
  /** The leases of this process; null in a caller's transaction. */
  readonly granted: GrantedLeases | null;
  /** Sends the hint to all processes after the commit. */
  sendHint(hint: Hint): void;
}
