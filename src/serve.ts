/**
 * STARTS THE SERVER from settings, and stops its parts in order:
 *
 *   start   log and figures → client over the store → server on its port → workers
 *   stop    readiness fails, nothing new is accepted, long polls and streams end → workers finish within the grace period, while reports of
 *           workers elsewhere are still accepted → port → client → log
 */
import type { Client, Handlers, WorkerHandle, WorkOptions } from "./client/client.ts";
import { typesOf } from "./client/handler-types.ts";
import { clientOptions, type Config, SETTINGS, workOptions } from "./config.ts";
import { connectWatched, type Watching } from "./connect.ts";
import { ALL_QUEUES } from "./core/delivery.ts";
import { MillraceError } from "./core/errors.ts";
import type { SignalLinkOptions } from "./core/signal-links.ts";
import type { Trouble } from "./core/trouble.ts";
import { AFTER_GRACE_MS } from "./core/work-limits.ts";
import { dashboardUsers } from "./http/dashboard-users.ts";
import { listen, type Listening } from "./http/listen.ts";
import { SharedLimiter } from "./http/shared-limiter.ts";
import { systemClock } from "./lib/clock.ts";
import { JobLines } from "./observe/job-lines.ts";
import { watchLeases } from "./observe/lease-watch.ts";
import { type Log, openLog, requestLines, troubleLines } from "./observe/log.ts";
import { Metrics } from "./observe/metrics.ts";
import { HTTP_REQUEST_TYPE } from "./core/internal.ts";
import { createServer, type RequestFacts, type Server } from "./server.ts";

export interface ServeOptions {
  readonly version: string;
  /** Handlers for jobs in this process, besides webhooks and requests. */
  readonly handlers?: Handlers | undefined;
  /** Backoffs by name for these jobs. */
  readonly backoffs?: WorkOptions["backoffs"];
  /** Where log lines go. Default: standard output. */
  readonly write?: ((line: string) => void) | undefined;
}

export interface Served {
  readonly url: string;
  /** Null if the dashboard is off. */
  readonly dashboardUrl: string | null;
  readonly client: Client;
  /** Stops everything in order; unfinished jobs are given back after the grace period. May be called twice. */
  stop(): Promise<void>;
}

/** Starts a server. If a part does not start, the parts before it are stopped. */
export async function serve(config: Config, options: ServeOptions): Promise<Served> {
  const { handlers, backoffs } = options;
  // The workers of the server itself have slots of their own.
  const { concurrency: _concurrency, ...background } = workOptions(config);
  const dashboard = config.dashboardEnabled && { users: dashboardUsers(config) };
  const log = await openLog({ level: config.logLevel, write: options.write });
  const watch = new Watch(log, options.version);
  const started: (() => unknown)[] = [() => watch.stop()];
  try {
    const place = new Place(config);
    const { client, spend } = await openClient(config, place, watch);
    started.unshift(() => client.close({ grace: 0 }));
    watch.source = client;
    /** The user's handlers; the server has its own workers. */
    let workers: readonly WorkerHandle[] = [];
    const server = createServer(client, {
      keys: config.apiKey,
      limiter: config.rateLimit === null ? undefined : new SharedLimiter({ rate: config.rateLimit, spend, clock: systemClock }),
      trustedProxies: config.trustedProxies,
      dashboard,
      background,
      signalSecret: config.signalSecret,
      webhookSecret: config.webhookSecret,
      webhookAllow: config.webhookAllow,
      onTrouble: watch.onTrouble,
      version: options.version,
      onRequest: watch.onRequest,
      figures: watch.metrics,
      isHealthy: () => workers.every(({ healthy }) => healthy),
      types: handlers === undefined ? undefined : [HTTP_REQUEST_TYPE, ...typesOf(handlers)],
    });
    started.unshift(() => server.close({ grace: 0 }));
    watch.isReady = () => server.isReady();
    const listening = await listen(server, { port: config.port, host: config.host });
    started.unshift(() => listening.close({ graceMs: 0 }));
    place.listens(listening.url);
    if (handlers !== undefined) workers = [client.work(handlers, { ...workOptions(config), queues: [ALL_QUEUES], backoffs })];
    let stopped: Promise<void> | null = null;
    const stop = (): Promise<void> =>
      (stopped ??= end({ server, workers, listening, client, watch, graceMs: config.workerShutdownTimeout }));
    return { url: listening.url, dashboardUrl: dashboard === false ? null : `${listening.url}/dashboard`, client, stop };
  } catch (error) {
    for (const undo of started) await endQuietly(undo);
    throw namedAsSetting(error);
  }
}

/** The setting behind an option of a part. */
const SETTING_OF: Readonly<Record<string, keyof typeof SETTINGS>> = {
  keys: "apiKey",
  webhookAllow: "webhookAllow",
  webhookSecret: "webhookSecret",
  signalSecret: "signalSecret",
};

/** Names a refused option as the setting that it came from: `key 2 of API_KEY`, not `keys[1]`. */
function namedAsSetting(error: unknown): unknown {
  if (!(error instanceof MillraceError) || error.field === undefined) return error;
  const [, option = "", index] = /^(\w+)(?:\[(\d+)\])?$/.exec(error.field) ?? [];
  const setting = SETTING_OF[option];
  if (setting === undefined) return error;
  const { env } = SETTINGS[setting];
  const named = index === undefined ? (option === "keys" ? `keys of ${env}` : env) : `key ${Number(index) + 1} of ${env}`;
  return new MillraceError(error.code, error.message.replace(error.field, named), { field: env, cause: error });
}

/** An error here must not hide the error that stopped the start. */
async function endQuietly(undo: () => unknown): Promise<void> {
  try {
    await undo();
  } catch {
    // The error that led here is thrown instead.
  }
}

/** Figures and log lines of this process. */
class Watch {
  readonly metrics: Metrics;
  readonly #log: Log;
  readonly #troubleLines: (trouble: Trouble) => void;
  readonly #requestLines: (facts: RequestFacts) => void;
  /** Set once there is a client. The figures read it, and it is opened with their watchers. */
  source: Client | null = null;
  /** Set once there is a server. */
  isReady: () => Promise<boolean> = async () => false;

  constructor(log: Log, version: string) {
    this.#log = log;
    this.#troubleLines = troubleLines(log.logger);
    this.#requestLines = requestLines(log.logger);
    this.metrics = new Metrics({
      source: { stats: () => this.#client.stats(), queues: () => this.#client.queues(), workers: () => this.#client.workers() },
      version,
      isReady: () => this.isReady(),
    });
  }

  get watching(): Watching {
    const lines = new JobLines(this.#log.logger);
    return {
      leases: (leases) => watchLeases(leases, [this.metrics.leases, lines]),
      onLost: (lost) => lines.lost(lost),
      onContended: this.metrics.onContended,
    };
  }

  readonly onTrouble = (trouble: Trouble): void => {
    this.metrics.onTrouble(trouble);
    // The log has a line for each request.
    if (trouble.kind !== "request") this.#troubleLines(trouble);
  };

  readonly onRequest = (facts: RequestFacts): void => {
    this.metrics.onRequest(facts);
    this.#requestLines(facts);
  };

  stop(): void {
    this.metrics.stop();
    this.#log.flush();
  }

  get #client(): Client {
    if (this.source === null) throw new Error("the figures were read before there was a client");
    return this.source;
  }
}

/** Where people reach the server. Its own port is known once it listens, and its client is opened before. */
class Place {
  #own: string;
  readonly #public: string | null;

  constructor({ publicUrl, host, port }: Config) {
    this.#public = publicUrl;
    this.#own = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }

  get url(): string {
    return this.#public ?? this.#own;
  }

  listens(url: string): void {
    this.#own = url;
  }
}

function openClient(config: Config, place: Place, watch: Watch): ReturnType<typeof connectWatched> {
  const [secret] = config.signalSecret;
  const signals: SignalLinkOptions | undefined =
    secret === undefined
      ? undefined
      : {
          secret,
          get url() {
            return place.url;
          },
        };
  const options = { ...clientOptions(config), signals, upkeep: true, onTrouble: watch.onTrouble };
  return connectWatched(config.url, options, watch.watching);
}

interface Parts {
  readonly server: Server;
  readonly workers: readonly WorkerHandle[];
  readonly listening: Listening;
  readonly client: Client;
  readonly watch: Watch;
  readonly graceMs: number;
}

async function end({ server, workers, listening, client, watch, graceMs }: Parts): Promise<void> {
  const endsAt = performance.now() + graceMs + AFTER_GRACE_MS;
  const stopped = await Promise.allSettled([server.close({ grace: graceMs }), ...workers.map((worker) => worker.stop({ grace: graceMs }))]);
  // The grace period was used above. What is left is time to answer callers, and for the store.
  const leftMs = Math.max(0, endsAt - performance.now());
  const port = listening.close({ graceMs: Math.min(AFTER_GRACE_MS, leftMs) });
  // Callers are answered before the client closes. Once the grace period is over, they and the store share the same second.
  if (leftMs >= AFTER_GRACE_MS) await port;
  const closed = await Promise.allSettled([port, client.close({ grace: 0 })]);
  watch.stop();
  for (const end of [...stopped, ...closed]) if (end.status === "rejected") throw end.reason;
}
