import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { expect, onTestFinished } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { type Route, USUAL_PROBLEMS } from "../../../src/http/contract/route.ts";
import { Problem, type ProblemWire } from "../../../src/http/contract/schemas.ts";
import { type AnswerFrom, type RouteName, ROUTES, splitName } from "../../../src/http/contract.ts";
import { listen } from "../../../src/http/listen.ts";
import { type ProblemCode, PROBLEMS } from "../../../src/http/problem-codes.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/http/server.ts";

/** The two ways by which a request reaches the routes. */
export const WAYS = ["fetch", "port"] as const;
export type Way = (typeof WAYS)[number];

export interface Asked {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Got<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Api {
  readonly client: Client;
  readonly server: Server;
  /** Where it listens; a name that leads nowhere when it does not. */
  readonly url: string;
  /** Asks a route, and holds the answer against the contract. */
  readonly ask: <Name extends RouteName>(name: Name, asked?: Asked) => Promise<Got<AnswerFrom<Name>>>;
  /** The same, for an answer that must be a problem with this code. */
  readonly refuse: (name: RouteName, asked: Asked, code: ProblemCode) => Promise<ProblemWire & { readonly headers: Headers }>;
  /** Sends any request and looks at nothing. */
  readonly send: (path: string, init?: RequestInit) => Promise<Response>;
}

/** A server over a store in memory, called as `way` says. Closed when the test ends. */
export async function openApi(options: ServerOptions = {}, way: Way = "port", storeUrl = "memory:"): Promise<Api> {
  const client = await connect(storeUrl, { upkeep: true });
  const server = createServer(client, options);
  const port = way === "port" ? await listen(server, { port: 0 }) : null;
  onTestFinished(async () => {
    await server.drain();
    await port?.close({ graceMs: 0 });
    await client.close({ grace: 0 });
  });
  const url = port?.url ?? "http://localhost";
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    if (port !== null) return fetch(url + path, init);
    const request = new Request(url + path, init);
    // A fetch handler knows the host from the address alone; Node's server sends the header.
    if (!request.headers.has("host")) request.headers.set("host", "localhost");
    return server.fetch(request, { incoming: { socket: { remoteAddress: "127.0.0.1" } } });
  };
  const askRaw = (name: RouteName, asked: Asked): Promise<Got<unknown>> => askRoute(send, name, asked);
  return {
    client,
    server,
    url,
    send,
    ask: (name, asked = {}) => askRaw(name, asked) as Promise<Got<never>>,
    async refuse(name, asked, code) {
      const { body, headers, status } = await askRaw(name, asked);
      expect(body, `${name} answered ${status}`).toMatchObject({ code, status });
      return { ...(body as ProblemWire), headers };
    },
  };
}

/** Asks a route by any way of sending, and holds the answer against the contract. A stream is left as soon as it has begun. */
export async function askRoute(
  send: (path: string, init: RequestInit) => Promise<Response>,
  name: RouteName,
  asked: Asked,
): Promise<Got<unknown>> {
  const response = await send(addressOf(name, asked), initOf(name, asked));
  const type = response.headers.get("content-type") ?? "";
  const isStream = type.startsWith("text/event-stream");
  if (isStream) await response.body?.cancel();
  const text = isStream ? "" : await response.text();
  const got = {
    status: response.status,
    headers: response.headers,
    body: /json/.test(type) && text !== "" ? (JSON.parse(text) as unknown) : text,
  };
  holdAgainstContract(name, got);
  return got;
}

function addressOf(name: RouteName, { params = {}, query }: Asked): string {
  const path = splitName(name).path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(params[param] ?? ""));
  return query === undefined ? path : `${path}?${query}`;
}

function initOf(name: RouteName, { json, body, headers = {}, signal }: Asked): RequestInit {
  const isJson = json !== undefined;
  return {
    method: splitName(name).method,
    headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
    body: isJson ? JSON.stringify(json) : (body ?? null),
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    ...(signal === undefined ? {} : { signal }),
  };
}

const checks = new Map<unknown, { Check(value: unknown): boolean; Errors(value: unknown): unknown[] }>();

function fits(schema: TSchema, value: unknown): void {
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, (check = Compile(schema)));
  expect(check.Check(value) ? [] : check.Errors(value)).toEqual([]);
}

/** What any request may meet before its route sees it. */
const BEFORE_THE_ROUTE: readonly ProblemCode[] = ["misdirected", "foreign_origin", "malformed_request", "body_too_large"];

function holdAgainstContract(name: RouteName, { status, headers, body }: Got<unknown>): void {
  const route: Route = ROUTES[name];
  expect(headers.get("x-request-id")).toMatch(/^[\w.-]{1,128}$/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const answer = route.answers[status];
  if (headers.get("content-type") !== "application/problem+json") {
    expect(answer, `${name} answers ${status}`).toBeDefined();
    if (answer?.is !== undefined) fits(answer.is, body);
    else if (answer?.mediaType !== undefined) expect(headers.get("content-type")).toContain(answer.mediaType);
    else expect(body).toBe("");
    return;
  }
  fits(Problem, body);
  const { code } = body as { code: ProblemCode };
  const possible = [
    ...(route.problems ?? []),
    ...USUAL_PROBLEMS,
    ...BEFORE_THE_ROUTE,
    ...(answer === undefined ? [] : (["key_conflict"] as const)),
  ];
  expect(possible, `${name} may answer with ${code}`).toContain(code);
  expect([PROBLEMS[code].status, route.inputStatus]).toContain(status);
  expect(headers.has("retry-after")).toBe((body as ProblemWire).retry_after_ms !== undefined);
}

export const MISSING_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

/** Claims over HTTP, as a worker in any language does. */
export async function claimOver(api: Api, more: Record<string, unknown> = {}): Promise<AnswerFrom<"POST /api/v1/leases">["jobs"]> {
  const { body } = await api.ask("POST /api/v1/leases", { json: { worker_id: "w1", limit: 10, ...more } });
  return body.jobs;
}

/** Has so many pending jobs of the default queue die. */
export async function dieOver(api: Api, limit = 10): Promise<void> {
  const outcomes = (await claimOver(api, { limit })).map(({ id, fence }) => ({ id, fence, outcome: "discard", error: "it broke" }));
  await api.ask("POST /api/v1/leases/settle", { json: { outcomes } });
}
