import { randomUUID } from "node:crypto";
import { MillraceError } from "../../core/errors.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import type { Row } from "./codec.ts";
import { type ClientOptions, type Driver, type DriverClient, type DriverPool, type PooledClient, TYPES } from "./driver.ts";
import { fateOf, messageOf, storeError } from "./failures.ts";
import type { PostgresAddress } from "./url.ts";

/** Something that takes a statement: a connection, or a transaction on one. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** How a call is treated. */
export interface Manner {
  /** Beats have a connection of their own, so that no flood of other calls costs a lease. */
  readonly beat?: boolean;
  /** Whether it may be sent again when nobody knows whether it was committed. Default true. */
  readonly repeatable?: boolean;
  /** Told before each try but the first that the one before may have been committed. */
  readonly onUnknown?: () => void;
  /** Waiting for another's row ends the call at once with the server's error: the caller then tries items one by one. */
  readonly failLocked?: boolean;
  /** An id that is known already ends the call at once with the server's error: the caller then looks before it inserts. */
  readonly failTwin?: boolean;
}

export interface ConnectionsOptions {
  readonly driver: Driver;
  readonly address: PostgresAddress;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly poolSize: number;
}

const LONGEST_WAIT_FOR_CONNECTION_MS = 4_000;
const IDLE_MS = 30_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;

/**
 * The connections of a store, and the patience: the server may be down, restart, fail over or cut a connection at any time. A call waits
 * and tries again until its deadline, unless that could do a thing twice.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: DriverPool;
  readonly #beats: DriverPool;
  #names = new Map<string, string>();
  #underWay = 0;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { poolSize } = options;
    this.#pool = this.#openPool(poolSize, Math.floor(poolSize / 2));
    this.#beats = this.#openPool(1, 0);
  }

  get place(): string {
    return this.#options.address.place;
  }

  /**
   * Has these statements parsed once a connection. Their names are this process's own: behind a pooler that hands connections from one to the
   * next, a name must never mean another's statement. Such a pooler may also lose them; then all go without from there on.
   */
  prepare(texts: Iterable<string>): void {
    const own = randomUUID().slice(0, 8);
    for (const text of texts) this.#names.set(text, `millrace_${own}_${this.#names.size}`);
  }

  /** Runs one statement. */
  call(text: string, values: readonly unknown[] = [], manner: Manner = {}): Promise<Row[]> {
    return this.run((sql) => sql.query(text, values), manner);
  }

  /** Runs work on one connection; as a whole it is tried again where that is safe. */
  async run<Answer>(work: (sql: Sql) => Promise<Answer>, manner: Manner = {}): Promise<Answer> {
    if (this.#closed) throw closed();
    this.#underWay++;
    const deadline = new Deadline(this.#options.clock, this.#options.deadlineMs);
    try {
      for (let tries = 0; ; tries++) {
        try {
          return await this.#once(work, manner.beat === true ? this.#beats : this.#pool, deadline);
        } catch (error) {
          await this.#waitOrGiveUp(error, manner, tries, deadline);
        }
      }
    } finally {
      deadline.end();
      if (--this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** Runs work in a transaction. */
  transaction<Answer>(work: (sql: Sql) => Promise<Answer>, manner: Manner = {}): Promise<Answer> {
    return this.run(async (sql) => {
      await sql.query("begin");
      try {
        const answer = await work(sql);
        await sql.query("commit");
        return answer;
      } catch (error) {
        // A connection that is gone has rolled back by itself.
        await sql.query("rollback").catch(() => {});
        throw error;
      }
    }, manner);
  }

  /** A connection outside of the pool, for listening. The caller ends it. */
  async single(): Promise<DriverClient> {
    const client = new this.#options.driver.Client(this.#clientOptions());
    client.on("error", () => {}); // its queries fail by themselves
    await client.connect();
    return client;
  }

  /** Lets what was asked for finish, then refuses more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    await Promise.all([this.#pool.end(), this.#beats.end()]);
  }

  async #once<Answer>(work: (sql: Sql) => Promise<Answer>, pool: DriverPool, deadline: Deadline): Promise<Answer> {
    const client = await pool.connect().catch((error: unknown) => {
      throw new NotConnected(error);
    });
    const sql: Sql = {
      query: async (text, values = []) => (await client.query({ name: this.#names.get(text), text, values, rowMode: "array" })).rows,
    };
    try {
      const answer = await deadline.bound(work(sql));
      client.release();
      return answer;
    } catch (error) {
      letGo(client, error);
      throw error;
    }
  }

  async #waitOrGiveUp(error: unknown, manner: Manner, tries: number, deadline: Deadline): Promise<void> {
    if (error instanceof MillraceError) throw error;
    const cause = error instanceof NotConnected ? error.cause : error;
    const fate = fateOf(cause);
    // A login that is refused stays refused; an address where nobody answers may be a server that starts.
    if (fate === "refused" || fate === "full") throw storeError(cause, this.place);
    if ((fate === "locked" && manner.failLocked === true) || (fate === "twin" && manner.failTwin === true)) throw cause;
    if (fate === "unprepared") this.#names.clear();
    const maybeDone = !(error instanceof NotConnected) && fate === "unknown";
    if (deadline.isOver || (maybeDone && manner.repeatable === false)) throw this.#unavailable(cause);
    if (maybeDone) manner.onUnknown?.();
    await sleep(this.#options.clock, pauseBefore(tries), deadline.signal);
    if (deadline.isOver) throw this.#unavailable(cause);
  }

  #unavailable(cause: unknown): MillraceError {
    const message = `PostgreSQL at ${this.place} did not answer within ${this.#options.deadlineMs} ms: ${messageOf(cause)}`;
    return new MillraceError("store_unavailable", message, { cause, retryAfterMs: 1_000 });
  }

  #clientOptions(): ClientOptions {
    const { connectionString } = this.#options.address;
    return {
      connectionString,
      application_name: "millrace",
      keepAlive: true,
      connectionTimeoutMillis: LONGEST_WAIT_FOR_CONNECTION_MS,
      types: TYPES,
    };
  }

  #openPool(max: number, min: number): DriverPool {
    const pool = new this.#options.driver.Pool({ ...this.#clientOptions(), max, min, idleTimeoutMillis: IDLE_MS });
    // An idle connection that dies leaves the pool by itself; one in use fails its query. Neither may end the process.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    return pool;
  }
}

/** No connection could be had, so nothing was sent. */
class NotConnected extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("no connection");
    this.cause = cause;
  }
}

/** The end of a call's patience. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: { cancel(): void };
  #expire: ((error: Error) => void) | null = null;

  constructor(clock: Clock, ms: number) {
    this.#timer = clock.setTimer(() => {
      this.#controller.abort();
      this.#expire?.(new Error("no answer"));
    }, ms);
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects at the deadline, also when the network swallows the answer and the driver would wait for ever. */
  bound<Answer>(work: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#expire = reject;
      work.then(resolve, reject);
    });
  }

  end(): void {
    this.#timer.cancel();
    this.#expire = null;
  }
}

/** Gives a connection back after an error; unless the server said that all is well with it, it is thrown away. */
function letGo(client: PooledClient, error: unknown): void {
  const fate = error instanceof MillraceError ? "again" : fateOf(error);
  if (fate !== "unknown" && fate !== "away") return client.release();
  client.release(true);
  // A connection into the void would wait for its goodbye for ever.
  (client as { connection?: { stream?: { destroy?: () => void } } }).connection?.stream?.destroy?.();
}

/** Growing, and random, so that processes that met do not meet again. */
function pauseBefore(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);
}

function closed(): MillraceError {
  return new MillraceError("closed", "the client is closed");
}
