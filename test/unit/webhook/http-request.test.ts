import { describe, expect, onTestFinished, test } from "vitest";
import type { Job } from "../../../src/core/job.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { readHttpRequest } from "../../../src/webhook/http-request-payload.ts";
import { HTTP_REQUEST_TYPE } from "../../../src/core/internal.ts";
import { webhookHandlers } from "../../../src/webhook/webhook-handlers.ts";
import { bodyOf, serve, serveRaw, writeForEver } from "./loopback-server.ts";

const NOW = Date.UTC(2030, 0, 1);

/** Runs one attempt of a request as a job and answers how it stands then. */
async function run(
  payload: unknown,
  { allow = ["127.0.0.1"], type = HTTP_REQUEST_TYPE }: { allow?: string[]; type?: string } = {},
): Promise<Job> {
  // The one who enqueues may allow more than the one who sends.
  const client = await createTestClient({ webhookAllow: ["127.0.0.0/8", "::1"] });
  onTestFinished(() => client.close());
  const handlers = webhookHandlers({
    client,
    allow,
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    now: () => client.clock.now(),
  });
  const { id } = await client.enqueue(type, payload);
  await client.drain({ [type]: handlers[HTTP_REQUEST_TYPE] });
  return (await client.get(id))!;
}

describe("a request as a job", () => {
  test("is sent as it was asked for, and its answer is the result", async () => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      void bodyOf(request).then((body) => {
        const { "content-type": type, authorization, "x-a": a, "user-agent": agent, "content-length": length } = request.headers;
        seen.push({ method: request.method, url: request.url, type, authorization, a, agent, length, body });
        response
          .writeHead(201, { "content-type": "text/plain", "x-request-id": "r1", "set-cookie": "secret=1", "x-other": "no" })
          .end("fine ü");
      });
    });
    const job = await run({
      method: "put",
      url: `http://api.test:${server.port}/things?a=b`,
      headers: { Authorization: "Bearer t", "X-A": "1" },
      body: { hello: "wörld" },
    });
    expect(seen).toEqual([
      {
        method: "PUT",
        url: "/things?a=b",
        type: "application/json",
        authorization: "Bearer t",
        a: "1",
        agent: "millrace",
        length: "18",
        body: '{"hello":"wörld"}',
      },
    ]);
    expect(job).toMatchObject({
      status: "completed",
      result: { status: 201, body: "fine ü", body_encoding: "utf8", truncated: false, duration_ms: expect.any(Number) as number },
    });
    expect((job.result as { headers: object }).headers).toMatchObject({ "content-type": "text/plain", "x-request-id": "r1" });
    expect((job.result as { headers: object }).headers).not.toHaveProperty("set-cookie");
    expect((job.result as { headers: object }).headers).not.toHaveProperty("x-other");
  });

  test.each([
    [{}, "GET", undefined, ""],
    [{ body: "plain" }, "POST", "text/plain; charset=utf-8", "plain"],
    [{ body: "<a/>", headers: { "content-type": "text/xml" } }, "POST", "text/xml", "<a/>"],
    [{ body: [1, 2] }, "POST", "application/json", "[1,2]"],
    [{ body: false }, "POST", "application/json", "false"],
    [{ method: "DELETE", body: null }, "DELETE", undefined, ""],
  ])("%j fills in what it does not say", async (payload, method, type, body) => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      void bodyOf(request).then((text) => {
        seen.push([request.method, request.headers["content-type"], text]);
        response.end();
      });
    });
    expect((await run({ url: `http://api.test:${server.port}/`, ...payload })).status).toBe("completed");
    expect(seen).toEqual([[method, type, body]]);
  });

  test("keeps what is no text as base64", async () => {
    const server = await serve((_, response) => response.end(Buffer.from([0xff, 0x00, 0x80])));
    expect((await run({ url: `http://api.test:${server.port}/` })).result).toMatchObject({ body: "/wCA", body_encoding: "base64" });
  });

  test("keeps the beginning of a long answer, cut between two characters", async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      writeForEver(response, "a" + "ü".repeat(1000));
    });
    const { status, result } = await run({ url: `http://api.test:${server.port}/` });
    const { body, body_encoding: encoding, truncated } = result as { body: string; body_encoding: string; truncated: boolean };
    expect([status, encoding, truncated]).toEqual(["completed", "utf8", true]);
    expect(body).toMatch(/^(aü{1000})+a?ü*$/);
    expect(Buffer.byteLength(body)).toBeGreaterThan(65_000);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(65_536);
  });
});

describe("what follows from the answer", () => {
  test.each([
    [200, "completed"],
    [204, "completed"],
    [302, "retrying"],
    [400, "dead"],
    [401, "dead"],
    [404, "dead"],
    [410, "dead"],
    [422, "dead"],
    [429, "retrying"],
    [500, "retrying"],
    [502, "retrying"],
    [503, "retrying"],
  ])("%i: %s", async (status, expected) => {
    const inner = await serve((_, response) => response.end());
    const server = await serve((_, response) => response.writeHead(status, { location: `http://127.0.0.1:${inner.port}/` }).end());
    const job = await run({ url: `http://api.test:${server.port}/` });
    expect(job.status).toBe(expected);
    if (expected !== "completed") expect(job.error?.message).toContain(`api.test:${server.port} answered ${status}`);
    expect(inner.connections()).toBe(0);
  });

  test.each([
    [429, "7", 7000],
    [503, "Tue, 01 Jan 2030 00:02:00 GMT", 120_000],
    [503, "never", 1000],
    [500, "60", 1000],
  ])("%i with Retry-After %s: again after %i ms", async (status, retryAfter, delayMs) => {
    const server = await serve((_, response) => response.writeHead(status, { "retry-after": retryAfter }).end());
    const { status: now, scheduledAt } = await run({ url: `http://api.test:${server.port}/` });
    expect([now, scheduledAt]).toEqual(["retrying", NOW + delayMs]);
  });

  test("an answer that breaks off is no answer", async () => {
    const server = await serveRaw((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok"));
    expect(await run({ url: `http://api.test:${server.port}/` })).toMatchObject({
      status: "retrying",
      error: { message: expect.stringContaining("did not arrive") as string },
    });
  });

  test("no answer is tried again", async () => {
    const server = await serveRaw((socket) => socket.destroy());
    expect(await run({ url: `http://api.test:${server.port}/` })).toMatchObject({ status: "retrying", error: { name: "Unreachable" } });
  });

  test("a closed address is dead at once, and nothing is sent", async () => {
    const server = await serve((_, response) => response.end());
    for (const host of ["inside.test", "127.0.0.1", "localhost"]) {
      const job = await run({ url: `http://${host}:${server.port}/` }, { allow: [] });
      expect(job).toMatchObject({ status: "dead", attempt: 1, error: { name: "Blocked" } });
    }
    expect(server.connections()).toBe(0);
  });
});

describe("a payload", () => {
  const URL_ = "http://api.test/";
  const OURS = ["Host", "content-length", "Transfer-Encoding", "connection", "te", "trailer", "upgrade", "expect", "keep-alive"];
  const ABOUT_US = ["Proxy-Authorization", "X-Forwarded-For", "forwarded", "x-real-ip", "via"];

  test.each<[payload: unknown, field: string]>([
    [null, "payload"],
    ["http://api.test/", "payload"],
    [{}, "payload.url"],
    [{ url: "api.test" }, "payload.url"],
    [{ url: "ftp://api.test/" }, "payload.url"],
    [{ url: 7 }, "payload.url"],
    [{ url: URL_, verb: "GET" }, "payload.verb"],
    [{ url: URL_, method: "CONNECT" }, "payload.method"],
    [{ url: URL_, method: "TRACE" }, "payload.method"],
    [{ url: URL_, method: "GET /x HTTP/1.1\r\nA:" }, "payload.method"],
    [{ url: URL_, method: 1 }, "payload.method"],
    [{ url: URL_, method: "GET", body: "x" }, "payload.body"],
    [{ url: URL_, headers: [] }, "payload.headers"],
    [{ url: URL_, headers: "a: b" }, "payload.headers"],
    [{ url: URL_, headers: { a: 1 } }, "payload.headers.a"],
    [{ url: URL_, headers: { a: "b\r\nc: d" } }, "payload.headers"],
    [{ url: URL_, headers: { a: "b\nc" } }, "payload.headers"],
    [{ url: URL_, headers: { a: "\u0000" } }, "payload.headers"],
    [{ url: URL_, headers: { a: "\u0100" } }, "payload.headers"],
    [{ url: URL_, headers: { "a b": "c" } }, "payload.headers"],
    [{ url: URL_, headers: { "a\r\nb": "c" } }, "payload.headers"],
    [{ url: URL_, headers: { "": "c" } }, "payload.headers"],
    [{ url: URL_, headers: { a: "1", A: "2" } }, "payload.headers.A"],
    [{ url: URL_, headers: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`a${index}`, "b"])) }, "payload.headers"],
    [{ url: URL_, headers: { a: "b".repeat(17_000) } }, "payload.headers"],
    ...[...OURS, ...ABOUT_US].map((name): [unknown, string] => [{ url: URL_, headers: { [name]: "x" } }, `payload.headers.${name}`]),
  ])("%j is refused", (payload, field) => {
    const refused = (() => {
      try {
        return readHttpRequest(payload);
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toBeInstanceOf(MillraceError);
    expect(refused).toMatchObject({ code: "invalid_input", field });
  });

  test("W15: that is wrong is refused when the job is enqueued, one by one of many, and in a schedule", async () => {
    const client = await createTestClient();
    onTestFinished(() => client.close());
    const bad = { url: URL_, headers: { "X-A": "b\r\nc: d" } };
    const refusal = { code: "invalid_input", field: "payload.headers" };
    await expect(client.enqueue(HTTP_REQUEST_TYPE, bad)).rejects.toMatchObject(refusal);
    await expect(client.enqueue(HTTP_REQUEST_TYPE)).rejects.toMatchObject({ field: "payload" });
    const upsert = client.schedules.upsert({ name: "s", every: "1h", type: HTTP_REQUEST_TYPE, payload: bad });
    await expect(upsert).rejects.toMatchObject(refusal);
    const results = await client.enqueueMany([
      { type: HTTP_REQUEST_TYPE, payload: { url: URL_ } },
      { type: HTTP_REQUEST_TYPE, payload: bad },
      { type: "of:mine", payload: bad },
    ]);
    expect(results).toMatchObject([{ ok: true }, { ok: false, error: refusal }, { ok: true }]);
    expect((await client.list()).jobs).toHaveLength(2);
    expect(await client.schedules.list()).toEqual([]);
  });

  test("that came in all the same makes the job dead at once, with the words of the refusal", async () => {
    expect(await run({ url: URL_, headers: { Host: "evil" } }, { type: "unchecked" })).toMatchObject({
      status: "dead",
      attempt: 1,
      error: { name: "Discard", message: "payload.headers.Host cannot be set: it belongs to the connection" },
    });
  });

  test("with a header named like a property of every object is only a header", () => {
    const { headers } = readHttpRequest(JSON.parse('{"url":"http://api.test/","headers":{"__proto__":"x","constructor":"y"}}'));
    expect(Object.entries(headers)).toContainEqual(["constructor", "y"]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
