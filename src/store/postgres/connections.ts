import { randomUUID } from "node:crypto";
import { formatDuration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import { atMost, type Clock, sleep, systemClock } from "../../lib/clock.ts";
import { isRefusal } from "../../lib/refused.ts";
import { CallsUnderWay } from "../calls-under-way.ts";
import type { Row } from "./codec.ts";
import { Deadline, Silence } from "./deadline.ts";
import { type ClientOptions, type Driver, type DriverClient, type DriverPool, type PooledClient, TYPES } from "./driver.ts";
import { fateOf, isConflict, LOCKED, messageOf, storeError, tookNoConnection } from "./failures.ts";
import { Gate } from "./gate.ts";
import { destroySocket, settleSession } from "./session.ts";
import type { PostgresAddress } from "./url.ts";

/** Something that takes a statement: a connection, or a transaction on one. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** How a call is treated. */
export interface Manner {
  /** Beats have a connection of their own, so that no flood of other calls costs a lease. */
  readonly beat?: boolean;
  /** It may take its time: only the deadline ends it. */
  readonly slow?: boolean;
  /**
   * Once it has begun, nothing ends it but the server: the deadline is for the wait for a connection and for further tries. Only for what
   * bounds its waits for others by itself.
   */
  readonly untilDone?: boolean;
  /** Told before each try but the first that the one before may have been committed. */
  readonly onUnknown?: () => void;
  /** Tells of an answer that another's row stood in the way: it counts as having waited for that row, and the call is made again. */
  readonly isHeld?: (answer: unknown) => boolean;
  /** An id that is known already ends the call at once with the server's error: the caller then looks before it inserts. */
  readonly failTwin?: boolean;
  /** It makes the functions of ours, and calls none. */
  readonly makesFunctions?: boolean;
}

export interface ConnectionsOptions {
  readonly driver: Driver;
  readonly address: PostgresAddress;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly poolSize: number;
  /** Told each time that a call met a row that another process holds. */
  readonly onLocked?: (() => void) | undefined;
  /** Makes the functions that a call found missing. */
  readonly makeFunctions?: () => Promise<void>;
  /** How long a server that has never answered yet may refuse connections. Default: as long as any call waits. */
  readonly refusedMs?: number;
}

const LONGEST_WAIT_FOR_CONNECTION_MS = 4_000;
const IDLE_MS = 30_000;
/** A connection that owes an answer for so long is taken for dead; a call lives twice as long at least, to be made again on another. */
const LONGEST_SILENCE_MS = 5_000;
/** How soon the system asks whether an idle connection still lives. What lies between may forget it, and tell nobody. */
const KEEP_ALIVE_MS = 10_000;
/** How long a server may take to answer a goodbye. */
const GOODBYE_MS = 1_000;
/** The same when nothing is waited for any more. */
const LAST_GOODBYE_MS = 100;
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
  readonly #gate: Gate;
  /** Connections that nobody uses at the moment. */
  readonly #resting = new Set<DriverClient>();
  /** Connections whose session has our settings. */
  readonly #settled = new WeakSet<DriverClient>();
  #names = new Map<string, string>();
  readonly #calls: CallsUnderWay;
  readonly #deadlines = new Set<Deadline>();
  /** Connections outside of the pool whose goodbye has not been answered. */
  readonly #hangingUp = new Set<DriverClient>();
  #isGivenUp = false;
  #hasAnswered = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { poolSize } = options;
    this.#calls = new CallsUnderWay(`PostgreSQL at ${this.place}`);
    this.#pool = this.#openPool(poolSize, Math.floor(poolSize / 2));
    this.#beats = this.#openPool(1, 0);
    this.#gate = new Gate({
      clock: options.clock,
      connect: async () => this.#release(await this.#take(this.#pool)),
      isClosedBy: (error) => !isBusyPool(error) && ["unknown", "away"].includes(fateOf(error)),
      pauseMs: pauseBefore,
    });
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

  /** Makes the functions that a call found missing. */
  async makeFunctions(): Promise<void> {
    await this.#options.makeFunctions?.();
  }

  /** Runs one statement. */
  call(text: string, values: readonly unknown[] = [], manner: Manner = {}): Promise<Row[]> {
    return this.run((sql) => sql.query(text, values), manner);
  }

  /** Runs work on one connection; as a whole it is tried again where that is safe. */
  run<Answer>(work: (sql: Sql) => Promise<Answer>, manner: Manner = {}): Promise<Answer> {
    return this.#calls.run(() => this.#untilDeadline(work, manner));
  }

  async #untilDeadline<Answer>(work: (sql: Sql) => Promise<Answer>, manner: Manner): Promise<Answer> {
    const deadline = new Deadline(this.#options.clock, this.#isGivenUp ? 0 : this.#options.deadlineMs);
    this.#deadlines.add(deadline);
    let mayBeMade = manner.makesFunctions !== true;
    try {
      for (let tries = 0; ; tries++) {
        try {
          const answer = await this.#once(work, manner, deadline);
          if (manner.isHeld?.(answer) !== true) return answer;
          throw new Held();
        } catch (error) {
          if (fateOf(error) === "missing" && mayBeMade) {
            mayBeMade = false;
            await this.makeFunctions();
          } else {
            await this.#waitOrGiveUp(error, manner, tries, deadline);
          }
        }
      }
    } finally {
      deadline.end();
      this.#deadlines.delete(deadline);
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

  /** A connection outside of the pool, for listening, which the caller connects and hangs up. */
  single(): DriverClient {
    const client = new this.#options.driver.Client(this.#clientOptions());
    client.on("error", () => {}); // its queries fail by themselves
    return client;
  }

  /** Ends a connection outside of the pool, whether the server answers the goodbye or is out of reach. */
  async hangUp(client: DriverClient): Promise<void> {
    this.#hangingUp.add(client);
    const timer = setTimeout(() => destroySocket(client), this.#isGivenUp ? LAST_GOODBYE_MS : GOODBYE_MS);
    await client.end().catch(() => {});
    clearTimeout(timer);
    this.#hangingUp.delete(client);
  }

  /** From now on no call waits for the server any more. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const deadline of this.#deadlines) deadline.expire();
    for (const client of this.#hangingUp) destroySocket(client);
  }

  /** Lets what was asked for finish, then refuses more. */
  async close(): Promise<void> {
    await this.#calls.close();
    const gone = Array.from(this.#resting, whenGone);
    const ended = Promise.all([this.#pool.end(), this.#beats.end()]);
    // A connection that is just being made, to where nobody answers, would be waited for until it has failed.
    if (!this.#isGivenUp) return void (await Promise.all([ended, ...gone]));
    for (const client of this.#resting) destroySocket(client);
    await atMost(systemClock, LAST_GOODBYE_MS, ended);
  }

  async #once<Answer>(work: (sql: Sql) => Promise<Answer>, manner: Manner, deadline: Deadline): Promise<Answer> {
    const client = await this.#connected(manner.beat === true ? this.#beats : this.#pool, deadline);
    const sql: Sql = {
      query: async (text, values = []) => (await client.query({ name: this.#names.get(text), text, values, rowMode: "array" })).rows,
    };
    try {
      const longestMs = manner.slow === true ? Infinity : Math.min(LONGEST_SILENCE_MS, this.#options.deadlineMs / 2);
      const answer = await (manner.untilDone === true ? work(sql) : deadline.bound(work(sql), longestMs));
      this.#hasAnswered = true;
      this.#release(client);
      return answer;
    } catch (error) {
      this.#letGo(client, error);
      throw error;
    }
  }

  async #connected(pool: DriverPool, deadline: Deadline): Promise<PooledClient> {
    await this.#gate.pass(deadline.signal);
    if (!this.#gate.isOpen) throw new NotConnected(this.#gate.lastError);
    const connecting = this.#take(pool);
    try {
      const client = await deadline.bound(connecting, Infinity);
      this.#resting.delete(client);
      return client;
    } catch (error) {
      // One that comes after all is for others.
      connecting.then(
        (client) => this.#release(client),
        () => {},
      );
      if (!(error instanceof Silence)) this.#gate.failed(error);
      throw new NotConnected(error);
    }
  }

  /**
   * A connection of the pool whose session is settled. The pool could do that before it hands one out (`verify`), but if the caller's wait
   * ends meanwhile it hands the connection to nobody, and its place in the pool is lost for good.
   */
  async #take(pool: DriverPool): Promise<PooledClient> {
    const client = await pool.connect();
    if (this.#settled.has(client)) return client;
    try {
      await settleSession(client);
    } catch (error) {
      client.release(true);
      destroySocket(client);
      throw error;
    }
    this.#settled.add(client);
    return client;
  }

  #release(client: PooledClient): void {
    this.#resting.add(client);
    client.release();
  }

  /** Gives a connection back after an error; unless the server said that all is well with it, it is thrown away. */
  #letGo(client: PooledClient, error: unknown): void {
    const fate = error instanceof MillraceError ? "again" : fateOf(error);
    if (fate !== "unknown" && fate !== "away" && fate !== "read-only") return this.#release(client);
    client.release(true);
    // A connection into the void would wait for its goodbye for ever.
    destroySocket(client);
    // Whatever made it silent, or led it to a server that takes no writes, has not spared those beside it.
    if (error instanceof Silence || fate === "read-only") for (const other of this.#resting) destroySocket(other);
  }

  async #waitOrGiveUp(error: unknown, manner: Manner, tries: number, deadline: Deadline): Promise<void> {
    if (error instanceof MillraceError) throw error;
    const cause = error instanceof NotConnected ? error.cause : error;
    const fate = fateOf(cause);
    // A login that is refused stays refused; an address where nobody answers may be a server that starts.
    if (fate === "refused" || fate === "missing" || fate === "full") throw storeError(cause, this.place);
    if (fate === "locked" || isConflict(cause)) this.#options.onLocked?.();
    if (fate === "twin" && manner.failTwin === true) throw cause;
    if (fate === "unprepared") this.#names.clear();
    if (!(error instanceof NotConnected) && fate === "unknown") manner.onUnknown?.();
    if (!this.#hasAnswered && isRefusal(cause)) deadline.endBy(this.#options.refusedMs ?? Infinity);
    if (deadline.isOver) throw this.#unavailable(cause);
    await sleep(this.#options.clock, pauseBefore(tries), deadline.signal);
    if (deadline.isOver) throw this.#unavailable(cause);
  }

  #unavailable(cause: unknown): MillraceError {
    const { deadlineMs, refusedMs = Infinity } = this.#options;
    const isFirst = !this.#hasAnswered && isRefusal(cause);
    const patienceMs = isFirst ? Math.min(deadlineMs, refusedMs) : deadlineMs;
    const time = this.#isGivenUp ? "before the client was closed" : `within ${formatDuration(patienceMs)}`;
    if (isRefusal(cause)) return tookNoConnection(cause, this.place, ` ${time}`);
    const message =
      fateOf(cause) === "locked"
        ? `another transaction on PostgreSQL at ${this.place} holds what this call needs, and did not end ${time}: commit it or roll it back`
        : `PostgreSQL at ${this.place} did not answer ${time}: ${messageOf(cause)}`;
    return new MillraceError("store_unavailable", message, { cause, retryAfterMs: 1_000 });
  }

  #clientOptions(): ClientOptions {
    const { address, deadlineMs } = this.#options;
    return {
      connectionString: address.connectionString,
      application_name: "millrace",
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: Math.min(LONGEST_WAIT_FOR_CONNECTION_MS, deadlineMs),
      types: TYPES,
    };
  }

  #openPool(max: number, min: number): DriverPool {
    const options = { ...this.#clientOptions(), max, min, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true };
    const pool = new this.#options.driver.Pool(options);
    // An idle connection that dies leaves the pool by itself; one in use fails its query. Neither may end the process.
    pool.on("error", () => {});
    pool.on("connect", (client) => {
      client.on("error", () => {});
      client.on("end", () => this.#resting.delete(client));
    });
    return pool;
  }
}

/** Somebody else holds a row that the call needs. */
class Held extends Error {
  readonly code: string = LOCKED;

  constructor() {
    super("the row is held by another transaction");
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

/** All connections of the pool are in use: that is what the pool itself says then. */
function isBusyPool(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}

/** Resolves when a connection that the pool ends is gone, which is after a while at the latest. */
function whenGone(client: DriverClient): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      destroySocket(client);
      resolve();
    }, GOODBYE_MS);
    client.on("end", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Growing, and random, so that processes that met do not meet again. */
function pauseBefore(tries: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);
}
