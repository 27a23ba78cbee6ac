import { MillraceError } from "../../core/errors.ts";
import { atMost, systemClock } from "../../lib/clock.ts";
import type { ClientOptions, Driver, DriverPool, PooledClient } from "./driver.ts";
import type { Pool } from "./pool.ts";
import { destroySocket } from "./session.ts";
import { readSchema } from "./url.ts";

const WHAT = "a Pool of the package pg: connect({ pg: new Pool({ connectionString }) })";

/** A pool of the application, and what we made of its settings. */
export interface GivenPool {
  /** Calls take connections from it, and one from `spare` while it has none. */
  readonly pool: (spare: Pool) => Pool;
  /** The classes of the application's own package, for the connections that we make beside its pool. */
  readonly driver: Driver;
  readonly clientOptions: ClientOptions;
  readonly schema: string;
  /** Host, port and database, for messages. */
  readonly place: string;
}

/** What we read of a Pool of `pg`. */
interface PgPool extends DriverPool {
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly totalCount: number;
  readonly Client: Driver["Client"];
  readonly options: ClientOptions & {
    readonly host?: string;
    readonly port?: number;
    readonly database?: string;
    readonly password?: unknown;
    readonly binary?: boolean;
    readonly max: number;
  };
  readonly ending?: boolean;
  off(event: "error", listener: () => void): unknown;
}

/** Checks a pool of the application. Throws `invalid_input` if we cannot work with it. */
export function readGivenPool(given: unknown, schema: string | undefined): GivenPool {
  if (!isPool(given))
    throw refused(
      isClient(given) ? `pg is a single client, which one call would keep from all others: pass ${WHAT}` : `pg must be ${WHAT}`,
    );
  const { options } = given;
  if (given.ending === true) throw refused("pg is a pool that was ended: connect before you end it");
  if (options.binary === true) throw refused("pg is a pool with the option binary, whose rows Millrace cannot read: leave it out");
  return {
    pool: (spare) => new CallersPool(given, spare),
    driver: { Client: given.Client, Pool: given.constructor as Driver["Pool"] },
    clientOptions: copyOf(given),
    schema: readSchema(schema, "schema"),
    place: placeOf(options),
  };
}

/** How long a call waits for a pool whose connections are all in use. */
const PATIENCE_MS = 20;

/**
 * THE APPLICATION'S POOL. Its connections stay as they are: no setting of ours, because the application's own transactions run on them, too.
 * Nothing is ended but a connection that broke in our hands.
 *
 * Transactions of the application may hold all connections, and wait for calls that they make inside (`tx`), which need one more. So a call
 * that finds none free soon takes a spare one of ours.
 */
class CallersPool implements Pool {
  readonly #pool: PgPool;
  readonly #spare: Pool;
  readonly #ofSpare = new WeakSet<PooledClient>();
  /** Calls that wait for a connection of the pool, for a short time. One question stands in the pool's own queue for all of them. */
  readonly #waiting: PromiseWithResolvers<PooledClient | null>[] = [];
  #isAsking = false;
  /** Whether a call waited too long. Then calls take a spare one at once, until the question is answered. */
  #isExhausted = false;

  constructor(pool: PgPool, spare: Pool) {
    this.#pool = pool;
    this.#spare = spare;
    // An idle connection that dies leaves the pool, and must not end the process.
    pool.on("error", ignore);
  }

  async take(): Promise<PooledClient> {
    if (this.#isExhausted) return this.#takeSpare();
    const { idleCount, waitingCount, totalCount, options } = this.#pool;
    // A pool hands out a free connection only after this tick: others may be waiting for it.
    const isEmpty = idleCount <= waitingCount && totalCount >= options.max;
    const client = await (isEmpty || this.#waiting.length > 0 ? this.#takeSoon() : this.#pool.connect());
    if (client === null) return this.#takeSpare();
    // If it dies in our hands, its query fails. The event would end the process.
    client.on("error", ignore);
    return client;
  }

  async #takeSpare(): Promise<PooledClient> {
    const spare = await this.#spare.take();
    this.#ofSpare.add(spare);
    return spare;
  }

  /** A connection of the pool, if it has one soon. */
  async #takeSoon(): Promise<PooledClient | null> {
    const call = Promise.withResolvers<PooledClient | null>();
    this.#waiting.push(call);
    this.#ask();
    const client = await atMost(systemClock, PATIENCE_MS, call.promise);
    const place = this.#waiting.indexOf(call);
    // It may have got one in the same moment in which its time was over.
    if (place < 0) return client ?? call.promise;
    this.#waiting.splice(place, 1);
    this.#isExhausted = true;
    return null;
  }

  /**
   * Asks the pool for one connection, and again while calls wait. Never for two at once: in its queue they would keep the application
   * waiting. The question stays there when no call waits for it any more: its answer says that the pool has connections again.
   */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const answer = (client: PooledClient | null): void => {
      this.#isAsking = false;
      this.#isExhausted = false;
      const call = this.#waiting.shift();
      if (call === undefined) client?.release();
      else call.resolve(client);
      if (this.#waiting.length > 0) this.#ask();
    };
    // If the pool gave up, a spare connection will do; or it fails, too, and says why.
    this.#pool.connect().then(answer, () => answer(null));
  }

  release(client: PooledClient): void {
    if (this.#ofSpare.has(client)) return this.#spare.release(client);
    client.off("error", ignore);
    client.release();
  }

  destroy(client: PooledClient): void {
    if (this.#ofSpare.has(client)) return this.#spare.destroy(client);
    client.release(true);
    destroySocket(client);
  }

  /** Not those of the application: it may be using what we do not use. */
  destroyIdle(): void {
    this.#spare.destroyIdle();
  }

  async end(isGivenUp: boolean): Promise<void> {
    this.#pool.off("error", ignore);
    await this.#spare.end(isGivenUp);
  }
}

function ignore(): void {}

function isPool(given: unknown): given is PgPool {
  const { connect, Client, options, totalCount } = (given ?? {}) as Record<string, unknown>;
  return (
    typeof connect === "function" &&
    typeof Client === "function" &&
    typeof options === "object" &&
    options !== null &&
    typeof totalCount === "number"
  );
}

function isClient(given: unknown): boolean {
  const { connect, query } = (given ?? {}) as Record<string, unknown>;
  return typeof connect === "function" && typeof query === "function";
}

/** The settings of its connections. A pool hides its password from a copy, and a pool of `pg-pool` the class. */
function copyOf({ options, Client }: PgPool): ClientOptions {
  const { password } = options;
  const all = { ...options, Client, ...(password === undefined ? {} : { password }) };
  return all;
}

function placeOf({ connectionString, host, port, database }: PgPool["options"]): string {
  const url = connectionString === undefined ? null : URL.parse(connectionString);
  const name = database ?? url?.pathname.slice(1);
  return `${host ?? (url?.hostname || "localhost")}:${port ?? (url?.port || 5432)}${name === undefined ? "" : `/${name}`}`;
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: "pg" });
}
