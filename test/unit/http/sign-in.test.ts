/** Signing in to the dashboard: who may, what a session may do, and what a stranger can do with it. */
import { describe, expect, test } from "vitest";
import type { DashboardUser, ServerOptions } from "../../../src/http/server.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { temporaryFile } from "../store/sqlite/temporary-file.ts";
import { builtPage } from "./built-page.ts";
import { type Api, openApi } from "./open-api.ts";
import { EventReading } from "./read-events.ts";

const ANN: DashboardUser = { name: "ann", password: "correct horse", role: "operator" };
const VIC: DashboardUser = { name: "vic", password: "battery staple", role: "viewer" };
const KEY = "a-key-of-the-tests";
const OWN_PAGE = { "sec-fetch-site": "same-origin" };
const DAY_MS = 86_400_000;

function openWith(options: ServerOptions = {}): Promise<Api> {
  return openApi({ keys: [KEY], dashboard: { users: [ANN, VIC] }, ...options }, "fetch");
}

function login({ send }: Api, { name, password }: Pick<DashboardUser, "name" | "password">, headers: Record<string, string> = {}) {
  return send("/dashboard/login", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ username: name, password }),
  });
}

/** Signs in, and gives back the cookie as a browser would send it. */
async function cookieOf(api: Api, user: DashboardUser): Promise<string> {
  const response = await login(api, user);
  expect(response.status).toBe(204);
  return response.headers.get("set-cookie")!.split(";")[0]!;
}

async function sessionOf({ send }: Api, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await send("/dashboard/session", { headers });
  expect(response.status).toBe(200);
  return response.json();
}

function enqueue({ send }: Api, headers: Record<string, string>) {
  return send("/api/v1/jobs", { method: "POST", headers: { "content-type": "application/json", ...headers }, body: '{"type":"t"}' });
}

describe("a session", () => {
  test("begins with the right name and password, and is known by its cookie", async () => {
    const api = await openWith();
    expect(await sessionOf(api)).toEqual({ user: null, role: null, sign_in: "password" });
    const cookie = await cookieOf(api, ANN);
    expect(await sessionOf(api, { cookie })).toEqual({ user: "ann", role: "operator", sign_in: "password" });
    expect(await sessionOf(api, { cookie: `other=1; ${cookie}; more=2` })).toMatchObject({ user: "ann" });
    expect((await api.send("/api/v1/queues", { headers: { cookie } })).status).toBe(200);
  });

  test("has a cookie that no script can read and no other page can send", async () => {
    const api = await openWith({ basePath: "/admin/queue" });
    const response = await api.send("/admin/queue/dashboard/login", {
      method: "POST",
      headers: { "content-type": "application/json", origin: "https://jobs.example.com", host: "jobs.example.com" },
      body: JSON.stringify({ username: ANN.name, password: ANN.password }),
    });
    expect(response.headers.get("set-cookie")).toMatch(
      /^millrace_session=[\w.-]+; Path=\/admin\/queue; Max-Age=86400; HttpOnly; SameSite=Strict; Secure$/,
    );
    const plain = await login(await openWith(), ANN, { origin: "http://localhost" });
    expect(plain.headers.get("set-cookie")).toMatch(/; Path=\/; .*SameSite=Strict$/);
  });

  test("of a viewer looks and changes nothing, of an operator does all", async () => {
    const api = await openWith();
    const [viewer, operator] = [await cookieOf(api, VIC), await cookieOf(api, ANN)];
    expect(await sessionOf(api, { cookie: viewer })).toMatchObject({ user: "vic", role: "viewer" });
    expect((await api.send("/api/v1/jobs", { headers: { cookie: viewer } })).status).toBe(200);
    expect((await enqueue(api, { cookie: viewer, ...OWN_PAGE })).status).toBe(403);
    expect((await api.send("/api/v1/dead", { method: "DELETE", headers: { cookie: viewer, ...OWN_PAGE } })).status).toBe(403);
    expect((await enqueue(api, { cookie: operator, ...OWN_PAGE })).status).toBe(201);
  });

  test("ends by itself after a day", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 10, 15));
    const api = await openWith({ clock });
    const cookie = await cookieOf(api, ANN);
    await clock.advance(DAY_MS - 1);
    expect((await api.send("/api/v1/queues", { headers: { cookie } })).status).toBe(200);
    await clock.advance(1);
    expect((await api.send("/api/v1/queues", { headers: { cookie } })).status).toBe(401);
  });

  test("ends with a new password of its user, and with nobody else's", async () => {
    const before = await openWith();
    const [ann, vic] = [await cookieOf(before, ANN), await cookieOf(before, VIC)];
    const after = await openWith({ dashboard: { users: [{ ...ANN, password: "another one" }, VIC] } });
    expect((await after.send("/api/v1/queues", { headers: { cookie: ann } })).status).toBe(401);
    expect((await after.send("/api/v1/queues", { headers: { cookie: vic } })).status).toBe(200);
  });

  test("does not become that of an operator by a change of roles", async () => {
    const cookie = await cookieOf(await openWith(), VIC);
    const after = await openWith({ dashboard: { users: [{ ...VIC, role: "operator" }] } });
    expect(await sessionOf(after, { cookie })).toMatchObject({ role: null });
  });

  test("cannot be made up, lengthened or given to another", async () => {
    const api = await openWith();
    const token = (await cookieOf(api, VIC)).split("=")[1]!;
    const [name = "", until = "", nonce = "", signature = ""] = token.split(".");
    const forged = [
      "",
      "x",
      "...",
      `${name}.${until}.${nonce}.`,
      `${name}.${until}.${nonce}`,
      `${name}.${until}.${signature}`,
      `${name}.${Number(until) + 1}.${nonce}.${signature}`,
      `${name}.${until}.x${nonce}.${signature}`,
      `${Buffer.from("ann").toString("base64url")}.${until}.${nonce}.${signature}`,
      `${name}.${until}.${nonce}.${signature.slice(0, -2)}AA`,
      `${token}.x`,
      `${name}.9e99.${nonce}.${signature}`,
      "a".repeat(5000),
    ];
    for (const each of forged) {
      const { status } = await api.send("/api/v1/queues", { headers: { cookie: `millrace_session=${each}` } });
      expect([each, status]).toEqual([each, 401]);
    }
  });

  test("is over for the browser after signing out", async () => {
    const api = await openWith();
    const cookie = await cookieOf(api, ANN);
    const response = await api.send("/dashboard/logout", { method: "POST", headers: { cookie, ...OWN_PAGE } });
    expect(response.status).toBe(204);
    expect(response.headers.get("set-cookie")).toMatch(/^millrace_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/);
  });
});

describe("signing out", () => {
  const logout = ({ send }: Api, cookie: string) => send("/dashboard/logout", { method: "POST", headers: { cookie, ...OWN_PAGE } });
  const look = async ({ send }: Api, cookie: string): Promise<number> => (await send("/api/v1/queues", { headers: { cookie } })).status;

  /** Two server processes on one store. */
  async function openTwo(options: ServerOptions = {}): Promise<[Api, Api]> {
    const store = `sqlite:${temporaryFile()}`;
    const open = (more: ServerOptions): Promise<Api> => openApi({ keys: [KEY], dashboard: { users: [ANN, VIC] }, ...more }, "fetch", store);
    return [await open({}), await open(options)];
  }

  test("ends the session on every server of the store, and no other session", async () => {
    const [one, other] = await openTwo();
    const [cookie, another] = [await cookieOf(one, ANN), await cookieOf(one, ANN)];
    expect([await look(one, cookie), await look(other, cookie)]).toEqual([200, 200]);
    expect((await logout(one, cookie)).status).toBe(204);
    expect([await look(one, cookie), await look(other, cookie)]).toEqual([401, 401]);
    expect(await sessionOf(other, { cookie })).toMatchObject({ user: null, role: null });
    expect([await look(one, another), await look(other, another)]).toEqual([200, 200]);
  });

  test("is remembered by servers that start later", async () => {
    const store = `sqlite:${temporaryFile()}`;
    const options: ServerOptions = { keys: [KEY], dashboard: { users: [ANN] } };
    const one = await openApi(options, "fetch", store);
    const cookie = await cookieOf(one, ANN);
    await logout(one, cookie);
    await one.client.close();
    expect(await look(await openApi(options, "fetch", store), cookie)).toBe(401);
  });

  test("ends the streams of the session, here at once and elsewhere soon", async () => {
    const clock = new VirtualClock(Date.now());
    const [one, other] = await openTwo({ clock });
    const cookie = await cookieOf(one, ANN);
    const here = new EventReading(await one.send("/api/v1/events", { headers: { cookie } }));
    const elsewhere = new EventReading(await other.send("/api/v1/events", { headers: { cookie } }));
    const watching = new EventReading(await other.send("/api/v1/leases/watch", { headers: { cookie } }));
    await logout(one, cookie);
    expect(await here.until(() => false)).toEqual([]);
    const over = [elsewhere, watching].map((reading) => reading.until(() => false));
    await clock.advance(5_000);
    await Promise.all(over);
  });

  test("is not needed for the streams of a session to end with it", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 10, 15));
    const api = await openWith({ clock });
    const reading = new EventReading(await api.send("/api/v1/events", { headers: { cookie: await cookieOf(api, ANN) } }));
    const over = reading.until(() => false);
    await clock.advance(DAY_MS);
    expect(await over).toEqual([]);
  });

  test("says so where the store cannot be told, and takes the cookie away all the same", async () => {
    const faults: unknown[] = [];
    const api = await openWith({ onRequest: ({ error }) => error !== undefined && faults.push(error) });
    const cookie = await cookieOf(api, ANN);
    await api.client.close();
    const { body, headers } = await api.ask("POST /dashboard/logout", { headers: { cookie, ...OWN_PAGE } });
    expect(body).toMatchObject({
      status: 503,
      code: "store_unavailable",
      detail: expect.stringContaining("signed out here") as string,
    });
    expect(headers.get("set-cookie")).toMatch(/^millrace_session=; Path=\/; Max-Age=0;/);
    expect(faults).toMatchObject([{ cause: { code: "closed" } }]);
    expect(await look(api, cookie)).toBe(401);
  });
});

describe("W08: a page elsewhere", () => {
  test.for([
    ["says where it is", { origin: "https://evil.test" }],
    ["hides where it is", { origin: "null" }],
    ["is of the same site only", { "sec-fetch-site": "same-site" }],
    ["is of another site", { "sec-fetch-site": "cross-site" }],
    ["says nothing", {}],
  ] as const)("that %s changes nothing with a session", async ([, headers]) => {
    const api = await openWith();
    const cookie = await cookieOf(api, ANN);
    const response = await enqueue(api, { cookie, ...(headers as Record<string, string>) });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([403, "foreign_origin"]);
    expect((await api.client.list()).jobs).toEqual([]);
  });

  test("signs nobody in and out", async () => {
    const api = await openWith();
    expect((await login(api, ANN, { origin: "https://evil.test" })).status).toBe(403);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await api.send("/dashboard/login", { method: "POST", headers: form, body: "username=ann" })).status).toBe(415);
    expect((await api.send("/dashboard/logout", { method: "POST", headers: { origin: "https://evil.test" } })).status).toBe(403);
  });
});

describe("a wrong password", () => {
  test.for([
    { name: "ann", password: "battery staple" },
    { name: "vic", password: "correct horse" },
    { name: "Ann", password: "correct horse" },
    { name: "", password: "" },
    { name: "nobody", password: "x" },
  ])("is refused: $name, $password", async (user) => {
    const response = await login(await openWith(), user);
    expect(response.status).toBe(401);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await response.json()).toMatchObject({ code: "unauthorized", detail: "the user name or the password is wrong" });
  });

  test("W06: tried too often ends all tries from that address for a while, and from no other", async () => {
    const clock = new VirtualClock(Date.UTC(2026, 10, 15));
    const api = await openWith({ clock, trustedProxies: 1 });
    const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });
    for (let tries = 0; tries < 10; tries++) {
      expect((await login(api, { ...ANN, password: `${tries}` }, from("203.0.113.5"))).status).toBe(401);
    }
    const refused = await login(api, ANN, from("203.0.113.5"));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await login(api, ANN, from("203.0.113.6"))).status).toBe(204);
    await clock.advance(60_000);
    expect((await login(api, ANN, from("203.0.113.5"))).status).toBe(204);
  });

  test("W06: tried too often from one network of IPv6 is tried too often, whatever the address", async () => {
    const api = await openWith({ trustedProxies: 1 });
    const from = (host: number): Record<string, string> => ({ "x-forwarded-for": `2001:db8::${host}` });
    for (let tries = 1; tries <= 10; tries++) expect((await login(api, { ...ANN, password: "guessed" }, from(tries))).status).toBe(401);
    expect((await login(api, ANN, from(11))).status).toBe(429);
  });

  test.for([{ username: "ann" }, { username: 1, password: 2 }, { username: "ann", password: "x".repeat(2000) }, [], null])(
    "that is none is a wrong request: %j",
    async (body) => {
      const { send } = await openWith();
      const response = await send("/dashboard/login", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(422);
    },
  );
});

describe("HTTP Basic", () => {
  const basic = ({ name, password }: DashboardUser): string => `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;

  test("signs in on the dashboard", async () => {
    const api = await openWith({ dashboard: { users: [ANN, VIC], folder: builtPage() } });
    for (const address of ["/dashboard/session", "/dashboard/jobs"]) {
      const response = await api.send(address, { headers: { authorization: basic(VIC), accept: "*/*" } });
      const cookie = response.headers.get("set-cookie")!.split(";")[0]!;
      expect(await sessionOf(api, { cookie })).toMatchObject({ user: "vic", role: "viewer" });
    }
    expect(await sessionOf(api, { authorization: basic(ANN) })).toMatchObject({ user: "ann", role: "operator" });
  });

  test("that is wrong is asked for again, and counted", async () => {
    const api = await openWith();
    const wrong = { authorization: basic({ ...ANN, password: "x" }) };
    const response = await api.send("/dashboard/", { headers: wrong });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Basic realm="Millrace", charset="UTF-8"');
    for (let tries = 1; tries < 10; tries++) await api.send("/dashboard/session", { headers: wrong });
    expect((await api.send("/dashboard/", { headers: wrong })).status).toBe(429);
  });

  test("is no way into the API itself", async () => {
    const { send } = await openWith();
    expect((await send("/api/v1/queues", { headers: { authorization: basic(ANN) } })).status).toBe(401);
  });
});

describe("without users", () => {
  test("and without keys nobody has to sign in", async () => {
    const api = await openWith({ keys: [], dashboard: {} });
    expect(await sessionOf(api)).toEqual({ user: null, role: "operator", sign_in: "none" });
    expect((await login(api, ANN)).status).toBe(401);
  });

  test("a key is asked for, and its scopes say who it is", async () => {
    const api = await openWith({ keys: [KEY, "ro:read:look"], dashboard: {} });
    expect(await sessionOf(api)).toEqual({ user: null, role: null, sign_in: "key" });
    expect(await sessionOf(api, { "x-api-key": "wrong" })).toEqual({ user: null, role: null, sign_in: "key" });
    expect(await sessionOf(api, { "x-api-key": "look" })).toEqual({ user: null, role: "viewer", sign_in: "key" });
    expect(await sessionOf(api, { "x-api-key": KEY })).toEqual({ user: null, role: "operator", sign_in: "key" });
  });

  test("an application around the server decides by itself", async () => {
    expect(await sessionOf(await openWith({ keys: [], open: true }))).toEqual({ user: null, role: "operator", sign_in: "none" });
  });
});

describe("with users and without keys", () => {
  test("programs of this machine are let in, pages have to sign in", async () => {
    const api = await openWith({ keys: [] });
    expect((await api.send("/api/v1/queues")).status).toBe(200);
    expect((await api.send("/api/v1/queues", { headers: OWN_PAGE })).status).toBe(401);
    expect(await sessionOf(api, OWN_PAGE)).toEqual({ user: null, role: null, sign_in: "password" });
    const cookie = await cookieOf(api, VIC);
    expect((await api.send("/api/v1/queues", { headers: { cookie, ...OWN_PAGE } })).status).toBe(200);
    expect((await enqueue(api, { cookie, ...OWN_PAGE })).status).toBe(403);
  });
});

test("two users of one name are a mistake", async () => {
  await expect(openWith({ dashboard: { users: [ANN, { ...VIC, name: "ann" }] } })).rejects.toThrow("must have different names");
});
