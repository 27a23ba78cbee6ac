import { randomUUID } from "node:crypto";
import { formatDuration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import { isRefusal } from "../../lib/refused.ts";
import { CallsUnderWay } from "../calls-under-way.ts";
import { cannotReach } from "../cannot-reach.ts";
import type { Row } from "./codec.ts";
import { Deadline, NoAnswer } from "./deadline.ts";
import { type ClientOptions, type Driver, type DriverClient, type PooledClient, TYPES } from "./driver.ts";
import { failureOf, isConflict, LOCKED, messageOf, storeError } from "./failures.ts";
import { DISCONNECT_MS, LAST_DISCONNECT_MS, OwnPool, type Pool } from "./pool.ts";
import { Reconnector } from "./reconnector.ts";
import { destroySocket } from "./session.ts";

/** Runs statements: a connection, or a transaction on one. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** Options of one call. */
export interface CallOptions {
  /** Heartbeats have their own connection, so that a flood of other calls costs no lease. */
  readonly beat?: boolean;
  /** Only the deadline ends it. */
  readonly slow?: boolean;
  /**
   * Once it has begun, only the server ends it: the deadline covers the wait for a connection and further tries. For calls that limit their
   * own waits.
   */
  readonly untilDone?: boolean;
  /** Called before a further try if the try before it may have been committed. */
  readonly onUnknown?: () => void;
  /** Whether the answer says that somebody else holds the row: then the call is made again as if it had waited for the row. */
  readonly isHeld?: (answer: unknown) => boolean;
  /** A known id fails the call at once with the server's error: the caller then looks before it inserts. */
  readonly failOnDuplicate?: boolean;
  /** It creates our functions, and calls none. */
  readonly makesFunctions?: boolean;
}

/** How to connect: by a URL, or by the settings of the application's pool. */
export interface ServerAddress extends Pick<ClientOptions, "connectionString"> {
  /** Host, port and database, for messages; never a password. */
  readonly place: string;
  readonly clientOptions?: ClientOptions | undefined;
}

export interface ConnectionsOptions {
  readonly driver: Driver;
  readonly address: ServerAddress;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly poolSize: number;
  /** The application's pool, for all calls but heartbeats, given a spare one of ours. Default: one of our own. */
  readonly pool?: ((spare: Pool) => Pool) | undefined;
  /** Called each time a call meets a row that another process holds. */
  readonly onLocked?: (() => void) | undefined;
  /** Creates our functions when a call finds them missing. */
  readonly createFunctions?: () => Promise<void>;
  /** How long a server that has never answered may refuse connections. Default: until the deadline. */
  readonly refusedMs?: number;
}

const LONGEST_WAIT_FOR_CONNECTION_MS = 4_000;
const IDLE_MS = 30_000;
/** A connection without an answer for this long counts as dead. A call may take at least twice as long, so that it can run on another. */
const LONGEST_SILENCE_MS = 5_000;
/** When the system checks an idle connection: a firewall in between may have dropped it without a word. */
const KEEP_ALIVE_MS = 10_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 1_000;

/**
 * The connections of a store. The server may be down, restart, fail over or cut a connection at any time: a call waits and tries again
 * until its deadline, unless that could do something twice.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: Pool;
  readonly #beats: Pool;
  readonly #reconnector: Reconnector;
  #names = new Map<string, string>();
  readonly #calls: CallsUnderWay;
  readonly #deadlines = new Set<Deadline>();
  /** Connections outside the pool that wait for the server to confirm a disconnect. */
  readonly #disconnecting = new Set<DriverClient>();
  #isGivenUp = false;
  #hasAnswered = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { poolSize } = options;
    this.#calls = new CallsUnderWay(`PostgreSQL at ${this.place}`);
    this.#pool = options.pool?.(this.#openPool(1, 0)) ?? this.#openPool(poolSize, Math.floor(poolSize / 2));
    this.#beats = this.#openPool(1, 0);
    this.#reconnector = new Reconnector({
      clock: options.clock,
      connect: async () => this.#pool.release(await this.#pool.take()),
      meansUnreachable: (error) => !isBusyPool(error) && ["unknown", "away"].includes(failureOf(error)),
      pauseMs: pauseBefore,
    });
  }

  get place(): string {
    return this.#options.address.place;
  }

  /** Whether no call uses the application's pool. */
  get areOurs(): boolean {
    return this.#options.pool === undefined;
  }

  /** Why the last try to connect failed; null if none did. */
  get lastError(): unknown {
    return this.#reconnector.lastError;
  }

  /** How long a call goes on that fails for this reason. */
  patienceMs(cause: unknown): number {
    const { deadlineMs, refusedMs = Infinity } = this.#options;
    return !this.#hasAnswered && isRefusal(cause) ? Math.min(deadlineMs, refusedMs) : deadlineMs;
  }

  /**
   * Prepares these statements once per connection. Their names belong to this process: behind a pooler that passes connections around, a
   * name must never mean another process's statement. If such a pooler loses them, no call uses them from then on.
   */
  prepare(texts: Iterable<string>): void {
    const own = randomUUID().slice(0, 8);
    for (const text of texts) this.#names.set(text, `millrace_${own}_${this.#names.size}`);
  }

  async createFunctions(): Promise<void> {
    await this.#options.createFunctions?.();
  }

  call(text: string, values: readonly unknown[] = [], callOptions: CallOptions = {}): Promise<Row[]> {
    return this.run((sql) => sql.query(text, values), callOptions);
  }

  /** Runs work on one connection, and runs all of it again if that is safe. */
  run<Answer>(work: (sql: Sql) => Promise<Answer>, callOptions: CallOptions = {}): Promise<Answer> {
    return this.#calls.run(() => this.#untilDeadline(work, callOptions));
  }

  async #untilDeadline<Answer>(work: (sql: Sql) => Promise<Answer>, callOptions: CallOptions): Promise<Answer> {
    const deadline = new Deadline(this.#options.clock, this.#isGivenUp ? 0 : this.#options.deadlineMs);
    this.#deadlines.add(deadline);
    let mayBeMade = callOptions.makesFunctions !== true;
    try {
      for (let tries = 0; ; tries++) {
        try {
          const answer = await this.#once(work, callOptions, deadline);
          if (callOptions.isHeld?.(answer) !== true) return answer;
          throw new Held();
        } catch (error) {
          if (failureOf(error) === "missing" && mayBeMade) {
            mayBeMade = false;
            await this.createFunctions();
          } else {
            await this.#waitOrGiveUp(error, callOptions, tries, deadline);
          }
        }
      }
    } finally {
      deadline.end();
      this.#deadlines.delete(deadline);
    }
  }

  transaction<Answer>(work: (sql: Sql) => Promise<Answer>, callOptions: CallOptions = {}): Promise<Answer> {
    return this.run(async (sql) => {
      await sql.query("begin");
      try {
        const answer = await work(sql);
        await sql.query("commit");
        return answer;
      } catch (error) {
        // A lost connection has rolled back by itself.
        await sql.query("rollback").catch(() => {});
        throw error;
      }
    }, callOptions);
  }

  /** A connection outside the pool, for listening. The caller connects it and ends it with `disconnect`. */
  single(): DriverClient {
    const client = new this.#options.driver.Client(this.#clientOptions());
    client.on("error", () => {}); // its queries fail by themselves
    return client;
  }

  /** Ends a connection outside the pool, even if the server is out of reach. */
  async disconnect(client: DriverClient): Promise<void> {
    this.#disconnecting.add(client);
    const timer = setTimeout(() => destroySocket(client), this.#isGivenUp ? LAST_DISCONNECT_MS : DISCONNECT_MS);
    await client.end().catch(() => {});
    clearTimeout(timer);
    this.#disconnecting.delete(client);
  }

  /** From now on no call waits for the server. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const deadline of this.#deadlines) deadline.expire();
    for (const client of this.#disconnecting) destroySocket(client);
  }

  /** Refuses new calls, and waits for the others. */
  async close(): Promise<void> {
    await this.#calls.close();
    await Promise.all([this.#pool.end(this.#isGivenUp), this.#beats.end(this.#isGivenUp)]);
  }

  async #once<Answer>(work: (sql: Sql) => Promise<Answer>, callOptions: CallOptions, deadline: Deadline): Promise<Answer> {
    const pool = callOptions.beat === true ? this.#beats : this.#pool;
    const client = await this.#connected(pool, deadline);
    const sql: Sql = {
      query: async (text, values = []) =>
        (await client.query({ name: this.#names.get(text), text, values, rowMode: "array", types: TYPES })).rows,
    };
    try {
      const longestMs = callOptions.slow === true ? Infinity : Math.min(LONGEST_SILENCE_MS, this.#options.deadlineMs / 2);
      const answer = await (callOptions.untilDone === true ? work(sql) : deadline.bound(work(sql), longestMs));
      this.#hasAnswered = true;
      pool.release(client);
      return answer;
    } catch (error) {
      this.#letGo(pool, client, error);
      throw error;
    }
  }

  async #connected(pool: Pool, deadline: Deadline): Promise<PooledClient> {
    await this.#reconnector.untilReachable(deadline.signal);
    if (!this.#reconnector.isReachable) throw new NotConnected(this.#reconnector.lastError);
    const connecting = pool.take();
    try {
      return await deadline.bound(connecting, Infinity);
    } catch (error) {
      // If it connects after all, others may use it.
      connecting.then(
        (client) => pool.release(client),
        () => {},
      );
      if (!(error instanceof NoAnswer)) this.#reconnector.failed(error);
      throw new NotConnected(error);
    }
  }

  /** Returns a connection after an error, or destroys it unless the server said that it is fine. */
  #letGo(pool: Pool, client: PooledClient, error: unknown): void {
    const failure = error instanceof MillraceError ? "again" : failureOf(error);
    if (failure !== "unknown" && failure !== "away" && failure !== "read-only") return pool.release(client);
    pool.destroy(client);
    // What made it silent, or leads to a read-only server, probably affects the other connections, too.
    if (!(error instanceof NoAnswer || failure === "read-only")) return;
    this.#pool.destroyIdle();
    this.#beats.destroyIdle();
  }

  async #waitOrGiveUp(error: unknown, callOptions: CallOptions, tries: number, deadline: Deadline): Promise<void> {
    if (error instanceof MillraceError) throw error;
    const cause = error instanceof NotConnected ? error.cause : error;
    const failure = failureOf(cause);
    // A refused login stays refused. An address without an answer may be a server that is starting.
    if (failure === "refused" || failure === "missing" || failure === "full") throw storeError(cause, this.place);
    if (failure === "locked" || isConflict(cause)) this.#options.onLocked?.();
    if (failure === "duplicate" && callOptions.failOnDuplicate === true) throw cause;
    if (failure === "unprepared") this.#names.clear();
    if (!(error instanceof NotConnected) && failure === "unknown") callOptions.onUnknown?.();
    deadline.endBy(this.patienceMs(cause));
    if (deadline.isOver) throw this.#unavailable(cause);
    await sleep(this.#options.clock, pauseBefore(tries), deadline.signal);
    if (deadline.isOver) throw this.#unavailable(cause);
  }

  #unavailable(cause: unknown): MillraceError {
    const ms = this.patienceMs(cause);
    if (isRefusal(cause)) return cannotReach(`PostgreSQL at ${this.place}`, cause, this.#isGivenUp ? null : { ms });
    const time = this.#isGivenUp ? "before the client was closed" : `within ${formatDuration(ms)}`;
    const message =
      failureOf(cause) === "locked"
        ? `another transaction on PostgreSQL at ${this.place} holds what this call needs, and did not end ${time}. Commit it or roll it back`
        : `PostgreSQL at ${this.place} did not answer ${time}: ${messageOf(cause)}`;
    return new MillraceError("store_unavailable", message, { cause, retryAfterMs: 1_000 });
  }

  #clientOptions(): ClientOptions {
    const { address, deadlineMs } = this.#options;
    return {
      application_name: "millrace",
      ...(address.clientOptions ?? { connectionString: address.connectionString }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: Math.min(LONGEST_WAIT_FOR_CONNECTION_MS, deadlineMs),
    };
  }

  #openPool(max: number, min: number): Pool {
    const options = { ...this.#clientOptions(), max, min, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true };
    return new OwnPool(new this.#options.driver.Pool(options));
  }
}

/** Another transaction holds a row that the call needs. */
class Held extends Error {
  readonly code: string = LOCKED;

  constructor() {
    super("the row is held by another transaction");
  }
}

/** There was no connection, so nothing was sent. */
class NotConnected extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super("no connection");
    this.cause = cause;
  }
}

/** Whether all connections of the pool were in use: this is the pool's own message. */
function isBusyPool(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}

/** Growing, and random, so that two processes do not collide again. */
function pauseBefore(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);
}
