import type { dashboardRoutes } from "../../../src/http/contract/dashboard.ts";
import type { DashboardUser, ServerOptions } from "../../../src/http/server.ts";
import { sessionCookie, Sessions } from "../../../src/http/sessions.ts";
import type { Case } from "../case.ts";

const ANN: DashboardUser = { name: "ann", password: "correct horse", role: "operator" };
const server: ServerOptions = { keys: ["a-key"], dashboard: { users: [ANN] } };
const WRONG = { headers: { authorization: `Basic ${btoa("ann:wrong")}` } };
/** More wrong passwords than are let pass in a minute, and in the minutes that they may take. */
const TOO_OFTEN = 400;

const right: Case["ask"] = () => ({ json: { username: "ann", password: "correct horse" } });
const wrong: Case["ask"] = () => ({ json: { username: "ann", password: "wrong" } });
/** With a session of ann's, from a page of the server. Every server with her password knows it. */
const signedIn: Case["ask"] = () => {
  const { token } = new Sessions([ANN]).open(ANN.name, ANN.password, Date.now())!;
  return { headers: { cookie: sessionCookie(token, { path: "/", isSecure: false }), "sec-fetch-site": "same-origin" } };
};

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
    { status: 204, server, ask: signedIn },
    { status: 404, code: "not_found", ask: () => ({}) },
  ],
};
