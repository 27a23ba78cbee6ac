import { readSchema } from "../../../src/core/payload-schema.ts";
import { MAX_WAIT_SCHEMA_BYTES } from "../../../src/core/steps.ts";
import type { leaseRoutes } from "../../../src/http/contract/leases.ts";
import type { Case, World } from "../case.ts";

export async function lease(world: World): Promise<{ id: string; fence: number }> {
  const { job, fence } = await world.running();
  return { id: job.id, fence };
}

function suspended(waits: unknown): Case["ask"] {
  return async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "suspend", waits }] } });
}

const ENTRY = {
  host: "h",
  pid: 1,
  state: "idle",
  slots: 1,
  queues: ["default"],
  types: ["task"],
  started_at: 1_700_000_000_000,
  running: [],
  running_count: 0,
  processed: 0,
  per_minute: 0,
  abandoned: 0,
};

const WORKER = {
  id: "w2",
  host: "h",
  pid: 1,
  state: "idle",
  slots: 1,
  queues: ["default"],
  types: ["task"],
  startedAt: 1_700_000_000_000,
  running: [],
  runningCount: 0,
  processed: 0,
  perMinute: 0,
  abandoned: 0,
} as const;

export const leaseCases: Readonly<Partial<Record<keyof typeof leaseRoutes, readonly Case[]>>> = {
  "POST /api/v1/leases": [
    {
      status: 200,
      ask: async (world) => {
        const queue = world.name("queue");
        await world.client.enqueue("task", { n: 1 }, { queue });
        return { json: { worker_id: "w1", queues: [queue], limit: 1 } };
      },
    },
  ],
  "POST /api/v1/leases/extend": [{ status: 200, ask: async (world) => ({ json: { leases: [await lease(world)], lease: "10s" } }) }],
  "POST /api/v1/leases/settle": [
    { status: 200, ask: async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "completed", result: 1 }] } }) },
    {
      status: 200,
      ask: async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "hold", delay: "30s", spend: 1.5 }] } }),
    },
    { status: 200, ask: async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "release", unstarted: true }] } }) },
    {
      status: 422,
      code: "invalid_input",
      ask: async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "completed", unstarted: true }] } }),
    },
    { status: 422, code: "invalid_input", ask: async (world) => ({ json: { outcomes: [{ ...(await lease(world)), outcome: "hold" }] } }) },
    {
      status: 200,
      ask: suspended([
        { name: "nap", kind: "sleep", delay: "1h" },
        { name: "approval", kind: "wait", delay: 60_000, schema: { type: "object" } },
        { name: "forever", kind: "wait" },
        { name: "render", kind: "call", type: "task", payload: { n: 1 }, options: { queue: "renders", max_retries: 1, delay: "1h" } },
        { name: "before", kind: "call", open: true },
      ]),
    },
    ...[
      undefined,
      [],
      [{ name: "nap", kind: "sleep" }],
      [{ name: "nap", kind: "sleep", delay: "soon" }],
      [{ name: "nap", kind: "sleep", delay: 1, type: "task" }],
      [{ name: "", kind: "wait" }],
      [{ name: "a", kind: "step" }],
      [{ name: "a", kind: "wait", schema: 7 }],
      [{ name: "a", kind: "wait", schema: { title: "x".repeat(MAX_WAIT_SCHEMA_BYTES) } }],
      [
        { name: "a", kind: "wait" },
        { name: "a", kind: "sleep", delay: 1 },
      ],
      [{ name: "a", kind: "call" }],
      [{ name: "a", kind: "call", type: "no type!" }],
      [{ name: "a", kind: "call", type: "task", options: { idempotency_key: "k" } }],
      [{ name: "a", kind: "call", type: "task", options: { delay: "soon" } }],
    ].map((waits): Case => ({ status: 422, code: "invalid_input", ask: suspended(waits) })),
  ],
  "POST /api/v1/leases/note": [
    { status: 200, ask: async (world) => ({ json: { notes: [{ ...(await lease(world)), progress: { percent: 5 }, lines: ["a"] }] } }) },
  ],
  "GET /api/v1/leases/watch": [{ status: 200, ask: () => ({}) }],
  "GET /api/v1/workers": [{ status: 200, ask: () => ({}) }],
  "GET /api/v1/workers/former": [
    {
      status: 200,
      ask: async ({ client }) => {
        await client.leases.register(WORKER, 60_000);
        await client.leases.unregister(WORKER.id);
        return {};
      },
    },
  ],
  "GET /api/v1/types": [
    {
      status: 200,
      async ask({ client: { leases } }) {
        const schema = readSchema({ type: "object" }, "schema");
        await leases.publishSchemas([schema]);
        await leases.register({ ...WORKER, schemas: { task: schema.digest } }, 60_000);
        return {};
      },
    },
  ],
  "POST /api/v1/schemas": [
    { status: 200, ask: () => ({ json: { schemas: [{ type: "object" }] } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { schemas: [7] } }) },
  ],
  "PUT /api/v1/workers/{worker}": [
    { status: 200, ask: () => ({ params: { worker: "w1" }, json: { ...ENTRY, schemas: { task: "x".repeat(22) } } }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { worker: "w1" }, json: { ...ENTRY, schemas: { "a b": 7 } } }) },
  ],
  "DELETE /api/v1/workers/{worker}": [{ status: 200, ask: () => ({ params: { worker: "w1" } }) }],
};
