import { once } from "node:events";
import { createServer as createNodeServer, get, type IncomingMessage, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { serve } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../src/connect.ts";
import { type ApplicationUser, createServer, type FastifyPlugin, type Server, type ServerOptions } from "../../src/server.ts";

const KEY = "the-key-of-the-mount-tests";

interface FastifyApp {
  register(plugin: FastifyPlugin, options: { readonly prefix: string }): unknown;
  listen(options: { readonly port: number; readonly host: string }): Promise<string>;
  close(): Promise<void>;
}

async function openServer(options: ServerOptions = {}): Promise<Server> {
  const client = await connect("memory:", { upkeep: true });
  const server = createServer(client, { keys: [KEY], onTrouble: () => {}, ...options });
  onTestFinished(async () => {
    await server.drain();
    await client.close();
  });
  return server;
}

async function listenOn(listener: RequestListener): Promise<string> {
  const node = createNodeServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => node.once("listening", resolve));
  onTestFinished(() => {
    node.close();
    node.closeAllConnections();
  });
  return `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
}

/** For a path as it is: `fetch` would change it. */
async function statusOf(url: string, path: string): Promise<number | undefined> {
  const [response] = (await once(get(url, { path }), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** Everything a mount can break: static and parametric routes, bodies, long polls, streams, Location, errors, and a client over it. */
async function proveMounted(base: string): Promise<void> {
  const headers = { "x-api-key": KEY, "content-type": "application/json" };
  const made = await fetch(`${base}/api/v1/jobs`, { method: "POST", headers, body: '{"type":"t","payload":{"a":1}}' });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  const location = new URL(made.headers.get("location") ?? "", `${base}/api/v1/jobs`);
  expect(location.href).toBe(`${base}/api/v1/jobs/${id}`);
  expect(await (await fetch(location, { headers })).json()).toMatchObject({ id, payload: { a: 1 } });
  expect((await fetch(`${base}/api/v1/queues`)).status).toBe(401);
  expect((await fetch(`${base}/nowhere`, { headers })).status).toBe(404);
  expect((await fetch(`${base}/api/v1/jobs`, { method: "PUT", headers })).status).toBe(405);

  await using client = await connect(base, { apiKey: KEY });
  const news = client.events()[Symbol.asyncIterator]();
  const worker = client.work({ t: async (payload: { a: number }) => payload.a + 1 });
  expect(await client.wait(id)).toMatchObject({ status: "completed", result: 2 });
  await worker.stop();
  // A stream is open once something came through it.
  const first = news.next();
  for (;;) {
    await client.pause("news", { create: true });
    const heard = await Promise.race([first, setTimeout(10, null)]);
    if (heard === null) continue;
    expect(heard.value).toHaveProperty("event");
    return;
  }
}

// The first one: Hono's own server, below, replaces both.
test("a mounted server leaves the global Request and Response of the application as they are", async () => {
  const before = { Request, Response };
  await openServer();
  expect({ Request, Response }).toEqual(before);
});

test("a mounted server tells the version of the package", async () => {
  const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
  const server = await openServer();
  const ask = (path: string): Promise<Response> => server.fetch(new Request(`http://localhost${path}`, { headers: { "x-api-key": KEY } }));
  expect(await (await ask("/metrics")).text()).toContain(`version="${version}"`);
  expect(await (await ask("/openapi.json")).json()).toMatchObject({ info: { version } });
});

describe("the server", () => {
  test.each(["", "/admin/queue"])("mounts in Express under a path, beside other routes, with the base path %j", async (basePath) => {
    const server = await openServer({ basePath });
    const app = express();
    app.use(express.json());
    app.get("/own", (_request, response) => void response.send("mine"));
    app.use("/admin/queue", server.listener);
    const url = await listenOn(app);
    await proveMounted(`${url}/admin/queue`);
    expect(await (await fetch(`${url}/own`)).text()).toBe("mine");
  });

  test.each(["", "/admin/queue"])("mounts in Hono under a path, beside other routes, with the base path %j", async (basePath) => {
    const server = await openServer({ basePath });
    const app = new Hono();
    app.get("/own", (c) => c.text("mine"));
    app.mount("/admin/queue", server.fetch);
    const node = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    onTestFinished(() => {
      node.close();
      if ("closeAllConnections" in node) node.closeAllConnections();
    });
    await new Promise((resolve) => node.once("listening", resolve));
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    await proveMounted(`${url}/admin/queue`);
    expect(await (await fetch(`${url}/own`)).text()).toBe("mine");
  });

  test.each(["/health/../api/v1/queues", "/health/%2E%2e/api/v1/queues", "/%61pi/v1/queues", "/api/v1/queues/../queues"])(
    "does not take %s for a path that the application has guarded",
    async (path) => {
      const server = await openServer({ keys: [], open: true });
      const app = express();
      app.use("/admin/queue/api", (_request, response) => void response.status(401).end());
      app.use("/admin/queue", server.listener);
      expect([401, 404]).toContain(await statusOf(await listenOn(app), `/admin/queue${path}`));

      const mounted = await openServer({ keys: [], open: true, basePath: "/admin/queue" });
      const env = { incoming: { url: `/admin/queue/..${path}` } };
      expect((await mounted.fetch(new Request("http://any/admin/api/v1/queues"), env)).status).toBe(404);
    },
  );

  test("reads a body also if the sign-in of the application takes longer than the body", async () => {
    const auth = async (): Promise<ApplicationUser> => {
      // Longer than the body takes to arrive.
      await setTimeout(50);
      return { name: "ann", role: "operator" };
    };
    const server = await openServer({ basePath: "/admin/queue", auth });
    const app = new Hono();
    app.all("/admin/queue/*", (c) => server.fetch(c.req.raw, c.env));
    const node = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
    onTestFinished(() => void node.close());
    await new Promise((resolve) => node.once("listening", resolve));
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}/admin/queue/api/v1/jobs`;
    const headers = { "content-type": "application/json" };
    expect((await fetch(url, { method: "POST", headers, body: '{"type":"t"}' })).status).toBe(201);
  });

  test.each(["/", "/admin/queue/"])("mounts in Fastify with a prefix that ends with a slash: %s", async (prefix) => {
    const server = await openServer();
    // Its package is not among ours: see test/frameworks.
    const fastify = createRequire(new URL("../frameworks/package.json", import.meta.url))("fastify") as () => FastifyApp;
    const app = fastify();
    onTestFinished(() => app.close());
    app.register(server.fastify, { prefix });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    expect((await fetch(`${url}${prefix}api/v1/queues`, { headers: { "x-api-key": KEY } })).status).toBe(200);
  });

  test("in Koa, middleware around it goes on if the caller has hung up before", async () => {
    const server = await openServer({ basePath: "/admin/queue" });
    const { promise: wentOn, resolve } = Promise.withResolvers<void>();
    const caller = new AbortController();
    const url = await listenOn((req, res) => {
      caller.abort();
      res.once("close", () => void server.koa({ req, res, originalUrl: req.url!, request: {} }, async () => {}).then(resolve));
    });
    await expect(fetch(`${url}/admin/queue/api/v1/queues`, { signal: caller.signal })).rejects.toThrow("aborted");
    await wentOn;
  });

  test("mounts in node:http under a path, beside other routes", async () => {
    const server = await openServer({ basePath: "/admin/queue" });
    const url = await listenOn((incoming, outgoing) => server.listener(incoming, outgoing, () => outgoing.end("mine")));
    await proveMounted(`${url}/admin/queue`);
    expect(await (await fetch(`${url}/own`)).text()).toBe("mine");
    expect((await fetch(`${url}/api/v1/jobs`)).status).toBe(200);
    expect((await fetch(`${await listenOn(server.listener)}/api/v1/jobs`)).status).toBe(404);
    expect((await server.fetch(new Request("http://any/api/v1/jobs"))).status).toBe(404);
  });

  test("sends webhooks, runs http:request jobs and counts the jobs of its process, until it is closed", async () => {
    const received: string[] = [];
    const receiver = await listenOn((incoming, outgoing) => {
      received.push(`${incoming.url} ${"webhook-signature" in incoming.headers}`);
      outgoing.end();
    });
    const webhookAllow = ["127.0.0.1"];
    await using client = await connect("memory:", { webhookAllow });
    const worker = client.work({ t: async () => {} });
    await using server = createServer(client, { open: true, webhookAllow, webhookSecret: "a-secret-of-at-least-24-characters" });
    await client.enqueue("t", null, { webhookUrl: `${receiver}/hook` });
    await client.wait((await client.enqueue("http:request", { url: `${receiver}/asked` })).id);
    await vi.waitFor(() => expect(received.sort()).toEqual(["/asked false", "/hook true"]));
    const metrics = await (await server.fetch(new Request("http://any/metrics"))).text();
    expect(metrics).toContain('millrace_run_seconds_count{queue="default"} 2');
    await server.close();
    await server.close();
    await worker.stop();
    expect(await client.workers({ internal: true })).toEqual([]);
  });

  test("leaves this to others if it is told to, and to the server of a client over HTTP", async () => {
    const server = await openServer({ background: false });
    const headers = { "x-api-key": KEY };
    const answer = await server.fetch(new Request("http://any/api/v1/workers?internal=true", { headers }));
    expect(await answer.json()).toEqual({ workers: [] });
    await using remote = await connect("http://127.0.0.1:1");
    expect(() => createServer(remote, { background: true })).toThrow(expect.objectContaining({ field: "background" }));
    await createServer(remote).close();
    for (const [field, value] of Object.entries({ webhookSecret: "a,,b", webhookAllow: ["10.0.0.0/64"] }))
      await expect(openServer({ [field]: value })).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test.each([
    [{ webhookSecrets: "s" }, "webhookSecrets", "did you mean webhookSecret?"],
    // As from a variable of the environment.
    [{ open: "false" }, "open", "true or false"],
    [{ keys: KEY }, "keys", "keys must be a list of keys"],
    [{ hosts: "localhost" }, "hosts", "a list of host names"],
    [{ origins: ["https://admin.example.com/"] }, "origins", "without a path"],
    [{ rateLimit: { requests: 10 } }, "rateLimit", "requests and perMs"],
    [{ trustedProxies: "1" }, "trustedProxies", "a whole number"],
    [{ background: "yes" }, "background", "an object of worker options"],
    [{ background: null }, "background", "an object of worker options"],
    [{ background: [] }, "background", "an object of worker options"],
    [{ background: { graze: "5s" } }, "background.graze", "did you mean grace?"],
    // The server decides this for its own workers.
    [{ background: { concurrency: 5 } }, "background.concurrency", "is not a field of background"],
    [{ dashboard: { user: [] } }, "dashboard.user", "did you mean users?"],
    [{ dashboard: { users: [{ name: "ann", password: KEY }] } }, "dashboard.users", "a role (viewer or operator)"],
    [{ dashboard: { users: [{ name: "ann", password: "", role: "viewer" }] } }, "dashboard.users", "a password"],
    [{ dashboard: { folder: 5 } }, "dashboard.folder", "a path"],
    [{ dashboard: [] }, "dashboard", "users or folder"],
    [{ limits: { request: 5 } }, "limits.request", "did you mean requests?"],
    [{ limits: { requests: "5" } }, "limits.requests", "a whole number above 0"],
    [{ limits: { streams: 0 } }, "limits.streams", "a whole number above 0"],
    [{ limits: [] }, "limits", "an object"],
    [{ rateLimit: { requests: 5, perMs: 1000, burst: 2 } }, "rateLimit.burst", "known fields: requests, perMs"],
    [{ rateLimit: { requests: 0.5, perMs: 1000 } }, "rateLimit.requests", "a whole number above 0"],
    [{ rateLimit: { requests: 5, perMs: Infinity } }, "rateLimit.perMs", "milliseconds above 0"],
    [{ origins: ["https://*.example.com"] }, "origins", "without a path"],
    [{ origins: ["https://a.example:443"] }, "origins", "without a path"],
    [{ origins: ["https://a.example:99999"] }, "origins", "without a path"],
    [{ origins: ["null"] }, "origins", "without a path"],
    [{ onRequest: console }, "onRequest", "a function"],
  ])("refuses the options %j", async (options, field, words) => {
    const refused = await openServer(options as ServerOptions).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_input", field, message: expect.stringContaining(words) as string });
    expect((refused as Error).message).not.toContain(KEY);
  });

  test.each([
    { background: { grace: "1s", lease: undefined } },
    { dashboard: { users: [{ name: "ann", password: "a", role: "viewer" }], folder: undefined } },
    { dashboard: false },
    { limits: { requests: 1, streamsPerCaller: 2, waiting: undefined } },
    { rateLimit: null },
    { rateLimit: { requests: 1, perMs: 0.5 } },
    { origins: ["https://a.example:8443", "http://localhost:3000", "http://[::1]", "chrome-extension://abcdef"] },
  ] as const)("takes the options %j", async (options) => {
    await (await openServer(options)).close();
  });

  test("leaves nothing on the node:http server of the application when it has closed", async () => {
    const node = createNodeServer();
    const first = await openServer();
    first.attach(node);
    const second = await openServer();
    expect(() => second.attach(node)).toThrow(expect.objectContaining({ field: "basePath" }));
    await first.close();
    expect(node.listenerCount("upgrade")).toBe(0);
    second.attach(node);
    expect(node.listenerCount("upgrade")).toBe(1);
  });

  test("is a fetch handler for everything else", async () => {
    const server = await openServer();
    const response = await server.fetch(new Request("http://any/api/v1/queues", { headers: { "x-api-key": KEY } }));
    expect(await response.json()).toEqual({ queues: [] });
  });

  test.each(["queue", "/queue/", "//x", "/a b"])("is not mounted at %j", async (basePath) => {
    await expect(openServer({ basePath })).rejects.toMatchObject({ code: "invalid_input", field: "basePath" });
  });
});
