import type { aliasRoutes } from "../../../src/http/contract/aliases.ts";
import type { Case } from "../case.ts";

const ofDead: Case["ask"] = async (world) => ({ params: { id: await world.dead() } });

export const aliasCases: Readonly<Partial<Record<keyof typeof aliasRoutes, readonly Case[]>>> = {
  "POST /jobs": [
    { status: 202, ask: (world) => ({ json: { payload: "text", idempotency_key: world.name("key"), priority: 5 } }) },
    {
      status: 409,
      ask: async (world) => {
        const idempotencyKey = world.name("key");
        await world.client.enqueue("default", "text", { idempotencyKey });
        return { json: { payload: "text", idempotency_key: idempotencyKey } };
      },
    },
    {
      status: 409,
      code: "key_conflict",
      ask: async (world) => {
        const idempotencyKey = world.name("key");
        await world.client.enqueue("default", "text", { idempotencyKey });
        return { json: { payload: "other", idempotency_key: idempotencyKey } };
      },
    },
    { status: 503, code: "queue_full", ask: async (world) => ({ json: { payload: 1, queue: await world.full() } }) },
    { status: 400, code: "unknown_type", connect: { strictTypes: true }, ask: () => ({ json: { payload: 1, type: "nobody:knows" } }) },
  ],
  "GET /jobs/{id}": [{ status: 200, ask: async (world) => ({ params: { id: await world.waiting() } }) }],
  "GET /dlq": [{ status: 200, ask: () => ({}) }],
  "POST /dlq/{id}/retry": [
    { status: 200, ask: ofDead },
    { status: 409, code: "wrong_status", ask: async (world) => ({ params: { id: await world.waiting() } }) },
  ],
};
