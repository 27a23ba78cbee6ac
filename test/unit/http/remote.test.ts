import { createServer as createNodeServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { connect, type ConnectOptions } from "../../../src/connect.ts";
import { idMaker } from "../../../src/http/remote/ids.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { isId, tenBitsOf } from "../../../src/lib/id.ts";
import { TcpProxy } from "../../servers/tcp-proxy.ts";
import { type Api, openApi } from "./open-api.ts";

interface Wired extends Api {
  readonly remote: Client;
  readonly wire: TcpProxy;
}

/** A client of a server, with a wire between them that can break. */
async function openWired(options: ConnectOptions = {}): Promise<Wired> {
  const api = await openApi({ hosts: ["127.0.0.1"] });
  const wire = await TcpProxy.to(Number(new URL(api.url).port));
  const remote = await connect(`http://127.0.0.1:${wire.port}`, { onTrouble: () => {}, ...options });
  onTestFinished(async () => {
    wire.heal();
    await remote.close({ grace: 0 });
    wire.close();
  });
  return { ...api, remote, wire };
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

/** Where nobody listens. */
async function freeAddress(): Promise<string> {
  const node = createNodeServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => node.once("listening", resolve));
  const { port } = node.address() as AddressInfo;
  await new Promise((resolve) => node.close(resolve));
  return `http://127.0.0.1:${port}`;
}

async function openRemote(url: string, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(url, options);
  onTestFinished(() => client.close({ grace: 0 }));
  return client;
}

describe("an answer that is lost", () => {
  test("S39: of enqueue costs nothing: the same job is sent again", async () => {
    const { remote, wire, client } = await openWired();
    const lost = wire.swallowAnswerTo(/jobs\/batch/);
    const job = await remote.enqueue("t", { a: 1 }, { idempotencyKey: "k" });
    await lost;
    expect(job).toMatchObject({ created: true, status: "pending" });
    expect((await client.list()).jobs.map(({ id }) => id)).toEqual([job.id]);
  });

  test("S39: of enqueueMany makes no job twice", async () => {
    const { remote, wire, client } = await openWired();
    const lost = wire.swallowAnswerTo(/jobs\/batch/);
    const results = await remote.enqueueMany(Array.from({ length: 50 }, (_, index) => ({ type: "t", payload: index })));
    await lost;
    expect(results.every((result) => result.ok && result.job.created)).toBe(true);
    expect((await client.stats()).counts.pending).toBe(50);
  });

  test("of a flow makes no second one, with or without a key, and of more members no second jobs", async () => {
    const { remote, wire, client } = await openWired();
    for (const options of [{}, { key: "import-42" }]) {
      const lost = wire.swallowAnswerTo(/POST \/api\/v1\/flows /);
      const flow = await remote.flow([{ name: "a", type: "t", delay: "1h" }], options);
      await lost;
      expect(flow).toMatchObject({ created: true, members: 1 });
      const alsoLost = wire.swallowAnswerTo(/\/members /);
      const jobs = await remote.flows.add(flow.id, [{ name: "b", type: "t", after: "a" }]);
      await alsoLost;
      expect((await client.list({ flow: flow.id })).jobs.map(({ id }) => id).toSorted()).toEqual([flow.jobs["a"]!, jobs["b"]!].toSorted());
    }
    expect((await client.flows.list()).flows).toHaveLength(2);
  });

  test("of a cancel is asked for again, and is the answer of the first", async () => {
    const { remote, wire, client } = await openWired();
    const { id } = await client.enqueue("t");
    const lost = wire.swallowAnswerTo(/cancel/);
    expect(await remote.cancel(id)).toMatchObject({ id, status: "cancelled" });
    await lost;
  });

  test("of a retry is told as unknown, not sent again: the job may have died once more", async () => {
    const { remote, wire, client } = await openWired();
    const { id } = await client.enqueue("t");
    await client.cancel(id);
    const lost = wire.swallowAnswerTo(/retry/);
    await expect(remote.retry(id)).rejects.toMatchObject({ code: "store_unavailable" });
    await lost;
    expect(await client.get(id)).toMatchObject({ status: "pending" });
  });

  test("S08: of a settlement makes no second run", async () => {
    const { remote, wire, client } = await openWired();
    let runs = 0;
    const lost = wire.swallowAnswerTo(/"outcome":"completed"/);
    remote.work({ t: async () => ++runs });
    const { id } = await client.enqueue("t");
    await lost;
    expect(await client.wait(id)).toMatchObject({ status: "completed", result: 1, attempt: 1 });
    while ((await client.workers()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(runs).toBe(1);
  });

  test("of a claim costs no attempt: the worker asks for the same jobs again", async () => {
    const { remote, wire, client } = await openWired();
    const { id } = await client.enqueue("t", null, { maxRetries: 0 });
    const lost = wire.swallowAnswerTo(/POST \/api\/v1\/leases /);
    remote.work({ t: async () => "ran" }, { lease: "1h" });
    await lost;
    expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 1, fence: 1, result: "ran" });
  });
});

describe("a client of a server", () => {
  test("waits at its close for calls that have not been sent yet", async () => {
    const { remote, client } = await openWired();
    const { promise, resolve } = Promise.withResolvers<void>();
    const validate = async (value: unknown) => promise.then(() => ({ value }));
    const slow = defineJob({ type: "slow", input: { "~standard": { version: 1, vendor: "test", validate } } });
    const calls = [remote.enqueue("t"), remote.enqueue(slow, 1), remote.enqueueMany([slow.job(2)])];
    const closing = remote.close();
    resolve();
    await Promise.all([...calls, closing]);
    expect((await client.list()).jobs).toHaveLength(3);
  });

  test("gives its defaults to schedules, as a client of a store does", async () => {
    const { remote, client } = await openWired({ defaults: { queue: "mail", tags: ["nightly"], timeout: "5m", delay: "1h" } });
    await remote.schedules.create({ name: "a", type: "t", every: "1d" });
    await remote.schedules.upsert({ name: "b", type: "t", every: "1d", queue: "own", timeout: "1m" });
    expect(await client.schedules.list()).toMatchObject([
      { queue: "mail", tags: ["nightly"], timeout: 300_000 },
      { queue: "own", tags: ["nightly"], timeout: 60_000 },
    ]);
  });
});

describe("the defaults of a client of a server", () => {
  test("come after those of the queue, as in a client of a store", async () => {
    const { remote, client } = await openWired({ defaults: { maxRetries: 9, timeout: "5m" } });
    await client.configure("mail", { defaults: { maxRetries: 1, retryDelay: "7s" } });
    const own = defineJob({ type: "own", queue: "mail", maxRetries: 2 });
    const ofQueue = { maxRetries: 1, retryDelay: 7000, timeout: 300_000 };
    expect(await remote.enqueue("t", null, { queue: "mail" })).toMatchObject(ofQueue);
    expect(await remote.enqueueMany([{ type: "t", queue: "mail" }])).toMatchObject([{ job: ofQueue }]);
    expect(await remote.enqueue("t")).toMatchObject({ maxRetries: 9, timeout: 300_000 });
    expect(await remote.enqueue(own, null, { timeout: 5 })).toMatchObject({ maxRetries: 2, timeout: 5 });
    await remote.schedules.upsert({ name: "a", type: "t", every: "1d", queue: "mail" });
    await remote.schedules.upsert({ name: "b", job: own, every: "1d", payload: null });
    expect(await client.schedules.run("a")).toMatchObject(ofQueue);
    expect(await client.schedules.run("b")).toMatchObject({ ...ofQueue, maxRetries: 2 });
    await client.configure("mail", { defaults: null });
    expect(await client.schedules.run("a")).toMatchObject({ maxRetries: 9, timeout: 300_000 });
    await expect(client.enqueue("t", null, { unset: ["queue"] as never })).rejects.toMatchObject({ field: "unset" });
  });
});

describe("a server that is away", () => {
  test("is waited for until the deadline, and a call is then told why", async () => {
    const { remote, wire } = await openWired({ deadline: 300 });
    await remote.enqueue("t");
    wire.stall();
    const calls = [remote.enqueue("t"), remote.stats(), remote.get("0190d2f0-7b1a-7abc-8def-0123456789ab")];
    const message = `the Millrace server at http://127.0.0.1:${wire.port} did not answer within 300ms. Check that it is running, and what its log says`;
    for (const end of await Promise.allSettled(calls)) expect(end).toMatchObject({ reason: { code: "store_unavailable", message } });
  });

  test("that cannot be reached at all is said to be", async () => {
    const url = await freeAddress();
    const none = await openRemote(`${url}/admin/jobs/`, { deadline: 200 });
    const place = `^cannot reach the Millrace server at ${url}/admin/jobs: connection refused`;
    const next = "Check that it is running and that the address is right$";
    const told = { code: "store_unavailable", message: expect.stringMatching(`${place} \\(tried for \\d+ ms\\)\\. ${next}`) as string };
    await expect(none.enqueue("t")).rejects.toMatchObject(told);
    await expect(none.cancel("0190d2f0-7b1a-7abc-8def-0123456789ab")).rejects.toMatchObject(told);
  });

  test("or that breaks the connection, is named with its address", async () => {
    const url = await listenOn((request) => request.socket.destroy());
    // It may have deleted them, so it is not asked again.
    await expect((await openRemote(url)).dead.purge()).rejects.toMatchObject({
      code: "store_unavailable",
      message: `the connection to the Millrace server at ${url} failed: other side closed. Check that it is running and that the address is right`,
    });
  });

  test("S22: is worked for again by itself when it is back, waiting calls too", async () => {
    const { remote, wire, client } = await openWired();
    const worker = remote.work({ t: async (payload: number) => payload });
    const first = await remote.enqueue("t", 1);
    expect(await remote.wait(first.id)).toMatchObject({ result: 1 });
    wire.stall();
    const { id } = await client.enqueue("t", 2);
    const waiting = remote.wait(id);
    const enqueued = remote.enqueue("t", 3);
    wire.heal();
    expect(await waiting).toMatchObject({ result: 2 });
    expect(await remote.wait((await enqueued).id)).toMatchObject({ result: 3 });
    expect(worker.healthy).toBe(true);
  });
});

describe("a server that refuses for now", () => {
  test("is asked again, as late as it says", async () => {
    const statuses = [429, 503, 200];
    const url = await listenOn((_, response) => {
      const status = statuses.shift() ?? 200;
      const code = { 429: "rate_limited", 503: "overloaded" }[status];
      response.writeHead(status, { "content-type": "application/json" });
      response.end(status === 200 ? '{"queues":[]}' : JSON.stringify({ code, detail: "later", retry_after_ms: 4321 }));
    });
    const pauses: number[] = [];
    const clock: Clock = {
      ...systemClock,
      setTimer: (callback, ms) => (pauses.push(ms), systemClock.setTimer(callback, ms === 4321 ? 0 : ms)),
    };
    expect(await (await openRemote(url, { clock })).queues()).toEqual([]);
    expect(pauses).toContain(4321);
    expect(statuses).toEqual([]);
  });

  test("beyond the deadline is what the caller hears", async () => {
    const url = await listenOn((_, response) => {
      response
        .writeHead(429, { "content-type": "application/json" })
        .end('{"code":"rate_limited","detail":"later","retry_after_ms":60000}');
    });
    const client = await openRemote(url, { deadline: 500 });
    await expect(client.queues()).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 60_000, message: "later" });
  });

  test("because a queue is full is not asked again", async () => {
    const { url, client } = await openApi();
    await client.configure("default", { capacity: 1 });
    const remote = await openRemote(url);
    await remote.enqueue("t");
    await expect(remote.enqueue("t")).rejects.toMatchObject({ code: "queue_full", retryAfterMs: 1000 });
  });
});

describe("keys", () => {
  test("that are missing, wrong or too narrow are told apart", async () => {
    const { url } = await openApi({ keys: ["r:read:the-narrow-key"] });
    await expect((await openRemote(url)).queues()).rejects.toMatchObject({ code: "unauthorized" });
    await expect((await openRemote(url, { apiKey: "wrong" })).queues()).rejects.toMatchObject({ code: "unauthorized" });
    const narrow = await openRemote(url, { apiKey: "the-narrow-key" });
    expect(await narrow.queues()).toEqual([]);
    await expect(narrow.enqueue("t")).rejects.toMatchObject({ code: "forbidden", message: expect.stringContaining("enqueue") as string });
  });

  test.each(["http://key@localhost:8080", "https://user:key@example.com"])("do not belong into %s", async (url) => {
    const message = expect.not.stringContaining("key@") as string;
    await expect(connect(url)).rejects.toMatchObject({ code: "invalid_input", field: "url", message });
  });

  test("of another kind than a header can hold are refused, and not repeated", async () => {
    for (const apiKey of ["with space", "line\nbreak", "", 5]) {
      await expect(connect("http://localhost:1", { apiKey: apiKey as string })).rejects.toMatchObject({
        field: "apiKey",
        message: "apiKey must be a string of printable ASCII characters",
      });
    }
  });
});

describe("an address", () => {
  test.each([
    ["http://localhost:8080/?a=1", "url"],
    ["http://localhost:8080/#x", "url"],
    ["http://", "url"],
  ])("%s is refused", async (url, field) => {
    await expect(connect(url)).rejects.toMatchObject({ code: "invalid_input", field });
  });

  test.each([[{ strictTypes: true }], [{ poolSize: 5 }], [{ upkeep: true }]])("of a server takes no %j", async (options) => {
    await expect(connect("http://localhost:1", options)).rejects.toMatchObject({ code: "invalid_input", field: Object.keys(options)[0] });
  });

  test("may end with a slash, and hold a path", async () => {
    const { server } = await openApi();
    const url = await listenOn((incoming, outgoing) => {
      incoming.url = incoming.url?.replace(/^\/mounted/, "") ?? "/";
      server.listener(incoming, outgoing);
    });
    expect(await (await openRemote(`${url}/mounted/`)).queues()).toEqual([]);
  });

  test("that is none of ours is said to be", async () => {
    const url = await listenOn((_, response) => response.writeHead(404, { "content-type": "text/html" }).end("<h1>nginx</h1>"));
    await expect((await openRemote(url)).queues()).rejects.toMatchObject({
      code: "unsupported_store",
      message: expect.stringContaining("check the URL") as string,
    });
  });

  test("behind a proxy that has lost its server is tried again", async () => {
    let calls = 0;
    const url = await listenOn((_, response) => {
      if (++calls < 3) return void response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>");
      response.writeHead(200, { "content-type": "application/json" }).end('{"queues":[]}');
    });
    expect(await (await openRemote(url)).queues()).toEqual([]);
  });
});

describe("ids that are made here", () => {
  test("are as the library makes them: rising, with the bits of their queue", () => {
    let now = Date.UTC(2030, 0, 1);
    const make = idMaker(() => now);
    const ids = Array.from({ length: 10_000 }, (_, index) => {
      if (index % 6000 === 5999) now -= 5000;
      return make(index % 1024);
    });
    expect(ids.every(isId)).toBe(true);
    expect(ids.map(tenBitsOf)).toEqual(ids.map((_, index) => index % 1024));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(10_000);
  });
});

/** Answers as a server did before leases told of snoozes and dead letters. */
async function answerAsOlder(url: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { "content-type": type = "application/json", accept = "*/*" } = request.headers;
  const body = request.method === "GET" ? null : await text(request);
  const answer = await fetch(url + request.url!, { method: request.method!, headers: { "content-type": type, accept }, body });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
  if (!request.url!.startsWith("/api/v1/leases")) return pipeline(answer.body ?? [], response);
  response.end((await answer.text()).replaceAll(/,"snoozes":\d+,"dead_letters":(true|false)/g, ""));
}

test("a worker on an older server, which tells neither of snoozes nor of dead letters, hears of ends as they are by default", async () => {
  const { url, client } = await openApi();
  // A request that is under way when the test ends is cut off.
  const older = await listenOn((request, response) => void answerAsOlder(url, request, response).catch(() => response.destroy()));
  const remote = await openRemote(older, { onTrouble: () => {} });
  const told: unknown[] = [];
  remote.on("dead", ({ status, id }) => void told.push([status, id]));
  remote.work({ t: () => Promise.reject(new Error("broken")) });
  const { id } = await client.enqueue("t", null, { maxRetries: 0 });
  expect(await client.wait(id)).toMatchObject({ status: "dead" });
  await expect.poll(() => told).toEqual([["dead", id]]);
});
