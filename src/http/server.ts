/**
 * THE SERVER: match, check, call the Client, answer. One fetch handler does it all, and can be mounted in any application; `listen` opens a
 * port for it.
 */
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Client, MARKS, UNLISTED } from "../client/client.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { readSignalSecrets } from "../core/signal-links.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { Answerer, type RequestFacts } from "./answerer.ts";
import { type ApplicationAuth, askApplication } from "./application-auth.ts";
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
import { attachTo, isUpgradePath, upgradeListener } from "./live/upgrade.ts";
import type { UpgradeListener, UpgradeSource } from "./live/upgrade-listener.ts";
import { type Limiter, MemoryLimiter, Occupancy, type RateLimit, type ServerLimits } from "./limits.ts";
import { type FastifyPlugin, fastifyPlugin } from "./mount/fastify.ts";
import { type KoaMiddleware, koaMiddleware } from "./mount/koa.ts";
import { enter, type FetchEnv, isDisguised, requestBelow, urlBelow, wholePathOf } from "./mount/place.ts";
import { NodeCall, writeAnswer } from "./node-call.ts";
import { type AnyHandler, type PreparedRoute, prepareRoute } from "./prepared-route.ts";
import type { Handlers } from "./route-input.ts";
import { aliasHandlers } from "./routes/aliases.ts";
import { auditHandlers } from "./routes/audit.ts";
import { bulkHandlers } from "./routes/bulk.ts";
import { dashboardHandlers } from "./routes/dashboard.ts";
import { deadHandlers } from "./routes/dead.ts";
import { flowHandlers } from "./routes/flows.ts";
import { jobHandlers } from "./routes/jobs.ts";
import { leaseStepHandlers } from "./routes/lease-steps.ts";
import { leaseHandlers } from "./routes/leases.ts";
import { queueHandlers } from "./routes/queues.ts";
import { limitHandlers } from "./routes/limits.ts";
import { scheduleHandlers } from "./routes/schedules.ts";
import { stepHandlers } from "./routes/steps.ts";
import { type Figures, systemHandlers, type SystemParts } from "./routes/system.ts";
import { type DashboardUser, Sessions } from "./sessions.ts";
import { SignIn } from "./sign-in.ts";
import { SignalPages } from "./signal-pages.ts";
import { StoreCheck } from "./store-check.ts";
import { PAGE_MOUNT, StaticPage } from "./static.ts";

export type { RequestFacts } from "./answerer.ts";
export type { ApplicationAuth, ApplicationRequest, ApplicationUser } from "./application-auth.ts";
export type { Limiter, RateLimit, ServerLimits } from "./limits.ts";
export type { FastifyPlugin } from "./mount/fastify.ts";
export type { KoaMiddleware } from "./mount/koa.ts";
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
  /**
   * Your application's own sign-in: a function that says who sends a request, or null for nobody. The dashboard and the audit show their name.
   * It is not called for requests with one of the `keys`.
   */
  readonly auth?: ApplicationAuth | undefined;
  /** Your application decides who may call, and this server asks nobody: no key is needed. */
  readonly open?: boolean | undefined;
  /**
   * The mount path, such as `/queue`. Needed only if your framework does not say where it mounted the server: with `node:http`, Koa, or a `fetch`
   * handler. Requests outside of it are passed on to `next`, or answered with 404.
   */
  readonly basePath?: string | undefined;
  /** Host names that callers may use. Default: any; without keys, those of this machine. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of other web pages that may call, such as `https://admin.example.com`. */
  readonly origins?: readonly string[] | undefined;
  /** How many requests one caller may send. Counted by key, or by address for callers without a key. */
  readonly rateLimit?: RateLimit | null | undefined;
  /** Counts the requests, if several processes share the rate limit. */
  readonly limiter?: Limiter | undefined;
  /**
   * Secrets that sign the links of `ctx.signalUrl`; several while you replace one. Give `connect` the first one as `signals`. Without any, this
   * server has no pages for links.
   */
  readonly signalSecret?: string | readonly string[] | undefined;
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
  /** Called with what a person should know: what is off, and how to switch it on. */
  readonly onTrouble?: OnTrouble | undefined;
  /** The version that the server tells. Default: that of the package. */
  readonly version?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** A server over a client. */
export interface Server {
  /** Answers a request: what Hono, Bun and others mount. For Next.js, see `nextHandlers`. */
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>;
  /** The same for `node:http`, Express and NestJS: `app.use("/admin/jobs", server.listener)`. */
  readonly listener: (incoming: IncomingMessage, outgoing: ServerResponse, next?: (error?: unknown) => void) => void;
  /** A plugin of Fastify: `app.register(server.fastify, { prefix: "/admin/jobs" })`. */
  readonly fastify: FastifyPlugin;
  /** A middleware of Koa: `app.use(server.koa)`. */
  readonly koa: KoaMiddleware;
  /**
   * Opens WebSockets at /api/v1/ws on the `node:http` server of your application, which no router of a framework can. Upgrade requests for other
   * paths are left to the other listeners of that server. Such requests pass no middleware, so this needs `auth` or `keys` instead of `open`.
   * If you attach several servers to one `node:http` server, each needs a `basePath` of its own.
   * Without it, you can read the same events as server-sent events.
   */
  attach(node: UpgradeSource): void;
  /** For the `upgrade` event, where your application checks the request itself. It answers every upgrade request. */
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
export function createServer(given: Client, options: ServerOptions = {}): Server {
  const client = given[UNLISTED] ?? given;
  const { clock = systemClock, basePath = "", rateLimit } = options;
  if (!/^(\/[\w.~-]+)*$/.test(basePath)) throw invalid("basePath", "a path such as /queue, without a slash at the end", basePath);
  if (options.auth !== undefined) checkAuth(options);
  const sessions = new Sessions(options.dashboard?.users ?? []);
  const ended = new EndedSessions({ marks: client[MARKS], clock });
  const admission = new Admission({
    keys: options.keys ?? [],
    sessions,
    ended,
    open: options.open ?? false,
    auth: options.auth === undefined ? null : askApplication(options.auth),
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
  const signalPages = new SignalPages({
    client,
    clock,
    secrets: readSignalSecrets(options.signalSecret, "signalSecret"),
    addressOf: (call) => admission.addressOf(call),
  });
  const handledTypes = options.types === undefined ? null : new HandledTypes({ client, clock, own: options.types });
  const routes = prepareRoutes(
    { client, clock, handledTypes, payloadCheck: new PayloadCheck(client, clock), hub, version, isReady, isWell, figures },
    dashboard,
    signalPages,
  );
  const app = createApp(routes, answerer, dashboard);
  const webSocketRoute = routes.find(({ name }) => name === "GET /api/v1/ws")!;
  const upgrade = upgradeListener(webSocketRoute, answerer, basePath);
  /** Whether somebody passes upgrades on, or was told how to. */
  let knowsUpgrades = false;
  const answer = async (request: Request, env?: FetchEnv): Promise<Response> => {
    if (!knowsUpgrades && env?.incoming !== undefined) {
      knowsUpgrades = true;
      options.onTrouble?.({ kind: "setting", message: NO_WEB_SOCKETS });
    }
    return isDisguised(wholePathOf(request, env)) ? answerOutside(request, env) : app.fetch(request, env);
  };
  const answerOutside = async (request: Request, env: unknown): Promise<Response> =>
    toResponse(await answerer.answerOutside(new FetchCall(request, env)));
  const fetch = async (request: Request, env?: unknown): Promise<Response> => {
    if (basePath === "") return answer(request, env as FetchEnv | undefined);
    const inside = requestBelow(basePath, request, env as FetchEnv | undefined);
    return inside === null ? answerOutside(request, env) : answer(...inside);
  };
  const listener = createListener(routes, answerer, basePath, answer);
  const detachments: (() => void)[] = [];
  const drain = async (): Promise<void> => {
    storeCheck.stop();
    await answerer.drain();
    hub.close();
    // The application may go on, with another server in its place.
    for (const detach of detachments.splice(0)) detach();
  };
  return {
    fetch,
    listener,
    fastify: fastifyPlugin(listener, drain),
    koa: koaMiddleware(listener, basePath),
    attach(node) {
      if (admission.isOpen) throw new MillraceError("invalid_input", OPEN_WEB_SOCKETS, { field: "open" });
      knowsUpgrades = true;
      const detach = attachTo(node, basePath, (incoming, socket, head) => {
        const isOurs = isUpgradePath(webSocketRoute, incoming.url ?? "/", basePath);
        if (isOurs || node.listenerCount("upgrade") === 1) upgrade(incoming, socket, head);
      });
      detachments.push(detach);
    },
    get upgrade() {
      knowsUpgrades = true;
      return upgrade;
    },
    isLocalOnly: admission.isLocalOnly,
    isReady,
    drain,
  };
}

const NO_WEB_SOCKETS =
  "WebSockets at /api/v1/ws are off, because no router passes them on: to open them, call server.attach with the node:http server of your application. Server-sent events at /api/v1/events work";
const OPEN_WEB_SOCKETS =
  "WebSocket requests pass no middleware of your application, so with `open` nobody would check them: use `auth` or `keys`, or check them yourself and call server.upgrade";

/** Two ways to sign in would leave open which one counts. */
function checkAuth({ auth, open, dashboard }: ServerOptions): void {
  if (typeof auth !== "function") throw invalid("auth", "a function", auth);
  const other = open === true ? "open" : (dashboard?.users?.length ?? 0) > 0 ? "dashboard.users" : null;
  if (other !== null)
    throw new MillraceError("invalid_input", `leave out ${other}: with auth, your application says who may call`, { field: other });
}

function prepareRoutes(parts: SystemParts, dashboard: Dashboard | null, signalPages: SignalPages): PreparedRoute[] {
  const handlers: Handlers<RouteName> = {
    ...jobHandlers(parts),
    ...stepHandlers(parts),
    ...flowHandlers(parts),
    ...deadHandlers(parts),
    ...bulkHandlers(parts),
    ...auditHandlers(parts),
    ...queueHandlers(parts),
    ...limitHandlers(parts),
    ...scheduleHandlers(parts),
    ...leaseHandlers(parts),
    ...leaseStepHandlers(parts),
    ...signalPages.handlers(),
    ...systemHandlers(parts),
    ...dashboardHandlers(dashboard?.signIn ?? null),
    ...aliasHandlers(parts),
  };
  return (Object.keys(ROUTES) as RouteName[]).map((name) => prepareRoute(name, handlers[name] as AnyHandler));
}

/** No middleware: the checks of every call are in one place, and a call with one handler is the cheapest for Hono. */
function createApp(routes: readonly PreparedRoute[], answerer: Answerer, dashboard: Dashboard | null): Hono {
  const app = new Hono({ strict: true });
  for (const route of routes) {
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ":$1"), async (c) =>
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
    addRoot(app, answerer);
    addPage(app, answerer, dashboard);
  }
  app.notFound(async (c) => toResponse(await answerer.answerNoRoute(new FetchCall(c.req.raw, c.env), methodsAt(routes, c.req.path))));
  return app;
}

/** Redirects the server's root to the dashboard. Relative, so that it is right under any mount path, and behind a proxy that removes a part. */
function addRoot(app: Hono, answerer: Answerer): void {
  app.get("/", async (c) => {
    // Empty if the path ends with a slash.
    const lastStep = wholePathOf(c.req.raw, c.env as FetchEnv | undefined)
      .split("/")
      .at(-1);
    // With the dot, a step with a colon is no scheme: a mount such as /:tenant takes any.
    const Location = lastStep === "" ? `.${PAGE_MOUNT}` : `./${lastStep}${PAGE_MOUNT}`;
    const redirect = async (): Promise<Answer> => ({ status: 302, headers: { Location, "Cache-Control": "no-store" }, body: null });
    return toResponse(await answerer.answerFile(new FetchCall(c.req.raw, c.env), "/", redirect));
  });
}

/** A path below the dashboard's mount that is no route is a file of its page, or a path that the page handles. */
function addPage(app: Hono, answerer: Answerer, dashboard: Dashboard): void {
  for (const path of [PAGE_MOUNT, `${PAGE_MOUNT}/*`]) {
    app.get(path, async (c) => {
      const call = new FetchCall(c.req.raw, c.env);
      const below = new URL(c.req.raw.url).pathname.slice(PAGE_MOUNT.length);
      return toResponse(await answerer.answerFile(call, `${PAGE_MOUNT}/*`, () => dashboard.answer(below, call)));
    });
    app.all(path, async (c) => toResponse(await answerer.answerNoRoute(new FetchCall(c.req.raw, c.env), ["GET", "HEAD"])));
  }
}

/**
 * Routes with a fixed path, which are called most, are answered without Request and Response; all others, and all streams, by the fetch
 * handler.
 */
function createListener(
  routes: readonly PreparedRoute[],
  answerer: Answerer,
  basePath: string,
  fetch: (request: Request, env: FetchEnv) => Promise<Response>,
): Server["listener"] {
  const direct = new Map<string, Map<string, PreparedRoute>>();
  for (const route of routes.filter(isDirect)) {
    direct.set(route.path, (direct.get(route.path) ?? new Map()).set(route.method, route));
  }
  // By default it would put its own classes in place of the global Request and Response. Then `await fetch(url) instanceof Response` is false in
  // the whole application.
  const others = getRequestListener((request, env) => fetch(request, { incoming: env.incoming as IncomingMessage, isFromNode: true }), {
    overrideGlobalObjects: false,
  });
  return (incoming, outgoing, next) => {
    if (basePath !== "") {
      const inside = urlBelow(basePath, incoming);
      if (inside === null) return next === undefined ? answerOutside(incoming, outgoing) : next();
      enter(incoming, inside);
    }
    const { method = "GET", url = "/" } = incoming;
    const mark = url.indexOf("?");
    const route = direct.get(mark === -1 ? url : url.slice(0, mark))?.get(method);
    if (route === undefined) return void others(incoming, outgoing);
    const call = new NodeCall(incoming, outgoing, mark === -1 ? "" : url.slice(mark + 1));
    void answerer.answer(route, call, NO_PARAMS).then((answer) => writeAnswer(outgoing, answer));
  };

  function answerOutside(incoming: IncomingMessage, outgoing: ServerResponse): void {
    void answerer.answerOutside(new NodeCall(incoming, outgoing, "")).then((answer) => writeAnswer(outgoing, answer));
  }
}

function isDirect({ paramNames, rule }: PreparedRoute): boolean {
  return paramNames.length === 0 && Object.values(rule.answers).every(({ mediaType }) => mediaType !== "text/event-stream");
}

const NO_PARAMS = {};

function paramsOf({ paramNames }: PreparedRoute, param: (name: string) => string | undefined): Record<string, string> {
  return paramNames.length === 0 ? NO_PARAMS : Object.fromEntries(paramNames.map((name) => [name, param(name) ?? ""]));
}

/** The methods of a path; none if no route has it. */
function methodsAt(routes: readonly PreparedRoute[], path: string): string[] {
  const steps = path.split("/");
  return routes.filter((route) => fits(route.path.split("/"), steps)).map((route) => route.method);
}

function fits(pattern: readonly string[], steps: readonly string[]): boolean {
  return (
    pattern.length === steps.length && pattern.every((part, index) => (part.startsWith("{") ? steps[index] !== "" : part === steps[index]))
  );
}
