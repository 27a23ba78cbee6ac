import { createServer as createNodeServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, type Server, type ServerOptions } from "../../src/http/index.ts";

const KEY = "the-key-of-the-mount-tests";

async function openServer(options: ServerOptions = {}): Promise<Server> {
  const client = await connect("memory:", { upkeep: true });
  const server = createServer(client, { keys: [KEY], ...options });
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
    const heard = await Promise.race([first, new Promise<null>((resolve) => setTimeout(resolve, 10, null))]);
    if (heard === null) continue;
    expect(heard.value).toHaveProperty("event");
    return;
  }
}

describe("the server", () => {
  test("mounts in Express under a path, beside other routes", async () => {
    const server = await openServer();
    const app = express();
    app.get("/own", (_request, response) => void response.send("mine"));
    app.use("/admin/queue", server.listener);
    const url = await listenOn(app);
    await proveMounted(`${url}/admin/queue`);
    expect(await (await fetch(`${url}/own`)).text()).toBe("mine");
  });

  test("mounts in Hono under a path, beside other routes", async () => {
    const server = await openServer();
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

  test("mounts in node:http under a path, beside other routes", async () => {
    const server = await openServer({ basePath: "/admin/queue" });
    const url = await listenOn((incoming, outgoing) => {
      if (incoming.url?.startsWith("/admin/queue/") === true) server.listener(incoming, outgoing);
      else outgoing.end("mine");
    });
    await proveMounted(`${url}/admin/queue`);
    expect(await (await fetch(`${url}/own`)).text()).toBe("mine");
    expect((await fetch(`${url}/api/v1/jobs`)).status).toBe(200);
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
