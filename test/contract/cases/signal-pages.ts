import type { Client } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { signLink } from "../../../src/core/signal-links.ts";
import type { signalPageRoutes } from "../../../src/http/contract/signal-pages.ts";
import { MISSING_ID } from "../../unit/http/open-api.ts";
import type { Case, World } from "../case.ts";

const SECRET = "a-secret-of-the-tests";
const server = { signalSecret: `another-new-secret-of-the-tests,${SECRET}` };
const LATER = Date.now() + 3_600_000;

function tokenFor(id: string, payload: string | null = '{"by":"ann"}', expiresAt = LATER): { params: { token: string } } {
  return { params: { token: signLink({ id, name: "approval", payload, expiresAt }, SECRET) } };
}

const linked =
  (job: (world: World) => Promise<string>, payload?: string): Case["ask"] =>
  async (world) =>
    tokenFor(await job(world), payload);

async function answered(world: World): Promise<string> {
  const id = await world.suspended();
  await world.client.signal(id, "approval", { by: "bob" });
  return id;
}

/** A store that does not answer. */
function dumb(client: Client): Client {
  const refuse = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "postgres://user:hush@inside.test said no"));
  return new Proxy(client, {
    get: (target, name) => (["get", "steps"].includes(String(name)) ? refuse : (Reflect.get(target, name) as unknown)),
  });
}

/** More requests than one address may make in a minute, and in the minutes that they may take. */
const TOO_OFTEN = 600;

const ANY: readonly Case[] = [
  { status: 404, server, ask: () => ({ params: { token: "forged.text" } }) },
  { status: 404, server, ask: () => ({ params: { token: `${tokenFor(MISSING_ID).params.token}.more` } }) },
  { status: 404, ask: () => tokenFor(MISSING_ID) },
  { status: 410, server, ask: () => tokenFor(MISSING_ID, null, Date.now() - 1) },
  { status: 410, server, ask: () => tokenFor(MISSING_ID) },
  { status: 410, server, ask: linked((world) => world.completed()) },
  { status: 429, server, times: TOO_OFTEN, ask: () => ({ params: { token: "forged.text" } }) },
  { status: 503, server, over: dumb, ask: () => tokenFor(MISSING_ID) },
];

export const signalPageCases: Readonly<Record<keyof typeof signalPageRoutes, readonly Case[]>> = {
  "GET /signal/{token}": [
    { status: 200, server, ask: linked((world) => world.suspended()) },
    { status: 200, server, ask: linked((world) => world.waiting()) },
    { status: 200, server, ask: linked(answered) },
    ...ANY,
  ],
  "POST /signal/{token}": [
    { status: 200, server, ask: linked((world) => world.suspended()) },
    { status: 200, server, times: 2, ask: linked((world) => world.suspended()) },
    { status: 200, server, ask: linked((world) => world.waiting(), undefined) },
    { status: 409, server, ask: linked(answered) },
    { status: 422, server, ask: linked((world) => world.suspended(), "7") },
    ...ANY,
  ],
};
