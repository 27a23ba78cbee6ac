import type { queueRoutes } from "../../../src/http/contract/queues.ts";
import type { Case } from "../case.ts";

const ofQueue: Case["ask"] = async (world) => {
  const queue = world.name("queue");
  await world.client.configure(queue, { capacity: 5 });
  return { params: { queue } };
};

export const queueCases: Readonly<Partial<Record<keyof typeof queueRoutes, readonly Case[]>>> = {
  "GET /api/v1/stats": [{ status: 200, ask: () => ({}) }],
  "GET /api/v1/attention": [
    {
      status: 200,
      ask: async (world) => {
        const queue = world.name("queue");
        await world.client.enqueue("unhandled", null, { queue });
        await world.client.pause(queue);
        return {};
      },
    },
  ],
  "GET /api/v1/stats/history": [
    { status: 200, ask: () => ({ query: "step=minute" }) },
    {
      status: 200,
      ask: async (world) => {
        const { queue } = (await world.client.get(await world.completed()))!;
        return { query: `times=true&queue=${queue}` };
      },
    },
    { status: 422, code: "invalid_input", ask: () => ({ query: "times=true" }) },
    { status: 200, ask: () => ({ query: "queue=default&type=t" }) },
  ],
  "GET /api/v1/queues": [
    { status: 200, ask: () => ({}) },
    {
      status: 200,
      ask: async (world) => {
        const { id } = await world.client.bulk.start({ action: "delete", filter: { tag: world.name("tag") } });
        await world.client.wait(id);
        return { query: "internal=true" };
      },
    },
  ],
  "GET /api/v1/queues/{queue}": [
    {
      status: 200,
      ask: async (world) => {
        const queue = world.name("queue");
        await world.client.enqueue("unhandled", null, { queue });
        return { params: { queue } };
      },
    },
  ],
  "GET /api/v1/queues/{queue}/types": [
    {
      status: 200,
      ask: async (world) => {
        const { queue } = (await world.client.get(await world.completed()))!;
        return { params: { queue }, query: "step=minute" };
      },
    },
  ],
  "PATCH /api/v1/queues/{queue}": [
    { status: 200, ask: async (world) => ({ ...(await ofQueue(world)), json: { capacity: 5 } }) },
    {
      status: 200,
      ask: async (world) => ({
        ...(await ofQueue(world)),
        json: { limits: { running: 5, rate: "100/s", burst: null, per_key: { rate: "5/s", burst: 2, waiting: null } } },
      }),
    },
  ],
  "POST /api/v1/queues/{queue}/pause": [{ status: 200, ask: ofQueue }],
  "POST /api/v1/queues/{queue}/resume": [{ status: 200, ask: ofQueue }],
};
