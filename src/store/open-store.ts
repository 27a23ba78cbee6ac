import { MillraceError } from "../core/errors.ts";
import type { StoreReport } from "../core/store-report.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Store } from "./store.ts";

export interface StoreOptions {
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadlineMs?: number;
  /** The most connections of a pool, on an engine that has one (PostgreSQL). */
  readonly poolSize?: number | undefined;
  /** Give up soon while the server refuses connections: a person waits for the start of a process. Default false. */
  readonly impatient?: boolean;
  /** Told what a person should know about the store. Default: a line on the console. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Told each time that a call met what somebody else held, and has to be made again. */
  readonly onContended?: OnContended | undefined;
}

/** Why a call has to be made again: another process held the row, or the file. */
export type OnContended = (reason: "lock") => void;

/** Opens the store of a URL. An engine is loaded only when it is asked for. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const {
    clock = systemClock,
    deadlineMs = 10_000,
    poolSize,
    impatient = false,
    onWarning = (message) => console.warn(`millrace: ${message}`),
  } = options;
  const settings = { clock, deadlineMs };
  const onLocked = options.onContended === undefined ? undefined : () => options.onContended?.("lock");
  const scheme = schemeOf(url);
  switch (scheme) {
    case "memory": {
      const { openMemoryStore } = await import("./memory/memory-store.ts");
      return openMemoryStore(settings);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
      return openSqliteStore(url, { ...settings, onLocked });
    }
    case "postgres":
    case "postgresql": {
      const { openPostgresStore } = await import("./postgres/postgres-store.ts");
      return openPostgresStore(url, { ...settings, poolSize, impatient, onLocked });
    }
    case "redis":
    case "rediss": {
      const { openRedisStore } = await import("./redis/redis-store.ts");
      return openRedisStore(url, { ...settings, impatient, onWarning });
    }
    default:
      throw unknownScheme(url, scheme);
  }
}

/** Looks at the store of a URL without opening it for work: what it is, and whether it is fit for it. Nothing is changed there. */
export async function inspectStore(url: string, { deadlineMs = 10_000 }: Pick<StoreOptions, "deadlineMs"> = {}): Promise<StoreReport> {
  const scheme = schemeOf(url);
  switch (scheme) {
    case "memory":
      return { engine: "memory", schema: null, now: null, findings: [{ grade: "good", message: "jobs are gone when the process ends" }] };
    case "sqlite": {
      const { inspectSqlite } = await import("./sqlite/inspect.ts");
      return inspectSqlite(url);
    }
    case "postgres":
    case "postgresql": {
      const { inspectPostgres } = await import("./postgres/inspect.ts");
      return inspectPostgres(url, deadlineMs);
    }
    case "redis":
    case "rediss": {
      const { inspectRedis } = await import("./redis/inspect.ts");
      return inspectRedis(url, deadlineMs);
    }
    default:
      throw unknownScheme(url, scheme);
  }
}

/** The tables of a new store as a script of SQL; null on an engine that has none. Nobody is asked for it: the store need not be there. */
export async function schemaScriptOf(url: string): Promise<string | null> {
  const scheme = schemeOf(url);
  switch (scheme) {
    case "sqlite":
      return (await import("./sqlite/migrations.ts")).schemaScript();
    case "postgres":
    case "postgresql": {
      const { parsePostgresUrl } = await import("./postgres/url.ts");
      return (await import("./postgres/migrations.ts")).schemaScript(parsePostgresUrl(url).schema);
    }
    case "memory":
    case "redis":
    case "rediss":
      return null;
    default:
      throw unknownScheme(url, scheme);
  }
}

function schemeOf(url: string): string | undefined {
  return /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase();
}

function unknownScheme(url: string, scheme: string | undefined): MillraceError {
  const got = scheme ?? url.slice(0, 20);
  return new MillraceError("invalid_input", `url must begin with memory:, sqlite:, postgres:, redis: or rediss:; got "${got}"`, {
    field: "url",
  });
}
