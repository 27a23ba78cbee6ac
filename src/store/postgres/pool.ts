import { atMost, systemClock } from "../../lib/clock.ts";
import type { DriverClient, DriverPool, PooledClient } from "./driver.ts";
import { configureSession, destroySocket } from "./session.ts";

/** Where calls get their connections. */
export interface Pool {
  take(): Promise<PooledClient>;
  release(client: PooledClient): void;
  /** Ends a connection that may be dead, without waiting for the server. */
  destroy(client: PooledClient): void;
  /** Ends the connections that nobody uses: what broke one probably broke them, too. */
  destroyIdle(): void;
  /** Ends all. After `giveUp` it hardly waits for the server. */
  end(isGivenUp: boolean): Promise<void>;
}

/** How long the server may take to confirm a disconnect. */
export const DISCONNECT_MS = 1_000;
/** The same after `giveUp`. */
export const LAST_DISCONNECT_MS = 100;

/** A pool of our own. Its sessions have our settings. */
export class OwnPool implements Pool {
  readonly #pool: DriverPool;
  /** Connections that are not in use. */
  readonly #idle = new Set<DriverClient>();
  /** Connections whose session has our settings. */
  readonly #configured = new WeakSet<DriverClient>();

  constructor(pool: DriverPool) {
    this.#pool = pool;
    // An idle connection that dies leaves the pool; one in use fails its query. Neither may end the process.
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      client.on("error", () => {});
      client.on("end", () => this.#idle.delete(client));
    });
  }

  /**
   * A connection with our session settings. The pool could apply them (`verify`), but if the caller stops waiting meanwhile it gives the
   * connection to nobody, and its place in the pool is lost for good.
   */
  async take(): Promise<PooledClient> {
    const client = await this.#pool.connect();
    this.#idle.delete(client);
    if (this.#configured.has(client)) return client;
    try {
      await configureSession(client);
    } catch (error) {
      this.destroy(client);
      throw error;
    }
    this.#configured.add(client);
    return client;
  }

  release(client: PooledClient): void {
    this.#idle.add(client);
    client.release();
  }

  destroy(client: PooledClient): void {
    client.release(true);
    // A dead connection would wait for the server's confirmation for ever.
    destroySocket(client);
  }

  destroyIdle(): void {
    for (const client of this.#idle) destroySocket(client);
  }

  async end(isGivenUp: boolean): Promise<void> {
    const gone = Array.from(this.#idle, whenGone);
    const ended = this.#pool.end();
    // Otherwise a connection under way to a silent server would be waited for until it fails.
    if (!isGivenUp) return void (await Promise.all([ended, ...gone]));
    this.destroyIdle();
    await atMost(systemClock, LAST_DISCONNECT_MS, ended);
  }
}

/** Resolves when a connection of the pool has ended; destroys it if that takes too long. */
function whenGone(client: DriverClient): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      destroySocket(client);
      resolve();
    }, DISCONNECT_MS);
    client.on("end", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
