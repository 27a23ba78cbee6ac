import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import type { Trouble } from "../../../src/core/trouble.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/server.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

async function mounted(options: ServerOptions, broken = {}): Promise<{ server: Server; told: string[]; clock: VirtualClock }> {
  const client = await connect("memory:");
  Object.assign(client, broken);
  const told: string[] = [];
  const clock = new VirtualClock(0);
  const onTrouble = ({ kind, message }: Trouble): void => void told.push(`${kind}: ${message}`);
  const server = createServer(client, { background: false, dashboard: false, onTrouble, clock, ...options });
  onTestFinished(async () => {
    await server.close();
    await client.close();
  });
  return { server, told, clock };
}

function ask(server: Server, id: string): Promise<Response> {
  return server.fetch(new Request("http://localhost/api/v1/queues", { headers: { "X-Request-Id": id, host: "localhost" } }));
}

test("a mounted server tells why `auth` failed, with the request_id of the answer", async () => {
  const { server, told } = await mounted({ auth: () => Promise.reject(new Error("no sessions")) });
  const response = await ask(server, "r1");
  expect([response.status, ((await response.json()) as { request_id: string }).request_id]).toEqual([500, "r1"]);
  expect(told).toEqual(["request: GET /api/v1/queues was answered with 500 (request_id r1): the function `auth` failed: no sessions"]);
});

test("of a store that is away it tells once in ten seconds, and what else failed meanwhile", async () => {
  let why = "PostgreSQL at db:5432 did not answer";
  const queues = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", why));
  const { server, told, clock } = await mounted({ open: true }, { queues });
  for (const id of ["a", "b"]) expect((await ask(server, id)).status).toBe(503);
  why = "the pool is closed";
  await ask(server, "c");
  await clock.advance("11s");
  await ask(server, "d");
  expect(told).toEqual([
    "request: GET /api/v1/queues was answered with 503 (request_id a): PostgreSQL at db:5432 did not answer",
    "request: GET /api/v1/queues was answered with 503 (request_id c): the pool is closed",
    "request: GET /api/v1/queues was answered with 503 (request_id d): the pool is closed",
  ]);
});

test("of a request that its caller got wrong it tells nothing", async () => {
  const { server, told } = await mounted({ auth: () => null });
  expect((await ask(server, "r1")).status).toBe(401);
  expect(told).toEqual([]);
});
