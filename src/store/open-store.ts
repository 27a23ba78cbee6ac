import { MillraceError } from "../core/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadlineMs?: number;
  /** The most connections of a pool, on an engine that has one (PostgreSQL). */
  readonly poolSize?: number | undefined;
  /** Told what a person should know about the store. Default: a line on the console. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Opens the store of a URL. An engine is loaded only when it is asked for. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const { clock = systemClock, deadlineMs = 10_000, poolSize, onWarning = (message) => console.warn(`millrace: ${message}`) } = options;
  const settings = { clock, deadlineMs };
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase();
  switch (scheme) {
    case "memory": {
      const { MemoryStore } = await import("./memory/memory-store.ts");
      return new MemoryStore(settings);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
      return openSqliteStore(url, settings);
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore } = await import("./postgres/postgres-store.ts");
      return openPostgresStore(url, { ...settings, poolSize });
    }
    case "redis":
    case "rediss": {
      const { openRedisStore } = await import("./redis/redis-store.ts");
      return openRedisStore(url, { ...settings, onWarning });
    }
    default:
      throw new MillraceError(
        "invalid_input",
        `url must begin with memory:, sqlite:, postgres:, redis: or rediss:; got "${scheme ?? url.slice(0, 20)}"`,
        {
          field: "url",
        },
      );
  }
}
