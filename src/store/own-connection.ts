/** A CONNECTION OF THE APPLICATION, given instead of a URL. Each engine checks its own; no package is imported for it. */
import { invalid, MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";

/** What Millrace uses of a `Pool` of the package `pg`. */
export interface PgPool {
  connect(): Promise<unknown>;
  readonly options: object;
  readonly totalCount: number;
}

/** What Millrace uses of a `Redis` or `Cluster` of the package `ioredis`. */
export interface IoredisInstance {
  duplicate(...options: never[]): unknown;
  readonly options: object;
  readonly status: string;
}

/** What Millrace uses of a `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  prepare(text: string): unknown;
  exec(text: string): void;
  readonly isTransaction: boolean;
}

/** A connection that your application has already. You close it, after the client. */
export type OwnConnection =
  | {
      /** A `Pool` of `pg`. Calls take connections from it. */
      readonly pg: PgPool;
      /** The schema of Millrace's tables. Default `millrace`. */
      readonly schema?: string | undefined;
    }
  | {
      /** A `Redis` or `Cluster` of `ioredis`. Millrace works over duplicates of it. */
      readonly redis: IoredisInstance;
      /** The first part of all keys. Default `millrace`. */
      readonly prefix?: string | undefined;
    }
  | {
      /** A `DatabaseSync` of `node:sqlite`: a file in WAL mode, or in memory. */
      readonly sqlite: SqliteDatabase;
    };

const FIELDS = { pg: ["schema"], redis: ["prefix"], sqlite: [] } as const;

/** Which engine a given connection is for. Checks the names; the engine checks the connection. */
export function readOwnConnection(given: object): OwnConnection {
  const engines = Object.keys(FIELDS) as (keyof typeof FIELDS)[];
  const engine = engines.find((name) => name in given);
  if (engine === undefined) throw notAPlace(given);
  readFields(given, `the connection of ${engine}`, [engine, ...FIELDS[engine]]);
  return given as OwnConnection;
}

const PLACE_RULE = "a URL such as sqlite:app.db, or one of { pg }, { redis } and { sqlite }";

/** A connection alone does not say of which engine it is; but one that is known by its functions is named. */
function notAPlace(given: object): MillraceError {
  const { prepare, exec, duplicate, connect, totalCount } = given as Partial<Record<string, unknown>>;
  const areFunctions = (...parts: readonly unknown[]): boolean => parts.every((part) => typeof part === "function");
  const meant = areFunctions(prepare, exec)
    ? "{ sqlite: db }"
    : areFunctions(duplicate, connect)
      ? "{ redis: ioredis }"
      : areFunctions(connect) && typeof totalCount === "number"
        ? "{ pg: pool }"
        : null;
  if (meant === null) return invalid("url", PLACE_RULE, given);
  return new MillraceError("invalid_input", `url must be ${PLACE_RULE}; did you mean ${meant}?`, { field: "url" });
}
