/**
 * Every setting has its effect in every command that serves or works: `start`, `server`, `worker`, each as a process of its own. A setting
 * without an entry here does not compile, and fails the first test.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SETTING_NAMES, type SettingName } from "../../src/config.ts";
import { connect, verifyWebhook } from "../../src/index.ts";
import { DAY_MS } from "../../src/core/time-units.ts";
import { readLink } from "../../src/core/signal-links.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openStore } from "../../src/store/open-store.ts";
import { until } from "../faults/until.ts";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const COMMANDS = ["start", "server", "worker"] as const;
type CommandName = (typeof COMMANDS)[number];

/** A process that runs, and the folder that it runs in. */
interface Running {
  readonly cli: RunningCli;
  readonly folder: string;
  /** Of a server. */
  readonly url: string;
  readonly ask: (path: string, init?: { body?: unknown; headers?: Record<string, string> }) => Promise<Response>;
}

/** What is set, and how it is seen. `apart`: in a process of its own, as it would change what the others see. */
interface Effect {
  readonly env: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
  readonly apart?: true;
  readonly see: (running: Running) => Promise<void>;
}

/** For each command the effect, or why it has none there. */
type Effects = Readonly<Record<CommandName, Effect | string>>;

const KEY = "a-key-of-the-tests";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PUBLIC_URL = "https://jobs.example.com/queue/";
const SIGNAL_SECRET = "a-secret-of-links-0123456789";
const NO_HTTP = "a worker opens no port";
const NO_ENQUEUE = "a worker enqueues nothing";

const HANDLERS = `
export default {
  quick: async () => "done",
  link: (payload, ctx) => ctx.signalUrl("go"),
  stubborn: () => new Promise(() => {}),
};
`;

const everywhere = (effect: Effect): Effects => ({ start: effect, server: effect, worker: effect });
const overHttp = (effect: Effect, why = NO_HTTP): Effects => ({ start: effect, server: effect, worker: why });
const atWork = (effect: Effect): Effects => ({ start: effect, server: "a server runs no handlers of yours", worker: effect });

let postgres: PostgresServer;
beforeAll(async () => void (postgres = await startPostgres()));
afterAll(() => postgres.stop());

const EFFECTS: Readonly<Record<SettingName, Effects>> = {
  url: everywhere({
    env: { MILLRACE_URL: "sqlite:chosen.db" },
    see: async ({ cli, folder }) => {
      expect(cli.output.stderr).toContain("sqlite:chosen.db (MILLRACE_URL)");
      await using client = await connect(`sqlite:${join(folder, "chosen.db")}`);
      await until(async () => (await client.workers({ internal: true })).length > 0);
    },
  }),
  redisPassword: everywhere({ apart: true, env: () => redisThatListens(), see: () => heardByRedis("a-secret-of-redis") }),
  redisDb: everywhere({ apart: true, env: () => redisThatListens(), see: () => heardByRedis("SELECT", "7") }),
  poolSize: everywhere({
    apart: true,
    env: async () => {
      const MILLRACE_URL = freshSchema(postgres.url);
      await using client = await connect(MILLRACE_URL);
      await client.enqueueMany(Array.from({ length: 500 }, () => ({ type: "quick" })));
      begunAt = await askPostgres("select clock_timestamp()::text as answer");
      return { MILLRACE_URL, POOL_SIZE: "1" };
    },
    see: async ({ ask, url, cli }) => {
      if (url !== "") await Promise.all(Array.from({ length: 50 }, () => ask("/api/v1/jobs")));
      else await cli.said("job completed");
      // One in the pool, and a few for beats and news.
      const sql = "select count(*)::text as answer from pg_stat_activity where application_name = 'millrace' and backend_start >= $1";
      expect(Number(await askPostgres(sql, begunAt))).toBeLessThanOrEqual(4);
    },
  }),
  port: overHttp({ env: { PORT: "0" }, see: async ({ url }) => expect(new URL(url).port).not.toBe("8080") }),
  host: overHttp({ env: { HOST: "127.0.0.2" }, see: async ({ url }) => expect(new URL(url).hostname).toBe("127.0.0.2") }),
  environment: overHttp({
    apart: true,
    env: { ENVIRONMENT: "development", HOST: "127.0.0.1", DASHBOARD_PASSWORD: "", DASHBOARD_USERNAME: "" },
    see: async (running) => expect(await signIn(running, "admin", "admin")).toBe(204),
  }),
  apiKey: overHttp({
    env: { API_KEY: KEY },
    see: async ({ url, ask }) => {
      expect((await fetch(`${url}/api/v1/queues`)).status).toBe(401);
      expect((await ask("/api/v1/queues")).status).toBe(200);
    },
  }),
  rateLimit: overHttp({
    apart: true,
    env: { RATE_LIMIT: "2/h" },
    see: async ({ ask }) => {
      const answers = await Promise.all([1, 2, 3].map(() => ask("/api/v1/queues")));
      expect(statusesOf(answers)).toEqual({ 200: 2, 429: 1 });
    },
  }),
  trustedProxies: overHttp({
    env: { TRUSTED_PROXIES: "1" },
    see: async ({ ask, cli }) => {
      await ask("/api/v1/queues", { headers: { "x-forwarded-for": "203.0.113.9" } });
      await cli.said('"address":"203.0.113.9"');
    },
  }),
  publicUrl: everywhere({
    env: { PUBLIC_URL },
    see: async (running) => expect(await linkOf(running)).toMatch(/^https:\/\/jobs\.example\.com\/queue\/signal\/./),
  }),
  signalSecret: everywhere({
    env: { SIGNAL_SECRET: `${SIGNAL_SECRET},an-older-secret-of-links` },
    see: async (running) => {
      const token = (await linkOf(running)).split("/").at(-1)!;
      expect(readLink(token, [SIGNAL_SECRET], Date.now())).toMatchObject({ name: "go" });
      if (running.url !== "") expect((await fetch(`${running.url}/signal/${token}`)).status).not.toBe(404);
    },
  }),
  workerConcurrency: atWork({
    env: { WORKER_CONCURRENCY: "3" },
    see: async ({ folder }) => {
      await using client = await connect(storeIn(folder));
      await until(async () => (await client.workers()).some(({ types, slots }) => types.includes("quick") && slots === 3));
    },
  }),
  workerShutdownTimeout: {
    ...atWork({
      apart: true,
      env: { WORKER_SHUTDOWN_TIMEOUT: "0" },
      see: async ({ cli, folder }) => {
        await using client = await connect(storeIn(folder));
        const { id } = await client.enqueue("stubborn", null, { timeout: 0 });
        await until(async () => (await client.get(id))?.status === "running");
        cli.child.kill("SIGTERM");
        expect((await cli.ended).code).toBe(0);
        expect((await client.get(id))?.status).toBe("pending");
      },
    }),
    server: {
      apart: true,
      env: { WORKER_SHUTDOWN_TIMEOUT: "7s" },
      see: async ({ cli }) => {
        cli.child.kill("SIGTERM");
        await cli.said("running jobs have 7s to finish");
      },
    },
  },
  workerSettle: atWork({
    // The handler never ends. With the usual 5 s it would still run after the time that is waited here for the failure.
    env: { WORKER_SETTLE: "0" },
    see: async ({ folder }) => {
      await using client = await connect(storeIn(folder));
      const { id } = await client.enqueue("stubborn", null, { timeout: "50ms", maxRetries: 0 });
      await until(async () => (await client.get(id))?.status === "dead");
      const [attempt] = await client.attempts(id);
      expect(attempt!.durationMs).toBeLessThan(5000);
    },
  }),
  workerAhead: atWork({
    // With the usual 20 ms, the worker would soon hold more jobs than it has slots.
    apart: true,
    env: { WORKER_AHEAD: "0", WORKER_CONCURRENCY: "2" },
    see: async ({ folder }) => {
      await using client = await connect(storeIn(folder));
      await client.enqueueMany(Array.from({ length: 200 }, () => ({ type: "quick" })));
      await until(async () => {
        expect((await client.count({ status: "running" })).count).toBeLessThanOrEqual(2);
        return (await client.count({ status: ["pending", "running"] })).count === 0;
      });
    },
  }),
  appVersion: atWork({
    env: { APP_VERSION: "2026.11-rc1" },
    see: async ({ folder }) => {
      await using client = await connect(storeIn(folder));
      await until(async () => (await client.workers()).some(({ types, version }) => types.includes("quick") && version === "2026.11-rc1"));
    },
  }),
  lease: atWork({
    env: { LEASE: "50m" },
    see: async ({ folder }) => {
      await using client = await connect(storeIn(folder));
      const { id } = await client.enqueue("stubborn", null, { timeout: 0 });
      await until(async () => (await client.get(id))?.status === "running");
      using file = new DatabaseSync(join(folder, "chosen.db"), { readOnly: true });
      const [row] = file.prepare("select max(lease_until) as until from millrace_job where state = 3").all() as { until: number }[];
      expect(row!.until - Date.now()).toBeGreaterThan(45 * 60_000);
    },
  }),
  jobDefaultTimeout: overHttp({ env: { JOB_DEFAULT_TIMEOUT: "7s" }, see: (running) => newJobHas(running, { timeout: 7000 }) }, NO_ENQUEUE),
  jobDefaultMaxRetries: overHttp(
    { env: { JOB_DEFAULT_MAX_RETRIES: "9" }, see: (running) => newJobHas(running, { max_retries: 9 }) },
    NO_ENQUEUE,
  ),
  jobDefaultRetryDelay: overHttp(
    { env: { JOB_DEFAULT_RETRY_DELAY: "11s" }, see: (running) => newJobHas(running, { retry_delay: 11_000 }) },
    NO_ENQUEUE,
  ),
  queueCapacity: {
    ...overHttp({
      env: { QUEUE_CAPACITY: "5" },
      see: async ({ ask }) => {
        const post = (): Promise<Response> => ask("/api/v1/jobs", { body: { ...jobOf("quick"), queue: "small", delay: "1h" } });
        const answers = await Promise.all(Array.from({ length: 12 }, post));
        expect(statusesOf(answers)).toEqual({ 201: 5, 503: 7 });
      },
    }),
    worker: {
      env: { QUEUE_CAPACITY: "5" },
      see: async ({ folder }) => {
        await using client = await connect(storeIn(folder));
        expect(await client.queues()).toMatchObject([{ name: "default", capacity: 5 }]);
      },
    },
  },
  strictTypes: overHttp(
    {
      apart: true,
      env: { STRICT_TYPES: "true" },
      see: async ({ ask }) => {
        const answer = await ask("/api/v1/jobs", { body: jobOf("nobody:handles") });
        expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([422, "unknown_type"]);
      },
    },
    NO_ENQUEUE,
  ),
  webhookSecret: overHttp({ env: { WEBHOOK_SECRET: SECRET }, see: (running) => webhookArrives(running) }, "servers send webhooks"),
  webhookAllow: overHttp({ env: { WEBHOOK_ALLOW: "127.0.0.0/8" }, see: (running) => webhookArrives(running) }, "servers send webhooks"),
  dashboardEnabled: overHttp({
    apart: true,
    env: { DASHBOARD_ENABLED: "false" },
    see: async ({ ask, cli }) => {
      expect((await ask("/dashboard/session")).status).toBe(404);
      expect(cli.output.stderr).not.toContain("dashboard on");
    },
  }),
  dashboardUsername: overHttp({ env: { DASHBOARD_USERNAME: "ann" }, see: async (it) => expect(await signIn(it, "ann", "p4ss")).toBe(204) }),
  dashboardPassword: overHttp({
    env: { DASHBOARD_PASSWORD: "p4ss" },
    see: async (running) => expect(await signIn(running, "ann", "another")).toBe(401),
  }),
  dashboardViewerUsername: overHttp({
    env: { DASHBOARD_VIEWER_USERNAME: "bob" },
    see: async (running) => expect(await signIn(running, "bob", "l00k")).toBe(204),
  }),
  dashboardViewerPassword: overHttp({
    env: { DASHBOARD_VIEWER_PASSWORD: "l00k" },
    see: async (running) => expect(await signIn(running, "bob", "another")).toBe(401),
  }),
  metricsRetentionDays: everywhere({
    apart: true,
    env: async () => ({ METRICS_RETENTION_DAYS: "2", MILLRACE_URL: await storeWithOldFigures() }),
    see: async ({ cli }) => {
      const store = await openStore(/(sqlite:\S+) \(MILLRACE_URL\)/.exec(cli.output.stderr)![1]!);
      onTestFinished(() => store.close());
      const hours = async (): Promise<number> => (await store.counters({ step: "hour", from: 0, to: Date.now() - 3 * DAY_MS })).rows.length;
      await until(async () => (await hours()) === 0);
    },
  }),
  logLevel: {
    ...overHttp({
      env: { LOG_LEVEL: "debug" },
      see: async ({ url, cli }) => {
        await fetch(`${url}/health/live`);
        await cli.said('"level":"debug"');
      },
    }),
    worker: {
      apart: true,
      env: { LOG_LEVEL: "error" },
      see: async ({ cli, folder }) => {
        await using client = await connect(storeIn(folder));
        await client.wait((await client.enqueue("quick")).id);
        cli.child.kill("SIGTERM");
        expect((await cli.ended).stdout).toBe("");
      },
    },
  },
};

test("every setting has an entry here", () => {
  expect(Object.keys(EFFECTS)).toEqual(SETTING_NAMES);
});

describe.each(COMMANDS)("millrace %s", (command) => {
  const rows = Object.entries(EFFECTS).map(([name, effects]) => ({ name, effect: effects[command] }));
  const effects = rows.flatMap(({ name, effect }) => (typeof effect === "string" ? [] : [{ name, ...effect }]));
  const together = effects.filter(({ apart }) => apart !== true);
  const common = Object.assign({}, ...together.map(({ env }) => env as object)) as Record<string, string>;
  let shared: Running;
  beforeAll(async () => void (shared = await begin(command, common)));
  afterAll(() => void shared.cli.child.kill("SIGKILL"));

  test.each(together)("obeys $name", ({ see }) => see(shared));

  test.each(effects.filter(({ apart }) => apart))("obeys $name, in a process of its own", async ({ env, see }) => {
    const running = await begin(command, { ...common, ...(typeof env === "function" ? await env() : env) });
    onTestFinished(() => void running.cli.child.kill("SIGKILL"));
    await see(running);
  });
});

/** Starts the command, and waits until it serves or works; one whose store never answers is not waited for. */
async function begin(command: CommandName, env: Readonly<Record<string, string>>): Promise<Running> {
  const folder = temporaryFolder((tidyUp) => void tidyUps.push(tidyUp));
  writeFileSync(join(folder, "jobs.mjs"), HANDLERS);
  const args = command === "server" ? [] : ["--handlers", "./jobs.mjs"];
  const cli = startCli([command, ...args], { cwd: folder, env }, true);
  if (!("REDIS_ADDR" in env)) await cli.said(command === "worker" ? "a worker for" : "/docs\n");
  const url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)?.[1] ?? "";
  const ask: Running["ask"] = (path, { body, headers = {} } = {}) =>
    fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "x-api-key": KEY, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { cli, folder, url, ask };
}

const tidyUps: (() => void)[] = [];
afterAll(() => tidyUps.forEach((tidyUp) => tidyUp()));

function storeIn(folder: string): string {
  return `sqlite:${join(folder, "chosen.db")}`;
}

function jobOf(type: string, payload: unknown = null): object {
  return { type, payload };
}

/** A link that sends a signal: from a server by its API, from a worker by a handler. */
async function linkOf({ ask, url, folder }: Running): Promise<string> {
  if (url !== "") {
    const answer = await ask("/api/v1/leases/signal-url", { body: { id: "0190d2f0-7b1a-7abc-8def-0123456789ab", name: "go" } });
    return ((await answer.json()) as { url: string }).url;
  }
  await using client = await connect(storeIn(folder));
  return (await client.wait((await client.enqueue("link")).id)).result as string;
}

/** How many answers there are of each status. */
function statusesOf(answers: readonly Response[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([status, same]) => [status, same.length]));
}

async function newJobHas({ ask }: Running, facts: object): Promise<void> {
  const answer = await ask("/api/v1/jobs", { body: { ...jobOf("quick"), queue: "defaults" } });
  expect(await answer.json()).toMatchObject(facts);
}

async function signIn({ url }: Running, username: string, password: string): Promise<number> {
  const headers = { "content-type": "application/json", origin: url };
  return (await fetch(`${url}/dashboard/login`, { method: "POST", headers, body: JSON.stringify({ username, password }) })).status;
}

/** A delivery comes to this machine, which WEBHOOK_ALLOW opens, and is signed with WEBHOOK_SECRET. */
async function webhookArrives({ ask, url }: Running): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  const receiver = createHttpServer((request, response) => {
    void request.toArray().then((parts) => {
      response.writeHead(204).end();
      const headers = new Headers(request.headers as Record<string, string>);
      verifyWebhook({ headers, body: Buffer.concat(parts as Buffer[]).toString(), secret: SECRET });
      arrived.resolve();
    }, arrived.reject);
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  onTestFinished(() => void receiver.close());
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  // The built-in type, which every server works: it fails, which ends in a webhook, too.
  const request = { type: "http:request", payload: { url: `${url}/nothing-here` }, queue: "hooks", webhook_url: hook, max_retries: 0 };
  const answer = await ask("/api/v1/jobs", { body: request });
  expect(answer.status).toBe(201);
  await arrived.promise;
}

/** A Redis that only listens. What it was told is kept until the next one. */
let heard = "";
async function redisThatListens(): Promise<Record<string, string>> {
  heard = "";
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const text = data.toString();
      heard += text;
      // Good enough for a handshake: the new protocol is not known, all else is well.
      const answer = /HELLO/i.test(text) ? "-ERR unknown command\r\n" : "+OK\r\n";
      socket.write(answer.repeat(text.match(/^\*\d+/gm)?.length ?? 0));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { MILLRACE_URL: "", REDIS_ADDR: address, REDIS_PASSWORD: "a-secret-of-redis", REDIS_DB: "7" };
}

function heardByRedis(...words: readonly string[]): Promise<void> {
  return until(async () => words.every((word) => heard.toUpperCase().includes(word.toUpperCase())));
}

let begunAt = "";

async function askPostgres(sql: string, ...values: readonly string[]): Promise<string> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  try {
    const { rows } = await client.query<{ answer: string }>(sql, [...values]);
    return rows[0]!.answer;
  } finally {
    await client.end();
  }
}

/** A store whose only figures are nine days old. */
async function storeWithOldFigures(): Promise<string> {
  const url = `sqlite:${join(temporaryFolder(), "old.db")}`;
  await using client = await connect(url, { clock: { ...systemClock, now: () => Date.now() - 9 * DAY_MS } });
  await client.enqueue("quick", null, { queue: "old" });
  await client.history({});
  return url;
}
