/** URL -> CLIENT. The URL decides whether it is over a store or a server; the code for the other is not loaded. */
import type { Client } from "./client/client.ts";
import type { ClientOverOptions } from "./client-over.ts";
import { DEFAULT_STORE_URL, isServerUrl } from "./config/store-url.ts";
import { checkClientOptions, type ClientOptions, STORE_ONLY_OPTIONS } from "./core/client-options.ts";
import { type Duration, MAX_DELAY_MS } from "./core/duration.ts";
import { invalid, MillraceError } from "./core/errors.ts";
import { readJobDefaults } from "./core/job-options.ts";
import { readDuration } from "./core/read-fields.ts";
import { DEFAULT_DEADLINE_MS } from "./core/work-limits.ts";
import type { RemoteOptions } from "./http/remote-client.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { OnContended } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { warn } from "./worker/trouble.ts";

export type { Trouble } from "./core/trouble.ts";

/** Options of connect. */
export interface ConnectOptions extends ClientOptions {
  /** The source of time. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadline?: Duration | undefined;
  /** The API key for a server. Do not put it into the URL: URLs end up in logs. */
  readonly apiKey?: string | undefined;
}

/** Watches a client, for figures and logs. */
export interface Watching {
  readonly leases: NonNullable<ClientOverOptions["watchLeases"]>;
  readonly onLost: NonNullable<ClientOverOptions["onLost"]>;
  readonly onContended?: OnContended | undefined;
}

/**
 * Opens a store and returns a client for it: `memory:`, `sqlite:path.db`, `postgres://…`, `redis://…` or `rediss://…`. With `http://…` or
 * `https://…`, returns the same client over a server; the first call is the first request.
 */
export async function connect(url: string = DEFAULT_STORE_URL, options: ConnectOptions = {}): Promise<Client> {
  return openToWork(url, options, undefined, false);
}

/** For a command that runs jobs: with leases watched for a log, and only a short wait for a server that refuses connections. */
export async function connectToWork(url: string, options: ConnectOptions, watching: Watching | undefined): Promise<Client> {
  return openToWork(url, options, watching, true);
}

async function openToWork(url: string, options: ConnectOptions, watching: Watching | undefined, impatient: boolean): Promise<Client> {
  const settings = readConnectOptions(options);
  if (typeof url !== "string") throw invalid("url", "a string such as sqlite:app.db or memory:", url);
  const client = isServerUrl(url)
    ? await connectToServer(url, settings, await workersOverHttp(settings, watching))
    : (await connectToStore(url, settings, { watching, impatient })).client;
  const { loadTelemetry } = await import("./observe/telemetry.ts");
  const telemetry = await loadTelemetry();
  if (telemetry === null) return client;
  const { traceClient } = await import("./observe/traced-client.ts");
  return traceClient(client, telemetry, settings.defaults);
}

/** For a short command that runs no jobs and belongs to no trace: loads only what it needs. */
export async function connectBriefly(url: string, options: ConnectOptions): Promise<Client> {
  const settings = readConnectOptions(options);
  return isServerUrl(url) ? connectToServer(url, settings, undefined) : (await connectToStore(url, settings, { impatient: true })).client;
}

/**
 * For a server: the client over a store, which runs bulk operations and has its leases watched for figures and logs; and the allowances shared
 * by all processes on the store. It continues the traces of jobs, and starts none.
 */
export async function connectWatched(
  url: string,
  options: ConnectOptions,
  watching: Watching,
): Promise<{ client: Client; spend: Store["spend"] }> {
  const { client, store } = await connectToStore(url, readConnectOptions(options), { watching, worksBulk: true, impatient: true });
  const { loadTelemetry } = await import("./observe/telemetry.ts");
  const telemetry = await loadTelemetry();
  if (telemetry !== null) (await import("./observe/traced-client.ts")).traceWork(client, telemetry);
  return { client, spend: (spends) => store.spend(spends) };
}

async function connectToStore(
  url: string,
  settings: ReturnType<typeof readConnectOptions>,
  { watching, worksBulk = false, impatient }: { watching?: Watching | undefined; worksBulk?: boolean; impatient: boolean },
): Promise<{ client: Client; store: Store }> {
  const { clock, deadlineMs, poolSize, onTrouble = warn } = settings;
  if (settings.apiKey !== undefined)
    throw notWithThisUrl("apiKey", "apiKey is only for servers: use the URL of a server, or leave apiKey out");
  await checkAllow(settings.webhookAllow);
  const [{ openStore }, { clientOver }] = await Promise.all([import("./store/open-store.ts"), import("./client-over.ts")]);
  const onWarning = (message: string): void => onTrouble({ kind: "server", message });
  const store = await openStore(url, { clock, deadlineMs, poolSize, impatient, onWarning, onContended: watching?.onContended });
  try {
    const watchers = { watchLeases: watching?.leases, onLost: watching?.onLost };
    const client = clientOver(store, { ...settings, ...watchers, url, random: Math.random, worksBulk });
    return { client, store };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Refuses options that only a store has: they would have no effect. */
async function connectToServer(
  url: string,
  settings: ReturnType<typeof readConnectOptions>,
  startWorker: RemoteOptions["startWorker"],
): Promise<Client> {
  const { clock, deadlineMs, defaults, apiKey } = settings;
  for (const name of STORE_ONLY_OPTIONS) {
    if (settings[name] !== undefined) throw notWithThisUrl(name, `${name} has no effect over HTTP: set it on the server`);
  }
  const { createRemoteClient } = await import("./http/remote-client.ts");
  return createRemoteClient({ url, apiKey, clock, random: Math.random, deadlineMs, defaults, startWorker });
}

async function workersOverHttp(
  { clock, onTrouble = warn }: ReturnType<typeof readConnectOptions>,
  watching: Watching | undefined,
): Promise<NonNullable<RemoteOptions["startWorker"]>> {
  const [{ startWorker }, { localRenewer }] = await Promise.all([import("./worker/worker.ts"), import("./worker/renewal/heartbeat.ts")]);
  return (client, handlers, options, onStopped) =>
    startWorker(watching === undefined ? client : { ...client, leases: watching.leases(client.leases) }, handlers, options, {
      clock,
      random: Math.random,
      inFlight: 2,
      renewer: localRenewer(client.leases, clock),
      onTrouble,
      onStopped,
    });
}

function notWithThisUrl(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}

/** Checks the options before the store is opened, so that a refused call leaves no file behind. */
function readConnectOptions(options: ConnectOptions) {
  checkClientOptions(options, "the options of connect", ["clock", "deadline", "apiKey"]);
  const { clock = systemClock, deadline = DEFAULT_DEADLINE_MS, ...others } = options;
  if (!isClock(clock)) throw invalid("clock", "an object with the functions now, monotonic and setTimer", clock);
  readJobDefaults(others.defaults, clock.now());
  const deadlineMs = readDuration(deadline, "deadline", 'a time in milliseconds or as "10s"', MAX_DELAY_MS, 1);
  return { ...others, clock, deadlineMs };
}

/** Loads the address rules only if there are ranges. */
async function checkAllow(allow: readonly string[] | undefined): Promise<void> {
  if (allow === undefined || allow.length === 0) return;
  const { AddressRules } = await import("./webhook/address-rules.ts");
  void new AddressRules(allow, "webhookAllow");
}

function isClock(clock: unknown): boolean {
  const { now, monotonic, setTimer } = (clock ?? {}) as Partial<Record<keyof Clock, unknown>>;
  return [now, monotonic, setTimer].every((part) => typeof part === "function");
}
