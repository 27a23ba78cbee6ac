/** `millrace server` and `millrace start` as processes: over HTTP, on each engine, with real receivers and real signals. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Client, connect, verifyWebhook } from "../../src/index.ts";
import { until } from "../faults/until.ts";
import { type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";
import { storesOfThisFile } from "./stores-of-this-file.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const KEY = "a-key-of-the-tests";
const HANDLERS = fileURLToPath(new URL("../../examples/handlers.ts", import.meta.url));
/** How many jobs are accepted before the server is killed. */
const ACCEPTED = Number(process.env["MILLRACE_TEST_ACCEPTED"] ?? 500);

const ENGINES = storesOfThisFile();

interface Serving {
  readonly cli: RunningCli;
  readonly url: string;
  readonly client: Client;
}

/** Starts a command that serves, on a free port, and a client of it. */
async function serving(args: readonly string[], store: string, more: Readonly<Record<string, string>> = {}): Promise<Serving> {
  const own = { MILLRACE_URL: store, API_KEY: KEY, PORT: "0", WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW: "127.0.0.0/8", LOG_LEVEL: "warn" };
  const env = { ...own, ...more };
  const cli = startCli(args, { cwd: temporaryFolder(), env });
  await cli.said("/docs\n");
  const url = /API on (\S+)\/api\/v1/.exec(cli.output.stderr)![1]!;
  const client = await connect(url, { apiKey: KEY });
  onTestFinished(() => client.close());
  return { cli, url, client };
}

/** A receiver of webhooks: answers 503 to the first call, and keeps what it took. */
async function receiver(): Promise<{ url: string; received: Promise<{ headers: Headers; body: string }> }> {
  const taken = Promise.withResolvers<{ headers: Headers; body: string }>();
  let calls = 0;
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (calls++ === 0) return void response.writeHead(503, { "retry-after": "1" }).end();
    response.writeHead(204).end();
    taken.resolve({ headers: new Headers(request.headers as Record<string, string>), body });
  };
  const server = createServer((request, response) => void take(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received: taken.promise };
}

describe.each(ENGINES)("a server on %s", (_name, storeUrl) => {
  test("runs jobs, and tells their end by a signed webhook that is tried again", async () => {
    const { cli, client } = await serving(["start", "--handlers", HANDLERS], storeUrl());
    const hook = await receiver();
    const job = await client.enqueue("email:send", { to: "ann@example.com" }, { webhookUrl: hook.url, queue: "mail" });
    expect(await client.wait(job.id, { timeout: "30s" })).toMatchObject({ status: "completed", result: { accepted: ["ann@example.com"] } });
    const { headers, body } = await hook.received;
    const { event } = verifyWebhook({ headers, body, secret: SECRET });
    expect(event).toMatchObject({ type: "job.completed", data: { id: job.id } });
    cli.child.kill("SIGTERM");
    expect((await cli.ended).code).toBe(0);
  });

  test("that is killed in mid-load has lost no job that it accepted", async () => {
    const store = storeUrl();
    const { cli, client } = await serving(["server"], store);
    const accepted = new Set<string>();
    const enough = Promise.withResolvers<void>();
    const producing = Array.from({ length: 20 }, async () => {
      try {
        for (;;) {
          accepted.add((await client.enqueue("t", 1)).id);
          if (accepted.size >= ACCEPTED) enough.resolve();
        }
      } catch {
        // It is dead, or the client is closed: what was under way is in nobody's hands.
      }
    });
    await enough.promise;
    cli.child.kill("SIGKILL");
    await client.close();
    await Promise.all(producing);
    await using direct = await connect(store);
    for (const id of accepted) expect(await direct.get(id)).toMatchObject({ id, status: "pending" });
  });
});

describe("a server that cannot start", () => {
  test.each([
    ["a key of no scope", { API_KEY: "good-key,a:bad:secret" }, "millrace: key 2 of API_KEY must be a secret without a colon, or"],
    ["a key that is there twice", { API_KEY: "same,same" }, "millrace: keys of API_KEY must differ: two of them have the same secret"],
    ["a range that is none", { WEBHOOK_ALLOW: "nonsense" }, "millrace: WEBHOOK_ALLOW must be addresses or ranges, such as"],
  ])("for %s ends, and names the setting", async (_, wrong, line) => {
    const cli = startCli(["server"], { cwd: temporaryFolder(), env: { MILLRACE_URL: "memory:", PORT: "0", ...wrong } });
    expect((await cli.ended).code).toBe(2);
    expect(cli.output.stderr).toContain(line);
  });
});

describe("a server that is told to stop", () => {
  test("lets what runs finish, refuses what is new, and takes reports to the end", async () => {
    const store = ENGINES[0][1]();
    const { cli, client, url } = await serving(["start", "--handlers", HANDLERS], store);
    const { id } = await client.enqueue("report:make", { pages: 5 });
    await until(async () => (await client.get(id))!.status === "running");
    cli.child.kill("SIGTERM");
    await cli.said("stopping");
    expect((await cli.ended).code).toBe(0);
    await expect(fetch(`${url}/health`)).rejects.toThrow();
    await using direct = await connect(store);
    expect(await direct.get(id)).toMatchObject({ status: "completed", result: { pages: 5 } });
  });

  test("does not wait beyond its grace for a request that never comes whole", async () => {
    const { cli, url } = await serving(["server"], ENGINES[0][1](), { WORKER_SHUTDOWN_TIMEOUT: "1s" });
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const answers: string[] = [];
    socket.on("data", (data) => answers.push(data.toString()));
    socket.write(
      `POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nX-API-Key: ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n{`,
    );
    // From here on the server waits for a body.
    await once(socket, "data");
    cli.child.kill("SIGTERM");
    expect((await cli.ended).code).toBe(0);
    // Nobody waited until the request was too old, which would have been answered with 408.
    expect(answers.join("")).not.toContain("408");
  });

  test("ends at once at the second signal", async () => {
    const { cli, client } = await serving(["start", "--handlers", HANDLERS], ENGINES[0][1]());
    const { id } = await client.enqueue("report:make", { pages: 100 });
    await until(async () => (await client.get(id))!.status === "running");
    cli.child.kill("SIGTERM");
    await cli.said("stopping");
    cli.child.kill("SIGTERM");
    expect((await cli.ended).code).toBe(1);
  });
});
