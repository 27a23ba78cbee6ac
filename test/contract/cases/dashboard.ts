import type { dashboardRoutes } from "../../../src/http/contract/dashboard.ts";
import type { ServerOptions } from "../../../src/http/server.ts";
import type { Case } from "../case.ts";

const server: ServerOptions = { keys: ["a-key"], dashboard: { users: [{ name: "ann", password: "correct horse", role: "operator" }] } };
const WRONG = { headers: { authorization: `Basic ${btoa("ann:wrong")}` } };
/** More wrong passwords than are let pass. */
const TOO_OFTEN = 40;

const right: Case["ask"] = () => ({ json: { username: "ann", password: "correct horse" } });
const wrong: Case["ask"] = () => ({ json: { username: "ann", password: "wrong" } });

export const dashboardCases: Readonly<Partial<Record<keyof typeof dashboardRoutes, readonly Case[]>>> = {
  "GET /dashboard/session": [
    { status: 200, server, ask: () => ({}) },
    { status: 404, code: "not_found", ask: () => ({}) },
    { status: 401, code: "unauthorized", server, ask: () => WRONG },
    { status: 429, code: "rate_limited", server, ask: () => WRONG, times: TOO_OFTEN },
  ],
  "POST /dashboard/login": [
    { status: 204, server, ask: right },
    { status: 404, code: "not_found", ask: right },
    { status: 401, code: "unauthorized", server, ask: wrong },
    { status: 429, code: "rate_limited", server, ask: wrong, times: TOO_OFTEN },
  ],
  "POST /dashboard/logout": [
    { status: 204, server, ask: () => ({}) },
    { status: 404, code: "not_found", ask: () => ({}) },
  ],
};
