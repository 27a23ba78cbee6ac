/** URL -> Client. Here the rooms of the house are joined: a store, the client over it, workers, and upkeep. */
import type { Announcer } from "./client/announcer.ts";
import type { Client, Leases } from "./client/client.ts";
import { createLocalClient } from "./client/local-client.ts";
import { type Duration, MAX_DELAY_MS } from "./core/duration.ts";
import { invalid, MillraceError } from "./core/errors.ts";
import { type JobOptions, readJobDefaults } from "./core/job-options.ts";
import { readDuration, readFields } from "./core/read-fields.ts";
import type { OnTrouble } from "./core/trouble.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { loadTelemetry } from "./observe/telemetry.ts";
import { traceClient } from "./observe/traced-client.ts";
import { openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { ThreadRenewer } from "./thread-renewer.ts";
import type { Rhythm } from "./upkeep/duty.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";
import { localRenewer, type Renewer, type RenewerFactory } from "./worker/heartbeat.ts";
import { warn } from "./worker/trouble.ts";
import { startWorker, type WorkerClient } from "./worker/worker.ts";

export type { Trouble } from "./core/trouble.ts";

/** What connect can be told. */
export interface ConnectOptions {
  /** What holds for jobs of which neither the call nor the definition says anything. */
  readonly defaults?: JobOptions;
  /** Refuse types that no definition used here and no live worker knows. Default false. */
  readonly strictTypes?: boolean;
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadline?: Duration;
  /** The most connections to a PostgreSQL server; two more are kept beside it, for beats and for news. Default 10. */
  readonly poolSize?: number;
  /** The key that a server asks for. A URL is no place for it: URLs end up in logs. */
  readonly apiKey?: string;
  /** Do upkeep in this process also while it has no worker: it serves workers elsewhere. Default false. */
  readonly upkeep?: boolean;
  /** Told what a person should know. Default: a line on the console. */
  readonly onTrouble?: OnTrouble;
}

/** The store that is meant when nothing is said. */
const DEFAULT_URL = "sqlite:millrace.db";
const DEFAULT_DEADLINE_MS = 10_000;
const MAX_POOL_SIZE = 1000;

/**
 * Opens a store and gives the client over it: `memory:`, `sqlite:path.db`, `postgres://…`, `redis://…` or `rediss://…`. With `http://…` or
 * `https://…`: the same client over a server, which is asked for the first time by the first call.
 */
export async function connect(url: string = DEFAULT_URL, options: ConnectOptions = {}): Promise<Client> {
  const settings = readConnectOptions(options);
  if (typeof url !== "string") throw invalid("url", "a text such as sqlite:app.db or memory:", url);
  const client = /^https?:/i.test(url) ? await connectToServer(url, settings) : await connectToStore(url, settings, undefined);
  const telemetry = await loadTelemetry();
  return telemetry === null ? client : traceClient(client, telemetry, settings.defaults);
}

/** The client over a store whose leases are watched, for figures and logs. */
export function connectWatched(url: string, options: ConnectOptions, watchLeases: ClientOverOptions["watchLeases"]): Promise<Client> {
  return connectToStore(url, readConnectOptions(options), watchLeases);
}

async function connectToStore(
  url: string,
  settings: ReturnType<typeof readConnectOptions>,
  watchLeases: ClientOverOptions["watchLeases"],
): Promise<Client> {
  const { clock, deadlineMs, poolSize, onTrouble = warn } = settings;
  if (settings.apiKey !== undefined) throw notWithThisUrl("apiKey", "only a server asks for a key: give the URL of one, or no apiKey");
  const store = await openStore(url, { clock, deadlineMs, poolSize, onWarning: (message) => onTrouble({ kind: "server", message }) });
  try {
    return clientOver(store, { ...settings, url, random: Math.random, alwaysUpkeep: settings.upkeep, watchLeases });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What only a store can do is refused, so that nobody believes it is done. */
async function connectToServer(url: string, settings: ReturnType<typeof readConnectOptions>): Promise<Client> {
  const { clock, deadlineMs, defaults, apiKey, onTrouble = warn } = settings;
  for (const name of ["strictTypes", "poolSize", "upkeep"] as const) {
    if (settings[name] !== undefined) throw notWithThisUrl(name, `${name} belongs where the store is opened: tell it to the server`);
  }
  const { createRemoteClient } = await import("./http/remote-client.ts");
  const random = Math.random;
  return createRemoteClient({
    url,
    apiKey,
    clock,
    random,
    deadlineMs,
    defaults,
    startWorker: (client, handlers, options, onStopped) =>
      startWorker(client, handlers, options, {
        clock,
        random,
        inFlight: 2,
        renewer: localRenewer(client.leases, clock),
        onTrouble,
        onStopped,
      }),
  });
}

function notWithThisUrl(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}

export interface ClientOverOptions {
  /** Given where the store can be opened a second time: leases are then renewed from a thread. */
  readonly url?: string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  /** Where the random bytes of ids come from. Default: the system. */
  readonly fillRandom?: ((bytes: Uint8Array) => void) | undefined;
  /** How long a call may wait for the store. Default 10 s. */
  readonly deadlineMs?: number | undefined;
  readonly defaults?: JobOptions | undefined;
  readonly strictTypes?: boolean | undefined;
  readonly onTrouble?: OnTrouble | undefined;
  readonly alwaysUpkeep?: boolean | undefined;
  /** Puts watchers around the leases. */
  readonly watchLeases?: ((leases: Leases) => Leases) | undefined;
  /** How long upkeep and idle workers rest at most, where that shall differ from the usual. */
  readonly rhythm?: Partial<Rhythm> | undefined;
  readonly pollMs?: number | undefined;
}

/** A client over an open store, with workers and upkeep in this process. */
export function clientOver(store: Store, options: ClientOverOptions): Client {
  const { clock, random, fillRandom, deadlineMs = DEFAULT_DEADLINE_MS, defaults, strictTypes, alwaysUpkeep, rhythm } = options;
  const onTrouble = options.onTrouble ?? warn;
  const renewers = new Set<Renewer>();
  let thread: ThreadRenewer | null = null;

  /**
   * A thread with its own connection keeps the leases of a process whose loop is blocked. A store in this process can have none; and a
   * thread cannot go by a clock of the caller's own, which may differ from the system's.
   */
  function renewerFor({ leases }: WorkerClient): RenewerFactory {
    const { url } = options;
    if (url === undefined || !store.shareable || clock !== systemClock) return localRenewer(leases, clock);
    thread ??= new ThreadRenewer({ url, deadlineMs, leases, clock });
    return thread.forWorker;
  }

  return createLocalClient(store, {
    clock,
    random,
    fillRandom,
    deadlineMs,
    defaults,
    strictTypes,
    alwaysUpkeep,
    watchLeases: options.watchLeases,
    releaseWorkers: async () => thread?.close(),
    startWorker: (client, handlers, workOptions, onStopped) =>
      startWorker(client, handlers, workOptions, {
        clock,
        random,
        fillRandom,
        inFlight: store.inFlight,
        pollMs: options.pollMs,
        renewer: listed(renewers, renewerFor(client)),
        onTrouble,
        onStopped,
      }),
    startUpkeep: (announcer: Announcer): Upkeep =>
      startUpkeep(store, {
        clock,
        random,
        announce: announcer,
        rhythm,
        beforeReclaim: async () => void (await Promise.all([...renewers].map((renewer) => renewer.beatNow()))),
        onTrouble: upkeepTrouble(clock, onTrouble),
      }),
  });
}

/** Keeps a list of the renewers that beat, so that upkeep can ask them for a beat before it takes a lease of this process for lost. */
function listed(renewers: Set<Renewer>, make: RenewerFactory): RenewerFactory {
  return (options) => {
    const renewer = make({ ...options, onStopped: () => renewers.delete(renewer) });
    renewers.add(renewer);
    return renewer;
  };
}

const TELL_AGAIN_MS = 60_000;

/** A store that is away fails every duty every second: once a minute is enough to know. */
function upkeepTrouble(clock: Clock, onTrouble: OnTrouble): (duty: string, error: unknown) => void {
  const toldAt = new Map<string, number>();
  return (duty, error) => {
    if (error instanceof MillraceError && error.code === "closed") return;
    const now = clock.monotonic();
    if (now - (toldAt.get(duty) ?? -Infinity) < TELL_AGAIN_MS) return;
    toldAt.set(duty, now);
    const reason = error instanceof Error ? error.message : String(error);
    onTrouble({ kind: "upkeep", message: `upkeep could not ${duty} and keeps trying: ${reason}`, error });
  };
}

const CONNECT_OPTIONS = [
  "defaults",
  "strictTypes",
  "clock",
  "deadline",
  "poolSize",
  "apiKey",
  "upkeep",
  "onTrouble",
] as const satisfies (keyof ConnectOptions)[];

/** Checks what connect was told, before there is a store: a refused call leaves no file behind. */
function readConnectOptions(options: ConnectOptions) {
  readFields(options, "the options of connect", CONNECT_OPTIONS);
  const { defaults, strictTypes, clock = systemClock, deadline = DEFAULT_DEADLINE_MS, poolSize, apiKey, upkeep, onTrouble } = options;
  if (!isClock(clock)) throw invalid("clock", "an object with the functions now, monotonic and setTimer", clock);
  if (strictTypes !== undefined && typeof strictTypes !== "boolean") throw invalid("strictTypes", "true or false", strictTypes);
  if (upkeep !== undefined && typeof upkeep !== "boolean") throw invalid("upkeep", "true or false", upkeep);
  if (onTrouble !== undefined && typeof onTrouble !== "function") throw invalid("onTrouble", "a function", onTrouble);
  if (poolSize !== undefined && !(Number.isInteger(poolSize) && poolSize >= 1 && poolSize <= MAX_POOL_SIZE)) {
    throw invalid("poolSize", `a whole number from 1 to ${MAX_POOL_SIZE}`, poolSize);
  }
  readJobDefaults(defaults, clock.now());
  const deadlineMs = readDuration(deadline, "deadline", 'a time in milliseconds or as "10s"', MAX_DELAY_MS, 1);
  return { defaults, strictTypes, clock, deadlineMs, poolSize, apiKey, upkeep, onTrouble };
}

function isClock(clock: unknown): boolean {
  const { now, monotonic, setTimer } = (clock ?? {}) as Partial<Record<keyof Clock, unknown>>;
  return [now, monotonic, setTimer].every((part) => typeof part === "function");
}
