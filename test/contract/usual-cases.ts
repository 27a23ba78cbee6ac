/** Problems that can be provoked on any route that declares them, from a request that it would answer well. */
import type { Client } from "../../src/client/client.ts";
import { MillraceError } from "../../src/core/errors.ts";
import { MAX_BODY_BYTES } from "../../src/http/contract/jobs.ts";
import type { Route, Scope } from "../../src/http/contract/route.ts";
import { SCOPES } from "../../src/http/contract/route.ts";
import { type RouteName, ROUTES } from "../../src/http/contract.ts";
import { type ProblemCode, PROBLEMS } from "../../src/http/problem-codes.ts";
import { type Asked, MISSING_ID } from "../unit/http/open-api.ts";
import type { Case } from "./case.ts";

const KEY = "the-key-of-the-tests";

type Provoke = (good: Case, route: Route) => Partial<Case> & Pick<Case, "ask">;

const PROVOKED: Partial<Record<ProblemCode, Provoke>> = {
  unauthorized: (good) => ({ ...good, server: { ...good.server, keys: [KEY] } }),
  forbidden: (good, { scope, alsoFor }) => ({
    ...changed(good, (asked) => ({ ...asked, headers: { ...asked.headers, "x-api-key": KEY } })),
    server: { ...good.server, keys: [`narrow:${otherScopes([scope, alsoFor]).join("+")}:${KEY}`] },
  }),
  rate_limited: (good) => ({ ...good, server: { ...good.server, limiter: { take: () => 5000 } } }),
  overloaded: (good) => ({ ...good, server: { ...good.server, limits: { requests: 0 } } }),
  closed: (good, { servedToTheEnd }) =>
    servedToTheEnd === true
      ? { ...good, over: (client) => refusingAll(client, new MillraceError("closed", "the client is closed")) }
      : { ...good, before: (server) => void server.drain() },
  store_unavailable: (good) => ({ ...good, over: refusing("store_unavailable") }),
  store_full: (good) => ({ ...good, over: refusing("store_full") }),
  internal: (good) => ({ ...good, over: (client) => refusingAll(client, new Error("select * from secrets")) }),

  malformed_body: (good) => changed(good, (asked) => withBody(asked, "{")),
  unsupported_media_type: (good) => changed(good, (asked) => withBody(asked, "{}", "text/plain")),
  body_too_large: (good, { maxBody = MAX_BODY_BYTES }) => changed(good, (asked) => withBody(asked, " ".repeat(maxBody + 1))),
  invalid_input: (good, { body, query }) =>
    changed(good, (asked) => {
      if (body !== undefined) return { ...asked, json: { ...(asked.json as object), not_a_field: 1 } };
      if (query !== undefined) return { ...asked, query: "not_a_field=1" };
      return { ...asked, params: mapped(asked.params, () => "no name!") };
    }),
  invalid_cursor: (good) => changed(good, (asked) => ({ ...asked, query: "cursor=not-a-cursor" })),
  not_found: (good) => changed(good, (asked) => ({ ...asked, params: mapped(asked.params, missing) })),
};

/** A case for this code on a route, made from one that is answered well; null where there is no usual way. */
export function usualCase(name: RouteName, code: ProblemCode, good: Case): Case | null {
  const provoke = PROVOKED[code];
  if (provoke === undefined) return null;
  const route: Route = ROUTES[name];
  const { status: usual } = PROBLEMS[code];
  const isInput = code === "invalid_input" || code === "malformed_body";
  return { ...provoke(good, route), code, status: isInput ? (route.inputStatus ?? usual) : usual };
}

function changed(good: Case, change: (asked: Asked) => Asked): Case {
  return { ...good, ask: async (world) => change(await good.ask(world)) };
}

/** The same request with this body instead, as it is. */
function withBody({ params = {}, query, headers }: Asked, body: string, type = "application/json"): Asked {
  return { params, ...(query === undefined ? {} : { query }), body, headers: { ...headers, "content-type": type } };
}

function mapped(params: Asked["params"] = {}, change: (name: string, value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, change(name, value)]));
}

/** What is of the same kind, and is not there. */
function missing(name: string): string {
  return name === "id" ? MISSING_ID : "not-there";
}

function otherScopes(scopes: readonly (Scope | "open" | undefined)[]): Scope[] {
  return SCOPES.filter((each) => !scopes.includes(each));
}

function refusing(code: "store_unavailable" | "store_full"): (client: Client) => Client {
  return (client) => refusingAll(client, new MillraceError(code, "postgres://user:hush@inside.test said no"));
}

/** The same client, whose every call fails: what a store does is not for a test of the wire. Listeners hear nothing. */
function refusingAll<Verbs extends object>(verbs: Verbs, error: Error): Verbs {
  const refuse = (name: string | symbol, value: unknown): unknown => {
    if (name === "watch" || name === "events") return value;
    if (typeof value === "function") return () => Promise.reject(error);
    return typeof value === "object" && value !== null ? refusingAll(value, error) : value;
  };
  return new Proxy(verbs, { get: (target, name) => refuse(name, Reflect.get(target, name)) });
}
