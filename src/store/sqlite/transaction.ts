import type { Hint } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import type { Ledger } from "./ledger.ts";

/** What a piece of work sees while its transaction is open. */
export interface Transaction {
  readonly on: Connection;
  /** The store's time, the same for all that happens in this transaction. */
  readonly now: number;
  readonly catalog: Catalog;
  /** Adds up what changes; written once, before the commit. */
  readonly ledger: Ledger;
  /** Tells all processes, once the commit is done. */
  ring(hint: Hint): void;
}
