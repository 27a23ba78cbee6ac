import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { createServer, listen, type Listening, type ListenOptions, type ServerOptions } from "../../src/server.ts";

async function open(options: ServerOptions = {}, listenOptions: ListenOptions = {}): Promise<Listening> {
  const client = await connect("memory:");
  const server = createServer(client, options);
  const port = await listen(server, { port: 0, ...listenOptions });
  onTestFinished(async () => {
    await port.close({ graceMs: 0 });
    await client.close();
  });
  return port;
}

function dial({ port }: Listening): Socket {
  const socket = connectSocket(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  return socket;
}

/** Sends text and reads what comes back until the server closes the connection. */
async function say(listening: Listening, text: string): Promise<string> {
  const socket = dial(listening);
  socket.write(text);
  let answer = "";
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

describe("a caller who hangs up while his rate is asked for", () => {
  test("leaves nothing behind: his place is free, and he is logged", async () => {
    const told: number[] = [];
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<number>();
    const limiter = { take: () => (asked.resolve(), goOn.promise) };
    const lines = Promise.withResolvers<void>();
    const onRequest = ({ status }: { readonly status: number }): void => {
      told.push(status);
      if (told.length === 2) lines.resolve();
    };
    const port = await open({ limiter, onRequest, limits: { requests: 1 } });
    const socket = dial(port);
    socket.write("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{");
    await asked.promise;
    socket.resetAndDestroy();
    await once(socket, "close");
    // By when this is answered the server has heard of the end.
    expect((await fetch(`${port.url}/health`)).status).toBe(200);
    goOn.resolve(0);
    await lines.promise;
    const after = await fetch(`${port.url}/api/v1/jobs`);
    expect(after.status).toBe(200);
  });
});

describe("what arrives over a socket", () => {
  test("W26: a length and chunks at once are no request", async () => {
    const port = await open();
    const smuggled =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n";
    expect(await say(port, smuggled)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("W23: headers have a bound", async () => {
    const port = await open();
    expect(await say(port, `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: ${"x".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
    const many = Array.from({ length: 2500 }, (_, index) => `X-${index}: 1\r\n`).join("");
    expect(await say(port, `GET /health HTTP/1.1\r\nHost: localhost\r\n${many}Connection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 (431|200) /,
    );
  });

  test.each([
    ["no request at all", "hello\r\n\r\n"],
    ["another version", "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n"],
    ["no host", "GET /api/v1/queues/x HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["a line feed in a header", "GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\nb\r\nConnection: close\r\n\r\n"],
    ["a NUL in the path", "GET /api/v1/jobs/\u0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"],
    ["a negative length", "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\nConnection: close\r\n\r\n"],
  ])("W20: %s is 400", async (_, text) => {
    const port = await open();
    expect(await say(port, text)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await fetch(`${port.url}/health`)).status).toBe(200);
  });

  test("W27: a Host that is not ours is 421 on every route", async () => {
    const port = await open();
    for (const path of ["/api/v1/queues", "/api/v1/jobs/x", "/health", "/nowhere"]) {
      expect([path, (await say(port, `GET ${path} HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n`)).slice(0, 12)]).toEqual([
        path,
        "HTTP/1.1 421",
      ]);
    }
  });

  test("W24: no path leads out", async () => {
    const port = await open();
    for (const path of [
      "/..%2f..%2fetc/passwd",
      "/%2e%2e/%2e%2e/etc/passwd",
      "/..\\..\\etc\\passwd",
      "//etc/passwd",
      "/%252e%252e/etc/passwd",
      "/docs/../../etc/passwd",
    ]) {
      const answer = await say(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect([path, /^HTTP\/1\.1 40[04] /.test(answer), answer.includes("root:")]).toEqual([path, true, false]);
    }
  });

  test("B07: who sends a body too slowly is sent away with 408, and others are served meanwhile", async () => {
    const port = await open({}, { requestMs: 300 });
    const slow = dial(port);
    slow.write('POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"type":');
    expect((await fetch(`${port.url}/health`)).status).toBe(200);
    let answer = "";
    for await (const chunk of slow) answer += String(chunk);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a body that is cut off is nobody's job", async () => {
    const told: number[] = [];
    const { promise: noticed, resolve } = Promise.withResolvers<void>();
    const port = await open({
      onRequest: ({ status, error }) => {
        told.push(status);
        expect(error).toBeUndefined();
        resolve();
      },
    });
    const socket = dial(port);
    socket.write(
      'POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"type":"t"',
    );
    await once(socket, "connect");
    // The server has the headers once it asks for the rest; then the caller goes.
    socket.end();
    await noticed;
    expect(told).toEqual([400]);
    expect(await (await fetch(`${port.url}/api/v1/jobs`)).json()).toMatchObject({ jobs: [] });
  });

  test("W23: a body beyond the limit is refused before it has arrived", async () => {
    const port = await open();
    const socket = dial(port);
    socket.write("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe("a port", () => {
  test("W01: that others can reach is not opened without keys", async () => {
    const client = await connect("memory:");
    onTestFinished(() => client.close());
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "example.com"]) {
      await expect(listen(createServer(client), { port: 0, host })).rejects.toMatchObject({ code: "invalid_input", field: "host" });
    }
    const port = await listen(createServer(client, { keys: ["a-key"] }), { port: 0, host: "0.0.0.0" });
    await port.close();
  });

  test("that is taken is refused in words", async () => {
    const port = await open();
    const client = await connect("memory:");
    onTestFinished(() => client.close());
    await expect(listen(createServer(client), { port: port.port })).rejects.toMatchObject({
      code: "invalid_input",
      field: "port",
      message: `cannot listen on 127.0.0.1:${port.port}: another program already listens there. Choose another port with --port or PORT`,
    });
    await expect(listen(createServer(client), { port: 70_000 })).rejects.toMatchObject({ field: "port" });
  });

  test("closes although somebody keeps a connection and says nothing", async () => {
    const port = await open();
    const socket = dial(port);
    await once(socket, "connect");
    expect((await fetch(`${port.url}/health`)).status).toBe(200);
    await port.close({ graceMs: 60_000 });
    await port.close();
    await expect(fetch(`${port.url}/health`)).rejects.toThrow();
  });
});
