import { describe, expect, test } from "vitest";
import { type RouteName, ROUTES } from "../../../src/http/contract.ts";
import type { Route } from "../../../src/http/contract/route.ts";
import type { RequestFacts } from "../../../src/http/server.ts";
import { MISSING_ID, openApi } from "./open-api.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const NARROW = "ci:read+enqueue+work:narrow-key";

/** What takes something away, or changes it for all: a purge, a retry of everything, a removal, a pause. */
const DESTRUCTIVE = (Object.keys(ROUTES) as RouteName[]).filter((name) => {
  const { scope } = ROUTES[name] as Route;
  return scope === "admin" || (name.startsWith("DELETE ") && scope !== "work");
});

describe("W28: what destroys", () => {
  test("needs a key with the scope admin", async () => {
    expect(DESTRUCTIVE).toEqual(expect.arrayContaining(["DELETE /api/v1/dead", "POST /api/v1/dead/retry", "DELETE /api/v1/jobs/{id}"]));
    const { refuse } = await openApi({ keys: [NARROW] });
    const params = { id: MISSING_ID, name: "n", queue: "q", worker: "w", group: "0123456789ab", key: "k" };
    for (const name of DESTRUCTIVE) {
      const { status } = await refuse(name, { params, headers: { "x-api-key": "narrow-key" } }, "forbidden");
      expect([name, status]).toEqual([name, 403]);
    }
  });

  test("is told with who did it, and with what came of it", async () => {
    const told: RequestFacts[] = [];
    const api = await openApi({ keys: [`ops:admin:${KEY}`], onRequest: (facts) => told.push(facts) });
    const headers = { "x-api-key": KEY };
    await api.ask("DELETE /api/v1/dead", { headers });
    await api.ask("POST /api/v1/queues/{queue}/pause", { params: { queue: "default" }, headers });
    expect(told).toMatchObject([
      { caller: "ops", method: "DELETE", route: "/api/v1/dead", status: 200, address: "127.0.0.1" },
      { caller: "ops", method: "POST", route: "/api/v1/queues/{queue}/pause", status: 200 },
    ]);
  });
});
