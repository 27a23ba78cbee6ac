import { MillraceError } from "../core/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadlineMs?: number;
}

/** Opens the store of a URL. An engine is loaded only when it is asked for. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const settings = { clock: options.clock ?? systemClock, deadlineMs: options.deadlineMs ?? 10_000 };
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
      return openPostgresStore(url, settings);
    }
    case "redis":
    case "rediss": {
      const { openRedisStore } = await import("./redis/redis-store.ts");
      return openRedisStore(url, settings);
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
