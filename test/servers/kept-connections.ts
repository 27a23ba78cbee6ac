import pg from "pg";
import type { Driver, PoolOptions } from "../../src/store/postgres/driver.ts";

/** Pools that were ended and can be used again, by what they were opened with. */
const free = new Map<string, KeptPool[]>();

/**
 * A pool whose connections outlive it: the next pool for the same database goes on with them. A suite opens a store for each test, and to plan
 * our functions on a new connection takes the server longer than all that the test does with them.
 */
class KeptPool extends pg.Pool {
  readonly #key: string;

  constructor(options: PoolOptions) {
    // Not the options whole: they have functions.
    const key = JSON.stringify([options.connectionString, options.max, options.min]);
    super(options);
    this.#key = key;
    const kept = free.get(key)?.pop();
    // Whoever asks for a pool is given one that is there.
    if (kept !== undefined) return kept;
  }

  /** Ends it for the one who used it. One with connections in use is ended for good: nobody knows what is on them. */
  override async end(): Promise<void> {
    if (this.idleCount < this.totalCount || this.waitingCount > 0) return super.end();
    const clients = await Promise.all(Array.from({ length: this.totalCount }, () => this.connect()));
    for (const client of clients) {
      client.release();
      // Its user waits for it to be gone.
      client.emit("end");
      client.removeAllListeners("end");
    }
    this.removeAllListeners();
    // The server may end before this process does.
    this.on("error", () => {});
    free.set(this.#key, [...(free.get(this.#key) ?? []), this]);
  }
}

/** The driver `pg` with pools whose connections are kept for the next. */
export const KEPT: Driver = { Client: pg.Client, Pool: KeptPool };
