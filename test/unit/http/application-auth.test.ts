import { describe, expect, test } from "vitest";
import type { ApplicationAuth, ApplicationRequest, RequestFacts } from "../../../src/http/server.ts";
import { builtPage } from "./built-page.ts";
import { openApi, WAYS } from "./open-api.ts";

const USERS = new Map([
  ["1", { name: "ann", role: "operator" }],
  ["2", { name: "ben", role: "viewer" }],
] as const);

const auth: ApplicationAuth = async ({ header }) => USERS.get(header("x-session") as "1") ?? null;

describe.each(WAYS)("a server behind the application's sign-in, by %s", (way) => {
  test("asks the application who calls: an operator makes changes under their name, a viewer reads, nobody else does", async () => {
    const { ask, refuse } = await openApi({ auth, dashboard: { folder: builtPage() } }, way);
    const [ann, ben] = ["1", "2"].map((session) => ({ "x-session": session }));
    await ask("POST /api/v1/queues/{queue}/pause", { params: { queue: "mail" }, query: "create=true", headers: ann! });
    const { body } = await ask("GET /api/v1/audit", { headers: ben! });
    expect(body.entries).toMatchObject([{ action: "queue:paused", by: "ann" }]);
    const refused = await refuse("POST /api/v1/queues/{queue}/resume", { params: { queue: "mail" }, headers: ben! }, "forbidden");
    expect(refused.detail).toBe("this request needs an operator: ben is a viewer");
    const { hint } = await refuse("GET /api/v1/queues", {}, "unauthorized");
    expect(hint).toBe("Sign in to the application.");
    expect((await ask("GET /dashboard/session", { headers: ben! })).body).toEqual({ user: "ben", role: "viewer", sign_in: "application" });
    expect((await ask("GET /dashboard/session")).body).toEqual({ user: null, role: null, sign_in: "application" });
  });

  test("has keys beside it, for programs", async () => {
    const { ask, refuse } = await openApi({ auth: () => null, keys: ["shop:read:the-key-of-the-shop"] }, way);
    await ask("GET /api/v1/queues", { headers: { "x-api-key": "the-key-of-the-shop" } });
    await refuse("GET /api/v1/queues", { headers: { "x-session": "1", "x-api-key": "another" } }, "unauthorized");
    const { hint } = await refuse("GET /api/v1/queues", {}, "unauthorized");
    expect(hint).toBe("Sign in to the application, or send a valid key as X-API-Key or as Authorization: Bearer.");
  });

  test("takes undefined for nobody, as a request without a user has it", async () => {
    const { refuse } = await openApi({ auth: () => undefined }, way);
    await refuse("GET /api/v1/queues", {}, "unauthorized");
  });

  test("asks the application about a token that is not one of its keys, and counts it as a wrong key if nobody knows it", async () => {
    const byToken: ApplicationAuth = ({ header }) => (header("authorization") === "Bearer ann's" ? { name: "ann", role: "viewer" } : null);
    const { ask, send } = await openApi({ auth: byToken, keys: ["the-key-of-the-shop"] }, way);
    for (const token of ["the-key-of-the-shop", "ann's"])
      expect((await ask("GET /api/v1/queues", { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    const statuses = new Set<number>();
    for (let index = 0; index < 25; index++)
      statuses.add((await send("/api/v1/queues", { headers: { authorization: `Bearer wrong-${index}` } })).status);
    expect(statuses).toEqual(new Set([401, 429]));
  });

  test("takes no change from a page of another site, also if the browser does not say of which", async () => {
    const { send } = await openApi({ auth }, way);
    const change = async (headers: Record<string, string>): Promise<number> =>
      (await send("/api/v1/queues/mail/pause?create=true", { method: "POST", headers: { "x-session": "1", ...headers } })).status;
    for (const site of ["cross-site", "same-site"]) expect(await change({ "sec-fetch-site": site })).toBe(403);
    expect(await change({ origin: "https://evil.test" })).toBe(403);
    for (const site of ["same-origin", "none"]) expect(await change({ "sec-fetch-site": site })).toBe(200);
    expect(await change({})).toBe(200);
  });

  test("hands over the request as the application's own handlers get it", async () => {
    const asked: ApplicationRequest[] = [];
    const { ask } = await openApi({ auth: (request) => (asked.push(request), { name: "ann", role: "viewer" }) }, way);
    await ask("GET /api/v1/queues");
    await ask("GET /api/v1/queues/{queue}", { params: { queue: "mail" } }).catch(() => {});
    for (const { original } of asked) expect(original).toHaveProperty("headers");
    expect(asked.map(({ original }) => original instanceof Request)).toEqual([way === "fetch", way === "fetch"]);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no sessions")), "no sessions"],
    ["names nobody", () => ({ name: "", role: "viewer" }), "whose name is"],
    ["names a role that there is not", () => ({ name: "ann", role: "owner" }), "whose role is one of viewer, operator"],
  ])("answers 500 if the function %s, does not let the caller in, and says why to those who run it", async (_, wrong, why) => {
    const told: RequestFacts[] = [];
    const { send } = await openApi({ auth: wrong as unknown as ApplicationAuth, onRequest: (facts) => told.push(facts) }, way);
    expect((await send("/api/v1/queues")).status).toBe(500);
    expect(told).toMatchObject([{ status: 500, error: { message: expect.stringMatching(/^the function `auth` failed: /) as string } }]);
    expect((told[0]!.error as Error).message).toContain(why);
  });
});

test.each([
  [{ open: true }, "open"],
  [{ dashboard: { users: [{ name: "ann", password: "the mill", role: "operator" as const }] } }, "dashboard.users"],
  [{ auth: "ann" as never }, "auth"],
])("there is one way to sign in: not also %j", async (options, field) => {
  await expect(openApi({ auth, ...options })).rejects.toMatchObject({ code: "invalid_input", field });
});
