/** THE SERVER OF MILLRACE, to mount in your application or to give a port: its routes, its dashboard, its metrics, and what runs beside. */
import { prepareBackground } from "./assembly/background.ts";
import { versionIfKnown } from "./cli/version.ts";
import { type Client, MARKS, type WorkerHandle, type WorkOptions } from "./client/client.ts";
import type { Duration } from "./core/duration.ts";
import { invalid, MillraceError } from "./core/errors.ts";
import { ANYTHING, checkOptions, isObject, type OptionRule } from "./core/option-rules.ts";
import { readGrace } from "./core/work-limits.ts";
import {
  createServer as createHttpServer,
  type DashboardOptions,
  type RequestFacts,
  type Server as HttpServer,
  type ServerOptions as HttpServerOptions,
} from "./http/server.ts";
import { SERVER_OPTION_RULES } from "./http/server-option-rules.ts";
import { tellFaults } from "./http/tell-faults.ts";
import { atMost, systemClock } from "./lib/clock.ts";
import { watchFromNowOn } from "./observe/lease-watch.ts";
import { Metrics } from "./observe/metrics.ts";
import { guarded, warn } from "./worker/trouble.ts";

export type {
  ApplicationAuth,
  ApplicationRequest,
  ApplicationUser,
  DashboardOptions,
  DashboardUser,
  FastifyPlugin,
  KoaMiddleware,
  Limiter,
  RateLimit,
  RequestFacts,
  ServerLimits,
} from "./http/server.ts";
export { listen } from "./http/listen.ts";
export { nextHandlers } from "./http/mount/next.ts";
export type { NextHandler, NextHandlers } from "./http/mount/next.ts";
export type { Listening, ListenOptions } from "./http/listen.ts";

/** Options of a server. */
export interface ServerOptions extends Omit<HttpServerOptions, "dashboard"> {
  /** How the dashboard is served; false: not at all. */
  readonly dashboard?: DashboardOptions | false | undefined;
  /**
   * Whether this server sends webhook deliveries and runs `http:request` jobs; options are for the workers that do so. Default: true over a store.
   * Over HTTP, the server behind the client does both.
   */
  readonly background?: boolean | Omit<WorkOptions, "queues" | "concurrency"> | undefined;
  /** Secrets to sign webhook deliveries with; several while you replace one. Without any, deliveries are not signed. */
  readonly webhookSecret?: string | readonly string[] | undefined;
  /** Private addresses and ranges, such as `10.0.0.0/8`, that webhooks and `http:request` may call. Give `connect` the same. */
  readonly webhookAllow?: readonly string[] | undefined;
}

/** A server over a client. */
export interface Server extends HttpServer, AsyncDisposable {
  /**
   * Drains the server and stops what runs beside it, within `grace`; the client stays open. Closing the client stops these workers, too.
   * May be called twice.
   */
  close(options?: { readonly grace?: Duration | undefined }): Promise<void>;
}

/**
 * Creates a server over a client. It opens no port: mount its `listener`, `fetch`, `fastify` or `koa` in your application, or pass it to
 * `listen`.
 */
export function createServer(client: Client, options: ServerOptions = {}): Server {
  if (typeof client?.enqueue !== "function") throw invalid("client", "a client that connect returned", client);
  checkOptions(options, "the options of createServer", RULES, ["webhookSecret", "webhookAllow"]);
  const isOverStore = client[MARKS] !== undefined;
  const { background = isOverStore, webhookSecret, webhookAllow, dashboard = {}, onTrouble = warn, version = versionIfKnown() } = options;
  if (background !== false && !isOverStore) throw new MillraceError("invalid_input", NOT_OVER_HTTP, { field: "background" });
  const work = typeof background === "object" ? background : {};
  const start = background === false ? () => [] : prepareBackground(client, { secrets: webhookSecret, allow: webhookAllow, work });
  const clock = options.clock ?? systemClock;
  const tell = guarded(onTrouble, clock);
  let workers: readonly WorkerHandle[] = [];
  const metrics = options.figures === undefined ? new Metrics({ source: client, version, isReady: () => server.isReady() }) : null;
  const server: HttpServer = createHttpServer(client, {
    ...options,
    version,
    dashboard: dashboard === false ? undefined : dashboard,
    onTrouble: tell,
    figures: options.figures ?? metrics ?? undefined,
    onRequest: each([metrics?.onRequest, tellFaults(tell, clock), options.onRequest]),
    isHealthy: () => workers.every(({ healthy }) => healthy) && options.isHealthy?.() !== false,
  });
  if (metrics !== null && isOverStore) watchFromNowOn(client.leases, [metrics.leases]);
  workers = start();

  let closed: Promise<void> | null = null;
  const close = (graceMs: number | undefined): Promise<void> =>
    (closed ??= end({ server, workers, graceMs }).finally(() => metrics?.stop()));
  return Object.assign(server, {
    close: ({ grace }: { readonly grace?: Duration | undefined } = {}) => close(grace === undefined ? undefined : readGrace(grace)),
    [Symbol.asyncDispose]: () => close(undefined),
  });
}

/** The worker reads the values. */
const BACKGROUND: Readonly<Record<Exclude<keyof WorkOptions, "queues" | "concurrency">, OptionRule>> = {
  lease: ANYTHING,
  grace: ANYTHING,
  settle: ANYTHING,
  version: ANYTHING,
  backoffs: ANYTHING,
  ahead: ANYTHING,
};

/** The others are checked where they are read. */
const RULES = {
  ...SERVER_OPTION_RULES,
  background: {
    mustBe: "true, false, or an object of worker options",
    allows: (given: unknown) => typeof given === "boolean" || isObject(given),
    fields: BACKGROUND,
  },
} satisfies Partial<Record<keyof ServerOptions, OptionRule>>;

const NOT_OVER_HTTP = "background is for a client over a store: over HTTP, the server behind the client does this";

function each(listeners: readonly (((facts: RequestFacts) => void) | undefined)[]): (facts: RequestFacts) => void {
  const given = listeners.filter((listener) => listener !== undefined);
  return (facts) => {
    for (const listener of given) listener(facts);
  };
}

interface Parts {
  readonly server: HttpServer;
  readonly workers: readonly WorkerHandle[];
  readonly graceMs: number | undefined;
}

async function end({ server, workers, graceMs }: Parts): Promise<void> {
  // A caller who sends a request slowly must not hold up the end beyond the grace period.
  const drained = graceMs === undefined ? server.drain() : atMost(systemClock, graceMs, server.drain());
  const stopped = await Promise.allSettled([drained, ...workers.map((worker) => worker.stop({ grace: graceMs }))]);
  for (const each of stopped) if (each.status === "rejected") throw each.reason;
}
