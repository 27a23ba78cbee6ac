/** URL -> CLIENT. The URL decides whether it is over a store or a server; the code for the other is not loaded. */
import type { Client, JobList, JobsOf, PlainClient } from "./client/client.ts";
import type { ClientHooks } from "./client/hooks.ts";
import type { ClientOverOptions } from "./assembly/client-over.ts";
import { DEFAULT_STORE_URL, isServerUrl } from "./config/store-url.ts";
import { checkClientOptions, type ClientOptions, STORE_ONLY_OPTIONS } from "./core/client-options.ts";
import { type Duration, MAX_DELAY_MS } from "./core/duration.ts";
import { invalid, MillraceError } from "./core/errors.ts";
import { readJobDefaults } from "./core/job-options.ts";
import { refuseOldNode } from "./core/node-version.ts";
import { readDuration } from "./core/read-fields.ts";
import type { OnTrouble } from "./core/trouble.ts";
import { DEFAULT_DEADLINE_MS } from "./core/work-limits.ts";
import type { RemoteOptions } from "./http/remote-client.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { OnContended } from "./store/open-store.ts";
import type { OwnConnection } from "./store/own-connection.ts";
import type { Store } from "./store/store.ts";
import { guarded, warn } from "./worker/trouble.ts";

export type { IoredisInstance, OwnConnection, PgPool, SqliteDatabase } from "./store/own-connection.ts";
export type { Trouble } from "./core/trouble.ts";

/** Options of connect. */
export interface ConnectOptions<Jobs extends JobList = JobList> extends ClientOptions {
  /**
   * The jobs of your application, made by defineJob. `enqueue`, `enqueueMany` and `schedules` then take only their names: an unknown one or a wrong
   * payload does not compile, and is refused with `unknown_type` or `invalid_input`; a name gets the schema and options of its definition.
   * Default: any name.
   */
  readonly jobs?: Jobs | undefined;
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
 * Opens a store and returns a client for it: `memory:`, `sqlite:path.db`, `postgres://…`, `redis://…`, `rediss://…` or `redis+sentinel://…`. With `http://…` or
 * `https://…`, returns the same client over a server; the first call is the first request. Instead of a URL it takes a connection of your
 * application: `{ pg: pool }`, `{ redis: ioredis }` or `{ sqlite: db }`. You close that one yourself, after the client.
 * Without any argument it opens `sqlite:millrace.db` in the current folder; `undefined`, as from a variable that is not set, is refused.
 */
export async function connect<const Jobs extends JobList = JobList>(
  ...given: readonly [place?: string | OwnConnection, options?: ConnectOptions<Jobs>]
): Promise<Client<JobsOf<Jobs>>> {
  const [place, options = {}] = given.length === 0 ? [DEFAULT_STORE_URL] : given;
  return openToWork(place, options, undefined, false) as Promise<unknown> as Promise<Client<JobsOf<Jobs>>>;
}

/** For a command that runs jobs: with leases watched for a log, and only a short wait for a server that refuses connections. */
export async function connectToWork(url: string, options: ConnectOptions, watching: Watching | undefined): Promise<Client> {
  return openToWork(url, options, watching, true);
}

async function openToWork(
  given: string | OwnConnection | undefined,
  options: ConnectOptions,
  watching: Watching | undefined,
  impatient: boolean,
): Promise<Client> {
  const settings = readConnectOptions(options);
  const place = await readPlace(given, settings);
  const { readJobs, withJobs } = await import("./client/registered-jobs.ts");
  const jobs = readJobs(settings.jobs);
  const client =
    typeof place === "string" && isServerUrl(place)
      ? await connectToServer(place, settings, watching === undefined, (...its) => workersOverHttp(settings.clock, watching, ...its))
      : (await connectToStore(place, settings, { watching, impatient })).client;
  const { loadTelemetry } = await import("./observe/telemetry.ts");
  const telemetry = await loadTelemetry();
  if (telemetry === null) return withJobs(client, jobs);
  const { traceClient } = await import("./observe/traced-client.ts");
  return withJobs(traceClient(client, telemetry, settings.defaults), jobs);
}

/** For a short command that runs no jobs and belongs to no trace: loads only what it needs. */
export async function connectBriefly(url: string, options: ConnectOptions): Promise<PlainClient> {
  const settings = readConnectOptions(options);
  return isServerUrl(url) ? openRemotely(url, settings, undefined) : (await connectToStore(url, settings, { impatient: true })).client;
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
  place: string | OwnConnection,
  settings: ReturnType<typeof readConnectOptions>,
  { watching, worksBulk = false, impatient }: { watching?: Watching | undefined; worksBulk?: boolean; impatient: boolean },
): Promise<{ client: Client; store: Store }> {
  const { clock, deadlineMs, poolSize, onTrouble = warn } = settings;
  if (settings.apiKey !== undefined)
    throw notWithThisUrl("apiKey", "apiKey is only for servers: use the URL of a server, or leave apiKey out");
  await checkAllow(settings.webhookAllow);
  const [{ openStore }, { clientOver }, { ClientMetrics }] = await Promise.all([
    import("./store/open-store.ts"),
    import("./assembly/client-over.ts"),
    import("./assembly/client-metrics.ts"),
  ]);
  const onWarning = (message: string): void => onTrouble({ kind: "server", message });
  const onWaiting = (message: string): void => onTrouble({ kind: "store", message });
  const metrics = new ClientMetrics();
  const onContended = watching?.onContended ?? metrics.onContended;
  const store = await openStore(place, { clock, deadlineMs, poolSize, impatient, onWarning, onWaiting, onContended });
  try {
    const watchers = { watchLeases: watching?.leases, onLost: watching?.onLost, tellsDead: watching === undefined };
    // A thread cannot use a connection of the application, so leases on one are renewed in this thread.
    const url = typeof place === "string" ? place : undefined;
    const client = clientOver(store, { ...settings, ...watchers, metrics, url, random: Math.random, worksBulk });
    return { client, store };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function readPlace(given: unknown, { poolSize }: ConnectOptions): Promise<string | OwnConnection> {
  if (given === undefined || given === null || given === "") throw noPlace(given);
  if (typeof given === "string") return given;
  if (typeof given !== "object") throw invalid("url", "a string such as sqlite:app.db or memory:, or a connection", given);
  const { readOwnConnection } = await import("./store/own-connection.ts");
  const place = readOwnConnection(given);
  if ("pg" in place && poolSize !== undefined) throw notWithThisUrl("poolSize", "poolSize has no effect on your own pool: set its max");
  return place;
}

/** An environment variable that is not set is the usual cause. A file in the current folder in its place would hide that. */
function noPlace(given: unknown): MillraceError {
  const next = `Is an environment variable not set? Give the URL of a store or a server, or call connect() without arguments for ${DEFAULT_STORE_URL}`;
  return new MillraceError("invalid_input", `the URL given to connect is ${given === "" ? "empty" : String(given)}. ${next}`, {
    field: "url",
  });
}

async function connectToServer(
  url: string,
  settings: ReturnType<typeof readConnectOptions>,
  tellsDead: boolean,
  workers: (hooks: ClientHooks, onTrouble: OnTrouble) => Promise<RemoteOptions["startWorker"]>,
): Promise<Client> {
  const [{ ClientHooks }, { ClientMetrics }] = await Promise.all([import("./client/hooks.ts"), import("./assembly/client-metrics.ts")]);
  const metrics = new ClientMetrics();
  const onTrouble = metrics.countTroubles(settings.onTrouble ?? warn);
  const hooks = new ClientHooks({ onTrouble: guarded(onTrouble, settings.clock), tellsDead });
  const client = await openRemotely(url, settings, await workers(hooks, onTrouble));
  return hooks.join(client, settings.defaults, metrics);
}

/** Refuses options that only a store has: they would have no effect. */
async function openRemotely(
  url: string,
  settings: ReturnType<typeof readConnectOptions>,
  startWorker: RemoteOptions["startWorker"],
): Promise<PlainClient> {
  const { clock, deadlineMs, defaults, apiKey } = settings;
  for (const name of STORE_ONLY_OPTIONS) {
    if (settings[name] !== undefined) throw notWithThisUrl(name, `${name} has no effect over HTTP: set it on the server`);
  }
  const { createRemoteClient } = await import("./http/remote-client.ts");
  return createRemoteClient({ url, apiKey, clock, random: Math.random, deadlineMs, defaults, startWorker });
}

async function workersOverHttp(
  clock: Clock,
  watching: Watching | undefined,
  hooks: ClientHooks,
  onTrouble: OnTrouble,
): Promise<NonNullable<RemoteOptions["startWorker"]>> {
  const [{ startWorker }, { localRenewer }] = await Promise.all([import("./worker/worker.ts"), import("./worker/renewal/heartbeat.ts")]);
  return (client, handlers, options, onStopped) =>
    startWorker(watching === undefined ? client : { ...client, leases: watching.leases(client.leases) }, handlers, options, {
      clock,
      random: Math.random,
      inFlight: 2,
      isRemote: true,
      renewer: localRenewer(client.leases, clock),
      onTrouble,
      hooks,
      onStopped,
    });
}

function notWithThisUrl(field: string, message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}

/** Checks the options before the store is opened, so that a refused call leaves no file behind. */
function readConnectOptions(options: ConnectOptions) {
  refuseOldNode(process.versions.node);
  checkClientOptions(options, "the options of connect", ["jobs", "clock", "deadline", "apiKey"]);
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
