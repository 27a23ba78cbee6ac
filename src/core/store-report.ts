/** What an inspection of a store found. It opens nothing for work and changes nothing. */
export interface StoreReport {
  /** The engine with its version: "PostgreSQL 18.1". */
  readonly engine: string;
  /**
   * The version of our schema, the one that is needed, and whether functions are missing. 0: there is none yet. On Redis it is the oldest form
   * of what is stored, and never 0: an empty Redis has the needed one, because nothing has to be created there before the first job. Null for
   * an engine without a schema.
   */
  readonly schema: { readonly found: number; readonly wanted: number; readonly lacksFunctions?: boolean } | null;
  /** The store's own time; null if the store uses this process's clock. */
  readonly now: number | null;
  /** What a person should know, good and bad. */
  readonly findings: readonly StoreFinding[];
}

/** One result of the inspection. */
export interface StoreFinding {
  /** `doubtful`: works, but may surprise. `bad`: does not work, or loses jobs. */
  readonly grade: "good" | "doubtful" | "bad";
  /** What was found and, unless it is good, what to do. */
  readonly message: string;
}
