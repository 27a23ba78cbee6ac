/** What we use of the npm package `pg`. It is an optional peer, imported only when a postgres: URL is opened. */
import { MillraceError } from "../../core/errors.ts";
import { isMissingPackage } from "../../lib/missing-package.ts";
import type { Row } from "./codec.ts";

export interface QueryResult {
  readonly rows: Row[];
}

export interface Query {
  /** Prepares the statement once per connection. */
  readonly name?: string | undefined;
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rowMode: "array";
  /** How to read the columns: set with the query, because a connection may be the application's. */
  readonly types?: { getTypeParser(oid: number, format?: string): (value: string) => unknown };
}

export interface DriverClient {
  /** The process id of the server's backend, as the server reported it. */
  readonly processID?: number | null;
  query(query: Query): Promise<QueryResult>;
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: (error: unknown) => void): unknown;
  off(event: "error", listener: (error: unknown) => void): unknown;
  on(event: "notification", listener: (message: { readonly channel: string; readonly payload?: string }) => void): unknown;
}

export interface PooledClient extends DriverClient {
  /** Returns the connection to the pool, or destroys it if given an error. */
  release(error?: Error | boolean): void;
}

export interface DriverPool {
  connect(): Promise<PooledClient>;
  end(): Promise<void>;
  on(event: "error" | "connect", listener: (subject: DriverClient) => void): unknown;
}

export interface ClientOptions {
  readonly connectionString?: string | undefined;
  readonly application_name?: string;
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelayMillis?: number;
  readonly connectionTimeoutMillis?: number;
}

export interface PoolOptions extends ClientOptions {
  readonly max: number;
  readonly min?: number;
  readonly idleTimeoutMillis?: number;
  /** Whether the process may end while connections are idle. */
  readonly allowExitOnIdle?: boolean;
}

export interface Driver {
  readonly Client: new (options: ClientOptions) => DriverClient;
  readonly Pool: new (options: PoolOptions) => DriverPool;
}

const INSTALL = "npm install pg";

/** Loads the driver, or says how to install it. */
export async function loadDriver(load: () => Promise<unknown> = () => import("pg")): Promise<Driver> {
  try {
    const loaded = (await load()) as { default?: Driver };
    return loaded.default ?? (loaded as Driver);
  } catch (error) {
    if (!isMissingPackage(error, "pg")) throw error;
    throw new MillraceError("unsupported_store", `PostgreSQL needs the package pg: run "${INSTALL}"`, { cause: error });
  }
}

const BOOLEAN = 16;
const NUMBERS = new Set([20, 21, 23, 700, 701]);

/** Our integers are times and counts below 2^53; the rest is read as the text that the server sends. */
export const TYPES: NonNullable<Query["types"]> = {
  getTypeParser(oid) {
    if (NUMBERS.has(oid)) return Number;
    return oid === BOOLEAN ? isTrue : asText;
  },
};

const isTrue = (value: string): boolean => value === "t";
const asText = (value: string): string => value;
