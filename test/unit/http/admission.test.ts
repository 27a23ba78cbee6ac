import { describe, expect, test } from "vitest";
import { Keys, secretOf } from "../../../src/http/auth.ts";
import { type RouteName, ROUTES, splitName } from "../../../src/http/contract.ts";
import type { Route } from "../../../src/http/contract/route.ts";
import { isLoopback } from "../../../src/http/admission.ts";
import { networkOf } from "../../../src/http/network.ts";
import { createServer, type RequestFacts } from "../../../src/http/server.ts";
import { MISSING_ID, openApi, WAYS } from "./open-api.ts";

const NAMES = Object.keys(ROUTES) as RouteName[];
const KEY = "0123456789abcdef0123456789abcdef";

function pathOf(name: RouteName): string {
  return splitName(name)
    .path.replace("{id}", MISSING_ID)
    .replace(/\{\w+\}/, "name");
}

describe.each(WAYS)("by %s: a server with keys", (way) => {
  test("W02: answers 401 to every route without a key, also to paths and methods that it does not have", async () => {
    const { send } = await openApi({ keys: [KEY] }, way);
    const tries = [
      ...NAMES.filter((name) => (ROUTES[name] as Route).scope !== "open").map((name) => [splitName(name).method, pathOf(name)]),
      ["GET", "/"],
      ["GET", "/nowhere"],
      ["PUT", "/api/v1/jobs"],
      ["OPTIONS", "/api/v1/jobs"],
      ["HEAD", "/api/v1/jobs"],
      ["GET", "/api/v1/jobs/"],
      ["GET", "/API/v1/jobs"],
      ["PROPFIND", "/api/v1/jobs"],
    ] as const;
    for (const [method, path] of tries) expect((await send(path, { method })).status, `${method} ${path}`).toBe(401);
  });

  test("/health is open, and tells nothing but ok", async () => {
    const { ask } = await openApi({ keys: [KEY] }, way);
    for (const name of ["GET /health", "GET /health/live", "GET /health/ready"] as const)
      expect((await ask(name)).body).toEqual({ status: "ok" });
  });

  test("takes the key in either header, and in no other place (W05)", async () => {
    const { ask, send } = await openApi({ keys: [KEY] }, way);
    const places: Record<string, string>[] = [
      { "X-API-Key": KEY },
      { Authorization: `Bearer ${KEY}` },
      { authorization: `bearer  ${KEY}` },
    ];
    for (const headers of places) {
      expect((await ask("GET /api/v1/queues", { headers })).status).toBe(200);
    }
    for (const query of [`api_key=${KEY}`, `key=${KEY}`, `access_token=${KEY}`])
      expect((await send(`/api/v1/queues?${query}`)).status).toBe(401);
    expect((await send("/api/v1/queues", { headers: { authorization: `Basic ${btoa(`x:${KEY}`)}` } })).status).toBe(401);
  });

  test("refuses a wrong key like none, with the same words for each", async () => {
    const { refuse } = await openApi({ keys: [KEY] }, way);
    for (const key of ["x", `${KEY}x`, KEY.slice(1), KEY.toUpperCase()]) {
      const problem = await refuse("GET /api/v1/queues", { headers: { "X-API-Key": key } }, "unauthorized");
      expect(problem).toMatchObject({
        status: 401,
        detail: "this server does not know the API key: compare API_KEY of the caller with that of the server",
      });
      expect(JSON.stringify(problem)).not.toContain(key === "x" ? "\u0000" : key);
    }
  });

  test("W04: a key may do what its scopes say, and nothing else", async () => {
    const keys = ["r:read:key-r", "e:enqueue:key-e", "w:work:key-w", "a:admin:key-a", "both:read+enqueue:key-b"];
    const { send } = await openApi({ keys }, way);
    for (const name of NAMES) {
      const { scope, alsoFor } = ROUTES[name] as Route;
      const isStream = Object.values((ROUTES[name] as Route).answers).some((answer) => answer.mediaType === "text/event-stream");
      if (scope === "open" || isStream) continue;
      for (const [key, scopes] of [
        ["key-r", "read"],
        ["key-e", "enqueue"],
        ["key-w", "work"],
        ["key-a", "admin"],
        ["key-b", "read enqueue"],
      ] as const) {
        const { status } = await send(pathOf(name), { method: splitName(name).method, headers: { "x-api-key": key } });
        expect(status === 403, `${name} with ${scopes}: ${status}`).toBe(
          !scopes.split(" ").some((one) => one === scope || one === alsoFor),
        );
      }
    }
  });

  test("403 names the scope that is needed", async () => {
    const { refuse } = await openApi({ keys: ["r:read:key-r"] }, way);
    const problem = await refuse("POST /api/v1/jobs", { json: { type: "t" }, headers: { "x-api-key": "key-r" } }, "forbidden");
    expect(problem.detail).toBe("this request needs a key with the scope enqueue");
  });

  test("W03: two keys are accepted while one replaces the other", async () => {
    const { ask } = await openApi({ keys: ["old-key", "new-key"] }, way);
    for (const key of ["old-key", "new-key"]) expect((await ask("GET /api/v1/queues", { headers: { "x-api-key": key } })).status).toBe(200);
  });

  test("W06: many wrong keys from one address are 429, and the right one is not kept out", async () => {
    const { send } = await openApi({ keys: [KEY] }, way);
    const statuses: number[] = [];
    for (let index = 0; index < 25; index++)
      statuses.push((await send("/api/v1/queues", { headers: { "x-api-key": `wrong-${index}` } })).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 401));
    expect(statuses.slice(-4)).toEqual([429, 429, 429, 429]);
    expect((await send("/api/v1/queues", { headers: { "x-api-key": KEY } })).status).toBe(200);
  });

  test("W25: who has a key is told 404 for a path that is not there, and 405 with Allow for a method", async () => {
    const { send } = await openApi({ keys: [KEY] }, way);
    const headers = { "x-api-key": KEY };
    for (const path of [
      "/",
      "/api/v1",
      "/api/v1/jobs/",
      "/API/v1/jobs",
      "/api/v1/jobs/x/y/z",
      "/api//v1/jobs",
      "/.env",
      "/api/v1/%2e%2e/jobs/x",
    ]) {
      const response = await send(path, { headers });
      expect([path, response.status, ((await response.json()) as { code: string }).code]).toEqual([path, 404, "unknown_route"]);
    }
    const wrong = await send("/api/v1/jobs", { method: "PUT", headers });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, GET"]);
    const byId = await send(`/api/v1/jobs/${MISSING_ID}/cancel`, { headers });
    expect([byId.status, byId.headers.get("allow")]).toEqual([405, "POST"]);
    const override = await send("/api/v1/jobs", {
      method: "POST",
      headers: { ...headers, "x-http-method-override": "DELETE" },
      body: "{}",
    });
    expect(override.status).toBe(415);
    expect((await send("/api/v1/queues", { method: "HEAD", headers })).status).toBe(200);
  });
});

describe.each(WAYS)("by %s: a server without keys", (way) => {
  test("W27: answers only to names of this machine, so that no page can have its own name point here", async () => {
    const { send } = await openApi({}, way);
    // fetch() sets Host by itself over a port, so another name can only be tried through the handler.
    if (way === "port") {
      expect((await send("/api/v1/queues")).status).toBe(200);
      return;
    }
    for (const [host, status] of [
      ["localhost", 200],
      ["localhost:8080", 200],
      ["127.0.0.1:8080", 200],
      ["[::1]:8080", 200],
      ["evil.test", 421],
      ["localhost.evil.test", 421],
      ["127.0.0.1.evil.test", 421],
      ["", 421],
    ] as const) {
      expect([host, (await send("/api/v1/queues", { headers: { host } })).status]).toEqual([host, status]);
    }
  });
});

describe("without keys", () => {
  test("W01: only this machine is answered", async () => {
    const { server } = await openApi({}, "fetch");
    const ask = async (remoteAddress: string | undefined): Promise<number> => {
      const request = new Request("http://localhost/api/v1/queues", { headers: { host: "localhost" } });
      return (await server.fetch(request, { incoming: { socket: { remoteAddress } } })).status;
    };
    expect(await Promise.all(["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.9.9.9"].map(ask))).toEqual([200, 200, 200, 200]);
    expect(await Promise.all(["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", undefined].map(ask))).toEqual([401, 401, 401, 401]);
  });

  test("callers elsewhere are told what to do, by whatever name they call, and so are those behind a proxy on this machine", async () => {
    const { server } = await openApi({}, "fetch");
    const ask = async (remoteAddress: string, headers: Record<string, string>): Promise<[status: number, detail: string]> => {
      const response = await server.fetch(new Request("http://any/api/v1/queues", { headers }), {
        incoming: { socket: { remoteAddress } },
      });
      return [response.status, ((await response.json()) as { detail: string }).detail];
    };
    const todo = expect.stringContaining("set API_KEY, or give createServer `auth` or `keys`") as string;
    expect(await ask("10.0.0.1", { host: "localhost" })).toEqual([401, todo]);
    expect(await ask("10.0.0.1", { host: "shop.example.com" })).toEqual([421, todo]);
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip"])
      expect(await ask("127.0.0.1", { host: "localhost", [name]: "10.0.0.1" })).toEqual([401, todo]);
  });

  test("an application around it may decide by itself", async () => {
    const { server } = await openApi({ open: true }, "fetch");
    expect((await server.fetch(new Request("http://app.example.com/api/v1/queues"))).status).toBe(200);
  });

  test.each([
    ["127.0.0.1", true],
    ["localhost", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.1.1", false],
    ["127.0.0.1.evil.test", false],
  ])("%s is this machine: %s", (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

describe("pages elsewhere", () => {
  const headers = { host: "jobs.example.com", "content-type": "application/json" };

  test("W08: cannot change anything by a call that names no host", async () => {
    const { server } = await openApi({ open: true }, "fetch");
    for (const origin of ["null", "https://evil.test"]) {
      const request = new Request("http://localhost/api/v1/dead", { method: "DELETE", headers: { origin } });
      expect((await server.fetch(request)).status).toBe(403);
    }
  });

  test("W08: cannot change anything", async () => {
    const { send } = await openApi({ open: true }, "fetch");
    for (const origin of ["https://evil.test", "null", "https://jobs.example.com.evil.test", "nonsense"]) {
      for (const [method, path] of [
        ["POST", "/api/v1/jobs"],
        ["DELETE", "/api/v1/dead"],
        ["PATCH", "/api/v1/queues/q"],
        ["PUT", "/api/v1/schedules/s"],
      ]) {
        const response = await send(path!, { method: method!, headers: { ...headers, origin }, body: "{}" });
        expect([origin, response.status, ((await response.json()) as { code: string }).code]).toEqual([origin, 403, "foreign_origin"]);
      }
    }
    const own = await send("/api/v1/jobs", {
      method: "POST",
      headers: { ...headers, origin: "https://jobs.example.com" },
      body: '{"type":"t"}',
    });
    expect(own.status).toBe(201);
  });

  test("W08: GET changes nothing, so actions have no GET", async () => {
    const { send } = await openApi({ open: true }, "fetch");
    for (const name of NAMES.filter((route) => !route.startsWith("GET"))) {
      // /jobs/batch is, for GET, a job of the name batch: no id, and refused as one.
      const isAnotherRoute = (ROUTES as Record<string, unknown>)[`GET ${splitName(name).path}`] !== undefined;
      const { status } = await send(pathOf(name));
      expect([name, isAnotherRoute || status === 405 || status === 422 || status === 404]).toEqual([name, true]);
    }
  });

  test("W09: are not allowed to read answers, nor told that they might be", async () => {
    const { send } = await openApi({ open: true }, "fetch");
    const preflight = await send("/api/v1/jobs", {
      method: "OPTIONS",
      headers: { host: "jobs.example.com", origin: "https://evil.test", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(405);
    const got = await send("/api/v1/queues", { headers: { host: "jobs.example.com", origin: "https://evil.test" } });
    for (const response of [preflight, got])
      expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("of an origin that was allowed may, and never with credentials", async () => {
    const { send } = await openApi({ keys: [KEY], origins: ["https://admin.example.com"] }, "fetch");
    const origin = "https://admin.example.com";
    const preflight = await send("/api/v1/jobs", {
      method: "OPTIONS",
      headers: { host: "jobs.example.com", origin, "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    expect(preflight.headers.get("access-control-allow-methods")).toBe("POST, GET");
    expect(preflight.headers.get("access-control-allow-headers")).toContain("X-API-Key");
    const made = await send("/api/v1/jobs", { method: "POST", headers: { ...headers, origin, "x-api-key": KEY }, body: '{"type":"t"}' });
    expect([made.status, made.headers.get("access-control-allow-origin"), made.headers.get("access-control-allow-credentials")]).toEqual([
      201,
      origin,
      null,
    ]);
    const other = await send("/api/v1/queues", { headers: { host: "jobs.example.com", origin: "https://evil.test", "x-api-key": KEY } });
    expect(other.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("hosts that are named", () => {
  test("are the only ones, with or without keys", async () => {
    const { send } = await openApi({ keys: [KEY], hosts: ["jobs.example.com", "localhost:8080"] }, "fetch");
    const ask = async (host: string): Promise<number> => (await send("/api/v1/queues", { headers: { host, "x-api-key": KEY } })).status;
    expect(await Promise.all(["jobs.example.com", "JOBS.example.com:443", "localhost:8080"].map(ask))).toEqual([200, 200, 200]);
    expect(await Promise.all(["localhost", "evil.test"].map(ask))).toEqual([421, 421]);
  });
});

describe("the rate", () => {
  test("is limited by key, and says when to come again", async () => {
    const { send } = await openApi({ keys: ["one", "two"], rateLimit: { requests: 3, perMs: 3_600_000 } });
    const ask = (key: string): Promise<Response> => send("/api/v1/queues", { headers: { "x-api-key": key } });
    const statuses = [];
    for (let index = 0; index < 4; index++) statuses.push((await ask("one")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await ask("one");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(1000);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after_ms: expect.any(Number) as number });
    expect((await ask("two")).status).toBe(200);
    expect((await send("/health")).status).toBe(200);
  });

  test("W07: without a key goes by the socket's address, whatever X-Forwarded-For says", async () => {
    const { send } = await openApi({ open: true, rateLimit: { requests: 2, perMs: 3_600_000 } });
    const statuses = [];
    for (let index = 0; index < 4; index++)
      statuses.push((await send("/api/v1/queues", { headers: { "x-forwarded-for": `10.0.0.${index}` } })).status);
    expect(statuses).toEqual([200, 200, 429, 429]);
  });

  test("goes by what as many proxies say as there are, counted from the end", async () => {
    const { send } = await openApi({ open: true, trustedProxies: 1, rateLimit: { requests: 1, perMs: 3_600_000 } }, "fetch");
    const ask = async (forwarded: string): Promise<number> =>
      (await send("/api/v1/queues", { headers: { host: "h", "x-forwarded-for": forwarded } })).status;
    expect([await ask("1.1.1.1"), await ask("2.2.2.2"), await ask("9.9.9.9, 1.1.1.1")]).toEqual([200, 200, 429]);
  });

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:0DB8:0001:0002:ffff::", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    [null, ""],
  ])("W06, W07: of %s goes by its network %s, all of which may belong to one caller", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test("can be counted elsewhere, for several servers together", async () => {
    const asked: string[] = [];
    const limiter = { take: async (who: string) => (asked.push(who), asked.length > 1 ? 5000 : 0) };
    const { send } = await openApi({ keys: ["one"], limiter });
    const headers = { "x-api-key": "one" };
    expect([(await send("/api/v1/queues", { headers })).status, (await send("/api/v1/queues", { headers })).status]).toEqual([200, 429]);
    expect(asked[0]).toMatch(/^key:/);
    expect(asked[0]).not.toContain("one");
  });
});

describe("keys", () => {
  test.each([
    ["a:b:c"],
    ["name:read"],
    [":read:hush-1"],
    ["name::hush-2"],
    ["name:read+fly:hush-3"],
    ["name:read:"],
    [""],
    ["white space"],
    ["ümlaut"],
  ])("%j is none, and is not repeated in the refusal", (key) => {
    expect(() => new Keys(["good", key])).toThrow(expect.objectContaining({ code: "invalid_input", field: "keys[1]" }) as Error);
    expect(() => new Keys([key])).not.toThrow(/hush/);
  });

  test("must differ", () => {
    expect(() => new Keys(["same", "n:read:same"])).toThrow(/differ/);
  });

  test("keep a colon in their secret", () => {
    expect(new Keys(["n:read:a:b"]).find("a:b")).toMatchObject({ name: "n" });
  });

  test("are not kept as they are", () => {
    expect(JSON.stringify(new Keys([KEY]), (_, value: unknown) => value)).not.toContain(KEY);
  });

  test("are looked for in both headers, the first of which counts", () => {
    const headers: Record<string, string> = { "x-api-key": "a", authorization: "Bearer b" };
    expect(secretOf((name) => headers[name] ?? null)).toBe("a");
    expect(secretOf((name) => (name === "authorization" ? "Bearer b" : null))).toBe("b");
    expect(secretOf(() => null)).toBeNull();
  });
});

describe("what is told of a request", () => {
  test("W20, W21: is one set of facts, without the key, and with an id that cannot be forged into more", async () => {
    const told: RequestFacts[] = [];
    const { send } = await openApi({ keys: [`ci:read:${KEY}`], onRequest: (facts) => told.push(facts) }, "fetch");
    const good = await send("/api/v1/queues", { headers: { host: "h", "x-api-key": KEY, "x-request-id": "trace-1.a_b" } });
    expect(good.headers.get("x-request-id")).toBe("trace-1.a_b");
    for (const id of ["a b", "x".repeat(129), "<script>", "\u00fc"]) {
      expect(
        (await send("/api/v1/queues", { headers: { host: "h", "x-api-key": KEY, "x-request-id": id } })).headers.get("x-request-id"),
      ).toMatch(/^[\w-]+$/);
    }
    expect(told[0]).toMatchObject({
      requestId: "trace-1.a_b",
      method: "GET",
      route: "/api/v1/queues",
      status: 200,
      caller: "ci",
      address: "127.0.0.1",
    });
    expect(JSON.stringify(told)).not.toContain(KEY);
    expect(told).toHaveLength(5);
  });

  test("is told of those too that no route takes: by a caller with a key, without one, and of a page that asks first", async () => {
    const told: RequestFacts[] = [];
    const { send } = await openApi(
      { keys: [`ci:read:${KEY}`], origins: ["https://ok.test"], onRequest: (facts) => told.push(facts) },
      "port",
    );
    await send("/nowhere", { headers: { "x-api-key": KEY } });
    await send("/api/v1/queues", { method: "PUT", headers: { "x-api-key": KEY } });
    await send("/nowhere");
    await send("/api/v1/queues", { method: "OPTIONS", headers: { origin: "https://ok.test", "access-control-request-method": "GET" } });
    expect(told.map(({ method, route, status, caller }) => [method, route, status, caller])).toEqual([
      ["GET", null, 404, "ci"],
      ["PUT", null, 405, "ci"],
      ["GET", null, 401, null],
      ["OPTIONS", null, 204, null],
    ]);
  });

  test("W22: an error that nobody expected reaches the log, and the client learns nothing of it", async () => {
    const told: RequestFacts[] = [];
    const { client } = await openApi();
    const broken = { ...client, queues: () => Promise.reject(new Error("select * from secrets at /srv/app.js:1")) };
    const server = createServer(broken, { open: true, onRequest: (facts) => told.push(facts) });
    const response = await server.fetch(new Request("http://h/api/v1/queues"));
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ code: "internal", status: 500, request_id: response.headers.get("x-request-id") });
    expect(text).not.toMatch(/select|secrets|app\.js|stack|at \//);
    expect(told[0]?.error).toMatchObject({ message: "select * from secrets at /srv/app.js:1" });
  });
});
