import { once } from "node:events";
import { createServer as createNodeServer, type IncomingMessage, type Server as NodeServer } from "node:http";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { listen, type Listening } from "../../../src/http/listen.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/http/server.ts";
import { type Opened, openClient } from "../client/open-client.ts";
import { type Api, openApi } from "./open-api.ts";
import { SocketReading } from "./read-socket.ts";

const KEY = "the-key-of-the-socket-tests";

type Headers = Readonly<Record<string, string>>;

function socketAt(url: string, path: string, headers: Headers = {}): WebSocket {
  return new WebSocket(url.replace("http", "ws") + path, { headers });
}

async function open(url: string, path = "/api/v1/ws", headers: Headers = {}): Promise<SocketReading> {
  const socket = socketAt(url, path, headers);
  const reading = new SocketReading(socket);
  await once(socket, "open");
  return reading;
}

/** The answer to a request that is not upgraded. Its connection must end. */
async function refusal(
  url: string,
  path = "/api/v1/ws",
  headers: Headers = {},
): Promise<{ status: number; code: string; detail: string; retry: unknown }> {
  const socket = socketAt(url, path, headers);
  // After the answer the library says that it is none it hoped for.
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk as string;
  if (!response.socket.destroyed) await once(response.socket, "close");
  const { code, detail } = JSON.parse(text) as { code: string; detail: string };
  return { status: response.statusCode!, code, detail, retry: response.headers["retry-after"] };
}

async function openKeyed(options: ServerOptions = {}): Promise<Api> {
  return openApi({ keys: [KEY, "looks:enqueue:another-key"], ...options });
}

const withKey = { "x-api-key": KEY };

describe("GET /api/v1/ws", () => {
  test("tells the same events as the stream, as messages", async () => {
    const { url, client, send } = await openApi();
    const reading = await open(url);
    const stream = await send("/api/v1/events");
    const { id } = await client.enqueue("t", null, { priority: "high" });
    const [created] = await reading.until(({ event }) => event === "job:created");
    expect(created).toEqual({
      event: "job:created",
      id: expect.stringMatching(/^[0-9a-f]{12}-\d+$/) as string,
      at: expect.stringMatching(/Z$/) as string,
      job_id: id,
      type: "t",
      queue: "default",
      priority: "high",
      level: "high",
    });
    let text = "";
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) if ((text += chunk).includes("data:")) break;
    expect(text).toContain(`id: ${created!.id}\nevent: ${created!.event}\ndata: ${JSON.stringify(created)}\n\n`);
  });

  test("tells when a delayed job is due", async () => {
    const { url, client } = await openApi();
    const reading = await open(url);
    const { id } = await client.enqueue("t", null, { delay: 20 });
    const seen = await reading.until(({ event }) => event === "job:due");
    expect(seen.map(({ event }) => event)).toEqual(["job:created", "job:due"]);
    expect(seen.at(-1)).toMatchObject({ job_id: id, type: "t", queue: "default" });
    expect(await client.get(id)).toMatchObject({ status: "pending" });
  });

  test("goes on after the event that one had last, or tells of a gap", async () => {
    const { url, client } = await openApi();
    const first = await open(url);
    const { id } = await client.enqueue("a");
    const [one] = await first.until(({ event }) => event === "job:created");
    first.socket.close();
    await client.cancel(id);
    const back = await open(url, `/api/v1/ws?last_event_id=${one!.id}`);
    expect(await back.until(() => true)).toMatchObject([{ event: "job:cancelled", job_id: id }]);
    const lost = await open(url, "/api/v1/ws?last_event_id=17");
    expect(await lost.until(() => true)).toMatchObject([{ event: "gap", missed: 0 }]);
  });

  test("closes with 1001 when the server shuts down, and with the client", async () => {
    const { url, server } = await openApi();
    const readings = await Promise.all([open(url), open(url)]);
    await server.drain();
    for (const { closed } of readings) expect(await closed).toEqual({ code: 1001, reason: "the server is shutting down" });
    expect(await refusal(url)).toMatchObject({ status: 503, code: "closed", retry: "1" });

    const other = await openApi();
    const reading = await open(other.url);
    await other.client.close();
    expect(await reading.closed).toMatchObject({ code: 1001 });
  });

  test("a port that closes takes even those connections down whose other side does not answer", async () => {
    const { port } = await openVirtual();
    const socket = await handshake(port.port);
    await port.close({ graceMs: 0 });
    if (!socket.destroyed) await once(socket, "close");
  });
});

describe("who may open one", () => {
  test("needs a key that may read, in a header (W02, W04, W05)", async () => {
    const { url } = await openKeyed();
    expect(await refusal(url)).toMatchObject({ status: 401, code: "unauthorized" });
    expect(await refusal(url, "/api/v1/ws", { "x-api-key": "wrong" })).toMatchObject({ status: 401 });
    expect(await refusal(url, "/api/v1/ws", { "x-api-key": "another-key" })).toMatchObject({ status: 403, code: "forbidden" });
    expect(await refusal(url, `/api/v1/ws?api_key=${KEY}`)).toMatchObject({ status: 401 });
    await open(url, "/api/v1/ws", withKey);
    await open(url, "/api/v1/ws", { authorization: `Bearer ${KEY}` });
  });

  test("is told that `auth` gets no user of a middleware", async () => {
    const { url } = await openApi({ auth: ({ original }) => (original as { user?: never }).user ?? null });
    expect(await refusal(url)).toMatchObject({ status: 401, detail: expect.stringContaining("WebSockets pass no middleware") as string });
  });

  test("a page does from this server, or from an origin that is allowed (W10)", async () => {
    const { url } = await openKeyed({ origins: ["https://admin.example.com"] });
    const from = (origin: string, more: Headers = withKey): Headers => ({ ...more, origin });
    for (const origin of ["https://evil.example", "http://localhost:1", "https://admin.example.com.evil", "garbage"]) {
      expect(await refusal(url, "/api/v1/ws", from(origin))).toMatchObject({ status: 403, code: "foreign_origin" });
    }
    expect(await refusal(url, "/api/v1/ws", from("null", {}))).toMatchObject({ status: 403, code: "foreign_origin" });
    for (const origin of [url, "https://admin.example.com", "null"]) await open(url, "/api/v1/ws", from(origin));
  });

  test("one who signed in to the dashboard does, from its page alone (W10)", async () => {
    const users = [{ name: "ann", password: "a-long-password", role: "viewer" }] as const;
    const { url, send } = await openKeyed({ dashboard: { users } });
    const signedIn = await send("/dashboard/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "ann", password: "a-long-password" }),
    });
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
    const reading = await open(url, "/api/v1/ws", { cookie, origin: url });
    // A browser always says where it comes from.
    expect(await refusal(url, "/api/v1/ws", { cookie })).toMatchObject({ status: 403, code: "foreign_origin" });
    expect(await refusal(url, "/api/v1/ws", { cookie, origin: "https://evil.example" })).toMatchObject({ status: 403 });
    expect(await refusal(url, "/api/v1/ws", { cookie, origin: "null" })).toMatchObject({ status: 403 });
    expect(await refusal(url, "/api/v1/ws", { cookie: `${cookie}x`, origin: url })).toMatchObject({ status: 401 });
    await send("/dashboard/logout", { method: "POST", headers: { cookie, origin: url } });
    expect(await reading.closed).toEqual({ code: 1008, reason: "the session has ended" });
    expect(await refusal(url, "/api/v1/ws", { cookie, origin: url })).toMatchObject({ status: 401 });

    const keyless = await openApi({ dashboard: { users } });
    expect(await refusal(keyless.url, "/api/v1/ws", { origin: keyless.url })).toMatchObject({ status: 401 });
    await open(keyless.url);
  });

  test("a page elsewhere does not, also where nobody needs a key (W10, W27)", async () => {
    const { url } = await openApi();
    expect(await refusal(url, "/api/v1/ws", { origin: "https://evil.example" })).toMatchObject({ status: 403, code: "foreign_origin" });
    expect(await refusal(url, "/api/v1/ws", { host: "evil.example" })).toMatchObject({ status: 421 });
  });

  test("finds one at its path alone, and only by its protocol", async () => {
    const { url, send } = await openKeyed();
    expect(await refusal(url, "/api/v1/jobs", withKey)).toMatchObject({ status: 404, code: "unknown_route" });
    expect(await refusal(url, "/elsewhere")).toMatchObject({ status: 401 });
    expect(await refusal(url, "/api/v1/ws?other=1", withKey)).toMatchObject({ status: 422 });
    expect(await firstLine(url, (text) => text.replace("Version: 13", "Version: 7"))).toMatch(/^HTTP\/1\.1 400 /);
    expect(await firstLine(url, (text) => text.replace("GET", "POST"))).toMatch(/^HTTP\/1\.1 40[05] /);
    const plain = await send("/api/v1/ws", { headers: withKey });
    expect([plain.status, plain.headers.get("upgrade")]).toEqual([426, "websocket"]);
    expect(await plain.json()).toMatchObject({ code: "upgrade_required" });
  });

  test("has a place, as one who reads a stream has, and one key so many (W11)", async () => {
    const { url, send } = await openKeyed({ limits: { streams: 3, streamsPerCaller: 2 }, keys: [KEY, "another-key"] });
    const first = await open(url, "/api/v1/ws", withKey);
    const stream = await send("/api/v1/events", { headers: withKey });
    expect(await refusal(url, "/api/v1/ws", withKey)).toMatchObject({ status: 429, code: "rate_limited", retry: "10" });
    const other = await open(url, "/api/v1/ws", { "x-api-key": "another-key" });
    expect(await refusal(url, "/api/v1/ws", { "x-api-key": "another-key" })).toMatchObject({
      status: 503,
      code: "overloaded",
      retry: "10",
    });
    expect((await send("/api/v1/events", { headers: { "x-api-key": "another-key" } })).status).toBe(503);
    for (const reading of [first, other]) {
      reading.socket.close();
      await reading.closed;
    }
    await stream.body!.cancel();
    expect((await open(url, "/api/v1/ws", withKey)).socket.readyState).toBe(WebSocket.OPEN);
  });
});

describe("the other side of a WebSocket", () => {
  test("has nothing to say: what it sends ends the connection (W11)", async () => {
    const { url } = await openApi();
    for (const [message, code] of [
      ["not json", 1008],
      [JSON.stringify({ type: "subscribe" }), 1008],
      [Buffer.from([1, 2, 3]), 1008],
      ["x".repeat(64 * 1024 + 1), 1009],
    ] as const) {
      const reading = await open(url);
      reading.socket.send(message);
      expect(await reading.closed).toMatchObject({ code });
    }
  });

  test("cannot hurt the process by what it sends along with its request", async () => {
    const { url, send } = await openApi();
    const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    // A frame with bits that mean nothing, in the same write as the request.
    socket.write(Buffer.concat([Buffer.from(requestText(new URL(url).host)), Buffer.from([0xff, 0xff, 0xff, 0xff])]));
    socket.resume();
    await once(socket, "close");
    expect((await send("/health/live")).status).toBe(200);
  });

  test("is asked whether it is there, and taken for gone when it does not say so", async () => {
    const { clock, url } = await openVirtual();
    const living = await open(url);
    const gone = await handshake(Number(new URL(url).port));
    for (let pings = 0; pings < 4; pings++) {
      const ping = once(living.socket, "ping");
      await clock.advance("30s");
      await ping;
      // The server has our answer once it tells what happened after it.
      await pongArrived(living);
    }
    if (!gone.destroyed) await once(gone, "close");
    expect(living.socket.readyState).toBe(WebSocket.OPEN);
  });

  test("that does not read is not written to without end, and hears of its gap", async () => {
    const { clock, url, store } = await openVirtual();
    const reading = await open(url);
    reading.socket.pause();
    const error = "x".repeat(1000);
    for (let second = 0; second < 40; second++) {
      await store.publish(
        Array.from({ length: 1000 }, (_, at) => ({ event: "job:dead", at, jobId: "j", type: "t", queue: "q", error }) as const),
      );
      await clock.advance("1s");
    }
    await store.publish([{ event: "queue:paused", at: 0, queue: "end" }]);
    await clock.advance("1s");
    reading.socket.resume();
    const seen = await reading.until(({ event }) => event === "queue:paused");
    const missed = seen.reduce((sum, { event, missed: gap }) => sum + (event === "gap" ? (gap as number) : 0), 0);
    expect(missed).toBeGreaterThan(1000);
    expect(seen.filter(({ event }) => event !== "gap").length + missed).toBe(40_001);
  });
});

describe("a server in another", () => {
  test.each(["with a basePath", "with the path taken off"])("opens WebSockets under a path of node:http, %s", async (way) => {
    const { client } = await openClient();
    const server = createServer(client, { keys: [KEY], ...(way === "with a basePath" ? { basePath: "/admin/queue" } : {}) });
    const node = createNodeServer((_, response) => response.end("mine"));
    node.on("upgrade", (incoming, socket, head) => {
      if (incoming.url?.startsWith("/admin/queue/") !== true) return void socket.destroy();
      if (way !== "with a basePath") incoming.url = incoming.url.slice("/admin/queue".length);
      server.upgrade(incoming, socket, head);
    });
    const url = await listening(node, server);
    const reading = await open(url, "/admin/queue/api/v1/ws", withKey);
    await client.pause("mail", { create: true });
    expect(await reading.until(() => true)).toMatchObject([{ event: "queue:paused", queue: "mail" }]);
    expect(await refusal(url, "/admin/queue/api/v1/ws")).toMatchObject({ status: 401 });
    expect(await refusal(url, "/admin/queue/nowhere", withKey)).toMatchObject({ status: 404 });
  });

  test("opens WebSockets on the application's own server, wherever it is mounted, and leaves others to the application", async () => {
    const { client } = await openClient();
    const told: string[] = [];
    const server = createServer(client, { keys: [KEY], onTrouble: ({ message }) => told.push(message) });
    const node = createNodeServer(server.listener);
    const url = await listening(node, server);
    for (let times = 0; times < 2; times++) await fetch(`${url}/nowhere`);
    expect(told).toEqual([expect.stringContaining("call server.attach")]);

    server.attach(node);
    const reading = await open(url, "/any/mount/api/v1/ws", withKey);
    await client.pause("mail", { create: true });
    expect(await reading.until(() => true)).toMatchObject([{ event: "queue:paused", queue: "mail" }]);
    expect(await refusal(url, "/chat", withKey)).toMatchObject({ status: 404 });
    node.on("upgrade", ({ url: path }, socket) => path === "/chat" && socket.end("HTTP/1.1 418 Mine\r\nConnection: close\r\n\r\n{}"));
    expect(await refusal(url, "/chat", withKey)).toMatchObject({ status: 418 });
  });

  test("does not open them where nobody would check who asks", async () => {
    const { client } = await openClient();
    const server = createServer(client, { open: true });
    onTestFinished(() => server.drain());
    expect(() => server.attach(createNodeServer())).toThrow(expect.objectContaining({ code: "invalid_input", field: "open" }));
  });

  test("answers a request alone: two servers on one server of the application need a base path each", async () => {
    const { client } = await openClient();
    const [plain, a, b] = ["", "/a", "/b"].map((basePath) => createServer(client, { keys: [KEY], basePath }));
    onTestFinished(async () => void (await Promise.all([plain, a, b].map((server) => server!.drain()))));
    const refused = expect.objectContaining({ code: "invalid_input", field: "basePath" }) as Error;
    const [one, another] = [createNodeServer(), createNodeServer()];
    plain!.attach(one);
    for (const server of [plain, a]) expect(() => server!.attach(one)).toThrow(refused);
    for (const server of [a, b]) server!.attach(another);
    for (const server of [plain, a]) expect(() => server!.attach(another)).toThrow(refused);
  });

  test("a request that would rather speak another protocol is answered all the same", async () => {
    const { url } = await openApi();
    const body = JSON.stringify({ type: "t" });
    const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
    const head = [
      "POST /api/v1/jobs HTTP/1.1",
      `Host: ${new URL(url).host}`,
      "Connection: Upgrade, HTTP2-Settings, close",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    const [answer] = (await once(socket.setEncoding("utf8"), "data")) as [string];
    expect(answer).toMatch(/^HTTP\/1\.1 201 /);
    socket.destroy();
  });
});

/** Where the application's own server listens, until the test ends. */
async function listening(node: NodeServer, server: Server): Promise<string> {
  await once(node.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    await server.drain();
    node.close();
    node.closeAllConnections();
  });
  return `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
}

/** A server on a port, with a clock turned by hand. */
async function openVirtual(): Promise<Opened & { readonly url: string; readonly port: Listening }> {
  const opened = await openClient();
  const server = createServer(opened.client, { open: true, clock: opened.clock });
  const port = await listen(server, { port: 0 });
  onTestFinished(async () => {
    await port.close({ graceMs: 0 });
    await server.drain();
  });
  return { ...opened, url: port.url, port };
}

/** How a request is answered that is changed on its way. */
async function firstLine(url: string, change: (request: string) => string): Promise<string> {
  const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
  const request = requestText(new URL(url).host).replace("Connection:", `X-API-Key: ${KEY}\r\nConnection:`);
  socket.write(change(request));
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.resume();
  await once(socket, "close");
  return answer.toString().split("\r\n")[0]!;
}

function requestText(host: string): string {
  const lines = ["GET /api/v1/ws HTTP/1.1", `Host: ${host}`, "Connection: Upgrade", "Upgrade: websocket"];
  return `${[...lines, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="].join("\r\n")}\r\n\r\n`;
}

/** A connection that was upgraded, and then says nothing any more. */
async function handshake(port: number): Promise<ReturnType<typeof connectSocket>> {
  const socket = connectSocket(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(requestText(`127.0.0.1:${port}`));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 101 /);
  socket.resume();
  return socket;
}

/** Resolves when the server has read all that was sent before: it answers pings in order. */
async function pongArrived({ socket }: SocketReading): Promise<void> {
  const pong = once(socket, "pong");
  socket.ping();
  await pong;
}
