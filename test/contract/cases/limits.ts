import type { limitRoutes } from "../../../src/http/contract/limits.ts";
import type { Case, World } from "../case.ts";

/** A key that has to be encoded in a URL. */
const KEY = "acme/eu";

async function queueWithLimits(world: World): Promise<string> {
  const { client } = world;
  const queue = world.name("queue");
  await client.configure(queue, { limits: { running: 5, rate: "100/s", perKey: { running: 2, waiting: 10 } } });
  await client.limits.set(queue, KEY, { running: 3, rate: null, weight: 2 });
  await client.limits.set(queue, null, { weight: 4 });
  return queue;
}

const ofQueue: Case["ask"] = async (world) => ({ params: { queue: await queueWithLimits(world) } });
const ofKey: Case["ask"] = async (world) => ({ params: { queue: await queueWithLimits(world), key: KEY } });

/** A key with a running job, and one that waits. */
const used: Case["ask"] = async (world) => {
  const queue = await queueWithLimits(world);
  for (const limitKey of [KEY, KEY, "globex"]) await world.client.enqueue("task", null, { queue, limitKey });
  const claim = { workerId: "w1", queues: [queue], types: "*", limit: 1, leaseMs: 60_000, turn: 1, again: false } as const;
  await world.client.leases.exchange([], claim);
  return { params: { queue } };
};

export const limitCases: Readonly<Partial<Record<keyof typeof limitRoutes, readonly Case[]>>> = {
  "GET /api/v1/queues/{queue}/limits": [
    { status: 200, ask: used },
    { status: 200, ask: async (world) => ({ params: { queue: (await world.client.get(await world.waiting()))!.queue } }) },
  ],
  "GET /api/v1/queues/{queue}/limits/keys": [{ status: 200, ask: async (world) => ({ ...(await ofQueue(world)), query: "limit=1" }) }],
  "GET /api/v1/queues/{queue}/limits/keys/{key}": [
    { status: 200, ask: ofKey },
    { status: 200, ask: async (world) => ({ params: { ...(await used(world)).params, key: "nobody" } }) },
  ],
  "PUT /api/v1/queues/{queue}/limits/keys/{key}": [
    {
      status: 200,
      ask: async (world) => ({
        ...(await ofKey(world)),
        json: { running: 1, rate: "5/s", burst: 2, waiting: null, weight: 3 },
        query: "reason=because",
      }),
    },
  ],
  "DELETE /api/v1/queues/{queue}/limits/keys/{key}": [{ status: 200, ask: ofKey }],
  "GET /api/v1/queues/{queue}/limits/without-key": [{ status: 200, ask: ofQueue }],
  "PUT /api/v1/queues/{queue}/limits/without-key": [
    { status: 200, ask: async (world) => ({ ...(await ofQueue(world)), json: { weight: 2 } }) },
  ],
  "DELETE /api/v1/queues/{queue}/limits/without-key": [{ status: 200, ask: ofQueue }],
};
