import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/http/server.ts";
import type { Client } from "../../../src/client/client.ts";
import { openApi } from "./open-api.ts";

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** A server whose client was changed for the test. */
async function serverOver(change: (client: Client) => Partial<Client>, options: ServerOptions = {}): Promise<Send> {
  const { client } = await openApi();
  const server = createServer({ ...client, ...change(client) }, { open: true, ...options });
  return async (path, init) => server.fetch(new Request(`http://h${path}`, init));
}

/** A server that tells when so many of its calls wait: for the end of a job, or for work. */
async function serverWithWaiters(
  options: ServerOptions = {},
): Promise<{ client: Client; server: Server; send: Send; waiters: (count: number) => Promise<void> }> {
  const { client } = await openApi();
  let count = 0;
  let told: () => unknown = () => {};
  const counted = <Args extends unknown[], Answer>(call: (...args: Args) => Answer): ((...args: Args) => Answer) => {
    return (...args) => {
      count++;
      told();
      return call(...args);
    };
  };
  const observed = {
    ...client,
    wait: counted((id: string, waitOptions?: Parameters<Client["wait"]>[1]) => client.wait(id, waitOptions)) as never,
    leases: { ...client.leases, watch: counted((listener: Parameters<Client["leases"]["watch"]>[0]) => client.leases.watch(listener)) },
  };
  const server = createServer(observed, { open: true, ...options });
  const waiters = async (wanted: number): Promise<void> => {
    const enough = Promise.withResolvers<void>();
    told = () => count >= wanted && enough.resolve();
    told();
    await enough.promise;
  };
  return { client, server, waiters, send: async (path, init) => server.fetch(new Request(`http://h${path}`, init)) };
}

function post(json: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(json) };
}

describe("a server that drains", () => {
  test("is not ready, answers who waits, ends streams, refuses the rest, and lets work under way be reported", async () => {
    const { client, server, send, waiters } = await serverWithWaiters();
    await client.enqueue("t");
    const { jobs } = (await (await send("/api/v1/leases", post({ worker_id: "w" }))).json()) as { jobs: { id: string; fence: number }[] };
    const { id } = await client.enqueue("later", null, { delay: "1h" });
    const streams = [await send("/api/v1/events"), await send("/api/v1/leases/watch")];
    const waiting = [send(`/api/v1/jobs/${id}?wait=30s`), send("/api/v1/leases", post({ worker_id: "w", types: ["none"], wait: "30s" }))];
    await waiters(3);
    await server.drain();
    const [job, leases] = await Promise.all(waiting.map(async (answer) => (await answer).json()));
    expect(job).toMatchObject({ status: "scheduled" });
    expect(leases).toEqual({ jobs: [], results: [], again_in_ms: null });
    for (const stream of streams) await stream.text();

    expect((await send("/health/ready")).status).toBe(503);
    expect(await (await send("/health")).json()).toEqual({ status: "unavailable" });
    expect((await send("/health/live")).status).toBe(200);
    for (const [path, body] of [
      ["/api/v1/jobs", { type: "t" }],
      ["/api/v1/leases", { worker_id: "w" }],
    ] as const) {
      const refused = await send(path, post(body));
      expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toMatchObject([503, "1", { code: "closed" }]);
    }
    const lease = { id: jobs[0]!.id, fence: jobs[0]!.fence };
    for (const [path, body] of [
      ["/api/v1/leases/extend", { leases: [lease] }],
      ["/api/v1/leases/note", { notes: [{ ...lease, lines: ["bye"] }] }],
      ["/api/v1/leases/settle", { outcomes: [{ ...lease, outcome: "completed" }] }],
    ] as const) {
      expect(await (await send(path, post(body))).json()).toMatchObject({ results: [{ ok: true }] });
    }
    await server.drain();
  });
});

describe("backpressure", () => {
  test("a server that has too much to do says so at once, and is healthy all the same (W23)", async () => {
    const held = Promise.withResolvers<never[]>();
    const send = await serverOver(() => ({ queues: () => held.promise }), { limits: { requests: 3 } });
    const busy = [send("/api/v1/queues"), send("/api/v1/queues"), send("/api/v1/queues")];
    const refused = await send("/api/v1/queues");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await refused.json()).toMatchObject({ code: "overloaded" });
    expect((await send("/health")).status).toBe(200);
    held.resolve([]);
    expect((await Promise.all(busy)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await send("/api/v1/queues")).status).toBe(200);
  });

  test("long polls have a bound of their own, and take no room from others", async () => {
    const { client, send, waiters } = await serverWithWaiters({ limits: { requests: 2, waiting: 2 } });
    const { id } = await client.enqueue("t", null, { delay: "1h" });
    const waiting = [send(`/api/v1/jobs/${id}?wait=30s`), send(`/api/v1/jobs/${id}?wait=30s`)];
    await waiters(2);
    expect((await send(`/api/v1/jobs/${id}?wait=30s`)).status).toBe(503);
    expect((await send("/api/v1/queues")).status).toBe(200);
    await client.cancel(id);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await send(`/api/v1/jobs/${id}?wait=30s`)).status).toBe(200);
  });

  test("bodies have a bound together, and give it back", async () => {
    const { send, client } = await openApi({ limits: { bytes: 1000 } });
    const init = (size: number): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "t", payload: "x".repeat(size) }),
    });
    expect((await send("/api/v1/jobs", init(2000))).status).toBe(503);
    for (let index = 0; index < 5; index++) expect((await send("/api/v1/jobs", init(900))).status).toBe(201);
    expect((await client.list()).jobs).toHaveLength(5);
  });

  test.each([
    ["store_unavailable", 503],
    ["store_full", 503],
    ["unsupported_store", 503],
  ] as const)("a store that is away (%s) is %i with Retry-After, and what it said stays here (W22)", async (code, status) => {
    const told: unknown[] = [];
    const failing = (): Promise<never> => Promise.reject(new MillraceError(code, "connect ECONNREFUSED 10.1.2.3:5432 as admin"));
    const send = await serverOver(() => ({ queues: failing }), { onRequest: ({ error }) => told.push(error) });
    const response = await send("/api/v1/queues");
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(text).not.toMatch(/10\.1\.2\.3|ECONNREFUSED|admin/);
    expect(told[0]).toMatchObject({ code });
    expect(response.headers.has("retry-after")).toBe(code !== "unsupported_store");
  });
});

describe("readiness", () => {
  test("fails when claims do, and comes back with them", async () => {
    let isAway = true;
    const { client } = await openApi();
    const { leases } = client;
    const exchange: typeof leases.exchange = (reports, claim) =>
      isAway ? Promise.reject(new Error("away")) : leases.exchange(reports, claim);
    const server = createServer({ ...client, leases: { ...leases, exchange } }, { open: true });
    const ready = async (): Promise<number> => (await server.fetch(new Request("http://h/health/ready"))).status;
    expect(await ready()).toBe(503);
    isAway = false;
    expect(await ready()).toBe(200);
    expect(await client.queues()).toEqual([]);
  });

  test("fails when the process says that it cannot work", async () => {
    const send = await serverOver(() => ({}), { isHealthy: () => false });
    expect((await send("/health/ready")).status).toBe(503);
    expect((await send("/health/live")).status).toBe(200);
  });

  test("does not keep who asks, and does not pile up, while the store hangs", async () => {
    let probes = 0;
    const { client } = await openApi();
    const exchange = (): Promise<never> => (probes++, new Promise(() => {}));
    const server = createServer({ ...client, leases: { ...client.leases, exchange } }, { open: true });
    const asked = Array.from({ length: 20 }, () => server.fetch(new Request("http://h/health")));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 503));
    expect(probes).toBe(1);
  });
});
