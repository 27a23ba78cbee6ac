import { MillraceError } from "../core/errors.ts";
import type { StoreReport } from "../core/store-report.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { OwnConnection } from "./own-connection.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadlineMs?: number;
  /** The largest number of connections in the pool (PostgreSQL). */
  readonly poolSize?: number | undefined;
  /** Fail soon if the server refuses connections: somebody waits for the process to start. Default false. */
  readonly impatient?: boolean;
  /** Gets messages about the store that a person should see. Default: a line on the console. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Called once if the opening has to wait for a server that cannot be reached. Default: a line on the console. */
  readonly onWaiting?: ((message: string) => void) | undefined;
  /** Called each time a call must be repeated because somebody else held a lock. */
  readonly onContended?: OnContended | undefined;
}

/** Why a call has to be made again: another process held the row, or the file. */
export type OnContended = (reason: "lock") => void;

/** Opens the store of a URL, or of a connection of the application. An engine is loaded only when it is asked for. */
export async function openStore(place: string | OwnConnection, options: StoreOptions = {}): Promise<Store> {
  const {
    clock = systemClock,
    deadlineMs = 10_000,
    poolSize,
    impatient = false,
    onWarning = (message) => console.warn(`millrace: ${message}`),
    onWaiting = onWarning,
  } = options;
  const settings = { clock, deadlineMs };
  const onLocked = options.onContended === undefined ? undefined : () => options.onContended?.("lock");
  switch (engineOf(place)) {
    case "memory": {
      const { openMemoryStore } = await import("./memory/memory-store.ts");
      return openMemoryStore(settings);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
      return openSqliteStore(place as string | Extract<OwnConnection, { sqlite: unknown }>, { ...settings, onLocked });
    }
    case "postgres": {
      const { openPostgresStore } = await import("./postgres/postgres-store.ts");
      return openPostgresStore(place as string | Extract<OwnConnection, { pg: unknown }>, {
        ...settings,
        poolSize,
        impatient,
        onWaiting,
        onLocked,
      });
    }
    case "redis": {
      const { openRedisStore } = await import("./redis/redis-store.ts");
      return openRedisStore(place as string | Extract<OwnConnection, { redis: unknown }>, {
        ...settings,
        impatient,
        onWarning,
        onWaiting,
      });
    }
  }
}

/** Reports what the store of a URL is and whether it is fit for work. It does not open it for work and changes nothing. */
export async function inspectStore(url: string, { deadlineMs = 10_000 }: Pick<StoreOptions, "deadlineMs"> = {}): Promise<StoreReport> {
  switch (engineOf(url)) {
    case "memory":
      return { engine: "memory", schema: null, now: null, findings: [{ grade: "good", message: "jobs are gone when the process ends" }] };
    case "sqlite": {
      const { inspectSqlite } = await import("./sqlite/inspect.ts");
      return inspectSqlite(url);
    }
    case "postgres": {
      const { inspectPostgres } = await import("./postgres/inspect.ts");
      return inspectPostgres(url, deadlineMs);
    }
    case "redis": {
      const { inspectRedis } = await import("./redis/inspect.ts");
      return inspectRedis(url, deadlineMs);
    }
  }
}

/** The tables of a new store as an SQL script, or null on an engine without tables. Needs no connection. */
export async function schemaScriptOf(url: string): Promise<string | null> {
  switch (engineOf(url)) {
    case "sqlite":
      return (await import("./sqlite/migrations.ts")).schemaScript();
    case "postgres": {
      const { parsePostgresUrl } = await import("./postgres/url.ts");
      return (await import("./postgres/migrations.ts")).schemaScript(parsePostgresUrl(url).schema);
    }
    case "memory":
    case "redis":
      return null;
  }
}

const ENGINES = {
  memory: "memory",
  sqlite: "sqlite",
  postgres: "postgres",
  postgresql: "postgres",
  redis: "redis",
  rediss: "redis",
  "redis+sentinel": "redis",
  "rediss+sentinel": "redis",
} as const;

/** The engine of a URL, by its scheme, or of a given connection, by its name. */
function engineOf(url: string | OwnConnection): (typeof ENGINES)[keyof typeof ENGINES] {
  if (typeof url !== "string") return "pg" in url ? "postgres" : "redis" in url ? "redis" : "sqlite";
  const scheme = /^([a-z+]+):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined && Object.hasOwn(ENGINES, scheme)) return ENGINES[scheme as keyof typeof ENGINES];
  const message = `url must begin with memory:, sqlite:, postgres:, redis:, rediss:, redis+sentinel:, http: or https:; got "${scheme ?? url.slice(0, 20)}"`;
  throw new MillraceError("invalid_input", message, { field: "url" });
}
