/** What can be said about a store by looking, without opening it for work or changing anything in it. */
export interface StoreReport {
  /** The engine with the version that it says it has: "PostgreSQL 18.1". */
  readonly engine: string;
  /**
   * The version of our schema that was found, 0 when there is none yet, and the one that this Millrace makes; and whether the functions of this
   * Millrace are missing in it. Null where there is no schema.
   */
  readonly schema: { readonly found: number; readonly wanted: number; readonly lacksFunctions?: boolean } | null;
  /** The store's own time; null where that is this process's. */
  readonly now: number | null;
  /** What a person should know, good or bad. */
  readonly findings: readonly StoreFinding[];
}

/** One thing that was looked at. */
export interface StoreFinding {
  /** `doubtful` works, but may surprise; `bad` does not work, or loses jobs. */
  readonly grade: "good" | "doubtful" | "bad";
  /** What is, and for what is not well, what to do. */
  readonly message: string;
}
