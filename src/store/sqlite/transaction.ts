import type { Hint } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import type { GrantedLeases } from "./exchange.ts";
import type { Ledger } from "./ledger.ts";

/** What a look outside of a transaction sees. */
export interface View {
  readonly on: Connection;
  readonly catalog: Catalog;
  /** The store's time; read from the file each time that it is asked for. */
  readonly now: number;
}

/** What a piece of work sees while its transaction is open. Its time is the same for all that happens in it. */
export interface Transaction extends View {
  /** Adds up what changes; written once, before the commit. */
  readonly ledger: Ledger;
  /** What this process claimed; null in a caller's transaction. */
  readonly granted: GrantedLeases | null;
  /** Tells all processes, once the commit is done. */
  ring(hint: Hint): void;
}
