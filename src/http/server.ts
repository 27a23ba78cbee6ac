/**
 * THE SERVER: match, check, call the Client, answer. One fetch handler does it all, and can be mounted in any application; `listen` opens a
 * port for it.
 */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Client, MARKS } from "../client/client.ts";
import { invalid } from "../core/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { Answerer, type RequestFacts } from "./answerer.ts";
import type { Answer } from "./call.ts";
import { FetchCall, toResponse } from "./fetch-call.ts";
import { type RouteName, ROUTES } from "./contract.ts";
import { Dashboard } from "./dashboard.ts";
import { EndedSessions } from "./ended-sessions.ts";
import { Admission } from "./admission.ts";
import { HandledTypes } from "./handled-types.ts";
import { PayloadCheck } from "./payload-check.ts";
import { Readiness } from "./health.ts";
import { Hub } from "./live/hub.ts";
import { upgradeListener } from "./live/upgrade.ts";
import type { UpgradeListener } from "./live/upgrade-listener.ts";
import { type Limiter, MemoryLimiter, Occupancy, type RateLimit, type ServerLimits } from "./limits.ts";
import { NodeCall, writeAnswer } from "./node-call.ts";
import { type AnyHandler, type PreparedRoute, prepareRoute } from "./prepared-route.ts";
import type { Handlers } from "./route-input.ts";
import { aliasHandlers } from "./routes/aliases.ts";
import { auditHandlers } from "./routes/audit.ts";
import { bulkHandlers } from "./routes/bulk.ts";
import { dashboardHandlers } from "./routes/dashboard.ts";
import { deadHandlers } from "./routes/dead.ts";
import { jobHandlers } from "./routes/jobs.ts";
import { leaseHandlers } from "./routes/leases.ts";
import { queueHandlers } from "./routes/queues.ts";
import { scheduleHandlers } from "./routes/schedules.ts";
import { type Figures, systemHandlers, type SystemParts } from "./routes/system.ts";
import { type DashboardUser, Sessions } from "./sessions.ts";
import { SignIn } from "./sign-in.ts";
import { StoreCheck } from "./store-check.ts";
import { PAGE_MOUNT, StaticPage } from "./static.ts";

export type { RequestFacts } from "./answerer.ts";
export type { Limiter, RateLimit, ServerLimits } from "./limits.ts";
export type { DashboardUser } from "./sessions.ts";

/** How the dashboard is served, at `/dashboard` below the server's own mount. */
export interface DashboardOptions {
  /** Who may sign in, besides callers with a key. Without users and without keys, nobody has to. */
  readonly users?: readonly DashboardUser[] | undefined;
  /** The folder of the built page. Default: the one in this package. */
  readonly folder?: string | undefined;
}

/** Options of a server. */
export interface ServerOptions {
  /** Accepted keys: each a secret (all scopes) or `name:scope+scope:secret`. Without keys, only this machine may call. */
  readonly keys?: readonly string[] | undefined;
  /** Your application decides who may call: no key is needed. */
  readonly open?: boolean | undefined;
  /** The mount path, such as `/queue`, if your application does not remove it from the path. */
  readonly basePath?: string | undefined;
  /** Host names that callers may use. Default: any; without keys, those of this machine. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of other web pages that may call, such as `https://admin.example.com`. */
  readonly origins?: readonly string[] | undefined;
  /** How many requests one caller may send. Counted by key, or by address for callers without a key. */
  readonly rateLimit?: RateLimit | null | undefined;
  /** Counts the requests, if several processes share the rate limit. */
  readonly limiter?: Limiter | undefined;
  /** How many proxies are in front of it: the caller's address then comes from X-Forwarded-For. */
  readonly trustedProxies?: number | undefined;
  /** Serves the dashboard, too. */
  readonly dashboard?: DashboardOptions | undefined;
  /** What it handles at once. */
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Called for every answered request, for logs and metrics. */
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined;
  /** Whether the process can work, apart from its store. /health and /health/ready ask it. */
  readonly isHealthy?: (() => boolean) | undefined;
  /** Types that workers of this process run, in all queues. With them, the answer to a new job says if no live worker handles its type. */
  readonly types?: readonly string[] | undefined;
  /** What GET /metrics shows. */
  readonly figures?: Figures | undefined;
  readonly version?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** A server over a client. */
export interface Server {
  /** Answers a request: what Hono, Next.js, Bun and others mount. */
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>;
  /** The same for `node:http` and Express. */
  readonly listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /**
   * For the `upgrade` event of a `node:http` server: opens WebSockets at /api/v1/ws, which `fetch` and `listener` cannot. It answers every
   * upgrade request. Without it, you can read the same events as server-sent events.
   */
  readonly upgrade: UpgradeListener;
  /** Whether callers on other machines are refused because there are no keys. */
  readonly isLocalOnly: boolean;
  /** What GET /health/ready says. */
  isReady(): Promise<boolean>;
  /**
   * Starts a shutdown: readiness fails, long polls are answered, streams end, and new requests are refused, except those that report running
   * work. Resolves when all requests are answered. May be called twice.
   */
  drain(): Promise<void>;
}

const USUAL_LIMITS: ServerLimits = { requests: 4096, waiting: 4096, bytes: 64 * 1024 * 1024, streams: 1000, streamsPerCaller: 200 };

/** Creates a server over a client. It opens no port: mount its `fetch` or its `listener`, or pass it to `listen`. */
export function createServer(client: Client, options: ServerOptions = {}): Server {
  const { clock = systemClock, basePath = "", rateLimit } = options;
  if (!/^(\/[\w.~-]+)*$/.test(basePath)) throw invalid("basePath", "a path such as /queue, without a slash at the end", basePath);
  const sessions = new Sessions(options.dashboard?.users ?? []);
  const ended = new EndedSessions({ marks: client[MARKS], clock });
  const admission = new Admission({
    keys: options.keys ?? [],
    sessions,
    ended,
    open: options.open ?? false,
    hosts: options.hosts ?? null,
    origins: options.origins ?? [],
    limiter: options.limiter ?? (rateLimit ? new MemoryLimiter(rateLimit) : null),
    trustedProxies: options.trustedProxies ?? 0,
    clock,
  });
  const limits = { ...USUAL_LIMITS, ...options.limits };
  const answerer = new Answerer({ admission, ended, clock, occupancy: new Occupancy(limits), onRequest: options.onRequest });
  const hub = new Hub({ client, clock, limits });
  const readiness = new Readiness(client, clock);
  const { version = "0.0.0", figures } = options;
  const storeCheck = new StoreCheck(client, clock);
  storeCheck.start();
  const canWork = (): boolean => !answerer.isDraining && options.isHealthy?.() !== false;
  const isReady = async (): Promise<boolean> => canWork() && readiness.isReady();
  const isWell = async (): Promise<boolean> => canWork() && storeCheck.answers();
  const dashboard =
    options.dashboard === undefined
      ? null
      : new Dashboard(new SignIn({ admission, sessions, ended, clock, basePath }), new StaticPage(options.dashboard.folder));
  const handledTypes = options.types === undefined ? null : new HandledTypes({ client, clock, own: options.types });
  const routes = prepareRoutes(
    { client, clock, handledTypes, payloadCheck: new PayloadCheck(client, clock), hub, version, isReady, isWell, figures },
    dashboard,
  );
  const { fetch } = createApp(routes, answerer, basePath, dashboard);
  return {
    fetch: async (request, env) => fetch(request, env),
    listener: createListener(routes, answerer, basePath, fetch),
    upgrade: upgradeListener(
      routes.find(({ name }) => name === "GET /api/v1/ws")!,
      answerer,
      basePath,
    ),
    isLocalOnly: admission.isLocalOnly,
    isReady,
    async drain() {
      storeCheck.stop();
      await answerer.drain();
      hub.close();
    },
  };
}

function prepareRoutes(parts: SystemParts, dashboard: Dashboard | null): PreparedRoute[] {
  const handlers: Handlers<RouteName> = {
    ...jobHandlers(parts),
    ...deadHandlers(parts),
    ...bulkHandlers(parts),
    ...auditHandlers(parts),
    ...queueHandlers(parts),
    ...scheduleHandlers(parts),
    ...leaseHandlers(parts),
    ...systemHandlers(parts),
    ...dashboardHandlers(dashboard?.signIn ?? null),
    ...aliasHandlers(parts),
  };
  return (Object.keys(ROUTES) as RouteName[]).map((name) => prepareRoute(name, handlers[name] as AnyHandler));
}

/** No middleware: the checks of every call are in one place, and a call with one handler is the cheapest for Hono. */
function createApp(routes: readonly PreparedRoute[], answerer: Answerer, basePath: string, dashboard: Dashboard | null): Hono {
  const app = new Hono({ strict: true });
  for (const route of routes) {
    app.on(route.method, basePath + route.path.replace(/\{(\w+)\}/g, ":$1"), async (c) =>
      toResponse(
        await answerer.answer(
          route,
          new FetchCall(c.req.raw, c.env),
          paramsOf(route, (name) => c.req.param(name)),
        ),
      ),
    );
  }
  if (dashboard !== null) {
    addRoot(app, answerer, basePath);
    addPage(app, answerer, basePath + PAGE_MOUNT, dashboard);
  }
  app.notFound(async (c) =>
    toResponse(await answerer.answerNoRoute(new FetchCall(c.req.raw, c.env), methodsAt(routes, c.req.path, basePath))),
  );
  return app;
}

/** Redirects the server's root to the dashboard. Relative, so that it is right under any mount path. */
function addRoot(app: Hono, answerer: Answerer, basePath: string): void {
  app.get(`${basePath}/`, async (c) => {
    const redirect = async (): Promise<Answer> => ({ status: 302, headers: REDIRECT, body: null });
    return toResponse(await answerer.answerFile(new FetchCall(c.req.raw, c.env), "/", redirect));
  });
}

/** A path below the dashboard's mount that is no route is a file of its page, or a path that the page handles. */
function addPage(app: Hono, answerer: Answerer, mount: string, dashboard: Dashboard): void {
  for (const path of [mount, `${mount}/*`]) {
    app.get(path, async (c) => {
      const call = new FetchCall(c.req.raw, c.env);
      const below = new URL(c.req.raw.url).pathname.slice(mount.length);
      return toResponse(await answerer.answerFile(call, `${PAGE_MOUNT}/*`, () => dashboard.answer(below, call)));
    });
    app.all(path, async (c) => toResponse(await answerer.answerNoRoute(new FetchCall(c.req.raw, c.env), ["GET", "HEAD"])));
  }
}

/**
 * Routes with a fixed path, which are called most, are answered without Request and Response; all others, and all streams, by the fetch
 * handler.
 */
function createListener(routes: readonly PreparedRoute[], answerer: Answerer, basePath: string, fetch: Hono["fetch"]): Server["listener"] {
  const direct = new Map<string, Map<string, PreparedRoute>>();
  for (const route of routes.filter(isDirect)) {
    const path = basePath + route.path;
    direct.set(path, (direct.get(path) ?? new Map()).set(route.method, route));
  }
  const others = getRequestListener((request, env) => fetch(request, env));
  return (incoming, outgoing) => {
    const { method = "GET", url = "/" } = incoming;
    const mark = url.indexOf("?");
    const route = direct.get(mark === -1 ? url : url.slice(0, mark))?.get(method);
    if (route === undefined) return void others(incoming, outgoing);
    const call = new NodeCall(incoming, outgoing, mark === -1 ? "" : url.slice(mark + 1));
    void answerer.answer(route, call, NO_PARAMS).then((answer) => writeAnswer(outgoing, answer));
  };
}

function isDirect({ paramNames, rule }: PreparedRoute): boolean {
  return paramNames.length === 0 && Object.values(rule.answers).every(({ mediaType }) => mediaType !== "text/event-stream");
}

const NO_PARAMS = {};
const REDIRECT = { Location: PAGE_MOUNT.slice(1), "Cache-Control": "no-store" };

function paramsOf({ paramNames }: PreparedRoute, param: (name: string) => string | undefined): Record<string, string> {
  return paramNames.length === 0 ? NO_PARAMS : Object.fromEntries(paramNames.map((name) => [name, param(name) ?? ""]));
}

/** The methods of a path; none if no route has it. */
function methodsAt(routes: readonly PreparedRoute[], path: string, basePath: string): string[] {
  const steps = path.slice(basePath.length).split("/");
  return routes.filter((route) => fits(route.path.split("/"), steps)).map((route) => route.method);
}

function fits(pattern: readonly string[], steps: readonly string[]): boolean {
  return (
    pattern.length === steps.length && pattern.every((part, index) => (part.startsWith("{") ? steps[index] !== "" : part === steps[index]))
  );
}
