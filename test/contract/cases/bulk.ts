import type { bulkRoutes } from "../../../src/http/contract/bulk.ts";
import type { Case, World } from "../case.ts";

/** So many that they are not all changed before somebody says stop. */
const MANY = 20_000;

async function ended(world: World): Promise<string> {
  const { id } = await world.client.bulk.start({ action: "cancel", filter: { queue: world.name("queue") } });
  await world.client.wait(id, { timeout: "20s" });
  return id;
}

async function underWay(world: World): Promise<string> {
  const queue = world.name("queue");
  await world.client.enqueueMany(Array.from({ length: MANY }, () => ({ type: "task", queue })));
  const { id } = await world.client.bulk.start({ action: "cancel", filter: { queue } });
  return id;
}

export const bulkCases: Readonly<Partial<Record<keyof typeof bulkRoutes, readonly Case[]>>> = {
  "POST /api/v1/bulk": [
    { status: 202, ask: (world) => ({ json: { action: "cancel", filter: { queue: world.name("queue") } } }) },
    { status: 200, ask: () => ({ json: { action: "delete", filter: { status: "completed" }, dry_run: true } }) },
    { status: 200, ask: () => ({ json: { action: "retry", all: true, limit: 5, spread: "10m", dry_run: true } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { action: "delete", all: true, spread: "10m" } }) },
    // W28: all is never meant by saying nothing.
    { status: 422, code: "invalid_input", ask: () => ({ json: { action: "delete" } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { action: "explode", all: true } }) },
  ],
  "GET /api/v1/bulk": [
    { status: 200, ask: () => ({}) },
    {
      status: 200,
      ask: async (world) => {
        await ended(world);
        return { query: "limit=1" };
      },
    },
    { status: 422, code: "invalid_input", ask: () => ({ query: "limit=101" }) },
  ],
  "GET /api/v1/bulk/{id}": [{ status: 200, ask: async (world) => ({ params: { id: await ended(world) } }) }],
  "POST /api/v1/bulk/{id}/stop": [
    { status: 200, ask: async (world) => ({ params: { id: await underWay(world) } }) },
    { status: 409, code: "wrong_status", ask: async (world) => ({ params: { id: await ended(world) } }) },
  ],
};
