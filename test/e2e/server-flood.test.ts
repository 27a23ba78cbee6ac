/** A flood of requests: what is too much is sent away and told when to come again, memory stays flat, and /health answers meanwhile. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const KEY = "the-key-of-the-flood";
/** How many requests one flood has. */
const REQUESTS = Number(process.env["MILLRACE_TEST_FLOOD"] ?? 6_000);
const CONNECTIONS = 100;
const MEBIBYTE = 1024 * 1024;

interface Flooded {
  readonly url: string;
  readonly port: number;
  /** What the server's process has in memory, in bytes. */
  readonly memory: () => number;
}

async function openServer(env: Record<string, string> = {}): Promise<Flooded> {
  const cli = startCli(["server"], {
    cwd: temporaryFolder(),
    env: { API_KEY: KEY, PORT: "0", LOG_LEVEL: "silent", DASHBOARD_ENABLED: "false", ...env },
  });
  await cli.said("/docs\n");
  const url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)![1]!;
  const memory = (): number => Number(execFileSync("ps", ["-o", "rss=", "-p", String(cli.child.pid)], { encoding: "utf8" })) * 1024;
  return { url, port: Number(new URL(url).port), memory };
}

function dial({ port }: Flooded): Socket {
  const socket = connectSocket(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

const HEAD = `POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${KEY}\r\nContent-Type: application/json\r\n`;

/** Sends so many requests over each of many connections, the next as soon as the last is answered. Gives the heads of all answers. */
async function flood(server: Flooded, body: string, count: number): Promise<string[]> {
  const request = `${HEAD}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const heads: string[] = [];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = dial(server);
      for (let index = 0; index < count / CONNECTIONS; index++) {
        socket.write(request);
        heads.push(await readAnswer(socket));
      }
      socket.destroy();
    }),
  );
  return heads;
}

/** The head of one answer; its body is read and forgotten. */
async function readAnswer(socket: Socket): Promise<string> {
  let text = "";
  for (;;) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    text += chunk.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? NaN);
    if (end !== -1 && text.length >= end + 4 + length) return text.slice(0, end);
  }
}

/** Asks for /health again and again until it is stopped; gives how often it was well, and what else came. */
function watchHealth({ url }: Flooded): { stop(): Promise<{ well: number; other: number[] }> } {
  const ending = new AbortController();
  const seen = { well: 0, other: [] as number[] };
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const { status } = await fetch(`${url}/health`);
      if (status === 200) seen.well++;
      else seen.other.push(status);
    }
    return seen;
  })();
  return {
    stop: () => {
      ending.abort();
      return watching;
    },
  };
}

function countStatuses(heads: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const head of heads) counts[head.slice(9, 12)] = (counts[head.slice(9, 12)] ?? 0) + 1;
  return counts;
}

describe("under a flood", () => {
  test("of jobs into a full queue: 503 with Retry-After, memory is flat, and /health answers", { timeout: 120_000 }, async () => {
    const server = await openServer();
    const settings = { method: "PATCH", headers: { "x-api-key": KEY, "content-type": "application/json" }, body: '{"capacity":50}' };
    expect((await fetch(`${server.url}/api/v1/queues/default`, settings)).status).toBe(200);
    const body = JSON.stringify({ type: "task", payload: "x".repeat(1000) });
    const health = watchHealth(server);
    await flood(server, body, REQUESTS / 4);
    const before = server.memory();
    const heads = await flood(server, body, REQUESTS);
    const after = server.memory();
    const { well, other } = await health.stop();

    expect(countStatuses(heads)).toEqual({ "503": REQUESTS });
    expect(heads.every((head) => /\r\nretry-after: [1-9]/i.test(head))).toBe(true);
    expect(after - before).toBeLessThan(64 * MEBIBYTE);
    expect([well > 0, other]).toEqual([true, []]);
  });

  test("beyond the rate: 429 with Retry-After, memory is flat, and /health answers", { timeout: 120_000 }, async () => {
    const server = await openServer({ RATE_LIMIT: "10/h" });
    const health = watchHealth(server);
    const first = await flood(server, '{"type":"task"}', REQUESTS / 4);
    const before = server.memory();
    const heads = await flood(server, '{"type":"task"}', REQUESTS);
    const after = server.memory();
    const { well, other } = await health.stop();

    expect(countStatuses(first)).toEqual({ "201": 10, "429": REQUESTS / 4 - 10 });
    expect(countStatuses(heads)).toEqual({ "429": REQUESTS });
    expect(heads.every((head) => /\r\nretry-after: [1-9]/i.test(head))).toBe(true);
    expect(after - before).toBeLessThan(64 * MEBIBYTE);
    expect([well > 0, other]).toEqual([true, []]);
  });

  test("of large bodies that never end: as many as there is room for are waited for, the rest is 503 at once", async () => {
    const server = await openServer();
    const before = server.memory();
    const half = "x".repeat(MEBIBYTE / 2);
    const sockets = Array.from({ length: 150 }, () => dial(server));
    const answers: string[] = [];
    for (const socket of sockets) socket.once("data", (chunk: Buffer) => answers.push(chunk.toString("latin1")));
    for (const socket of sockets) socket.write(`${HEAD}Content-Length: ${MEBIBYTE}\r\n\r\n${half}`);
    // 64 MiB is the room for all bodies together.
    await expect.poll(() => answers.length, { timeout: 30_000 }).toBe(150 - 64);
    expect(new Set(answers.map((answer) => answer.slice(0, 12)))).toEqual(new Set(["HTTP/1.1 503"]));
    expect(answers.every((answer) => /\r\nretry-after: 1\r\n/i.test(answer) && answer.includes('"code":"overloaded"'))).toBe(true);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(server.memory() - before).toBeLessThan(256 * MEBIBYTE);

    // Who hangs up gives the room back.
    for (const socket of sockets) socket.destroy();
    const post = (): Promise<Response> =>
      fetch(`${server.url}/api/v1/jobs`, {
        method: "POST",
        headers: { "x-api-key": KEY, "content-type": "application/json" },
        body: '{"type":"t"}',
      });
    await expect.poll(async () => (await post()).status, { timeout: 30_000 }).toBe(201);
  });
});
