import type { jobRoutes } from "../../../src/http/contract/jobs.ts";
import type { Case } from "../case.ts";

const ofWaiting: Case["ask"] = async (world) => ({ params: { id: await world.waiting() } });
const ofCompleted: Case["ask"] = async (world) => ({ params: { id: await world.completed() } });

export const jobCases: Readonly<Partial<Record<keyof typeof jobRoutes, readonly Case[]>>> = {
  "POST /api/v1/jobs": [
    { status: 201, ask: () => ({ json: { type: "task", payload: { n: 1 } } }) },
    {
      status: 200,
      ask: async (world) => {
        const idempotencyKey = world.name("key");
        await world.client.enqueue("task", { n: 1 }, { idempotencyKey });
        return { json: { type: "task", payload: { n: 1 }, idempotency_key: idempotencyKey } };
      },
    },
    {
      status: 409,
      code: "key_conflict",
      ask: async (world) => {
        const idempotencyKey = world.name("key");
        await world.client.enqueue("task", { n: 1 }, { idempotencyKey });
        return { json: { type: "task", payload: { n: 2 }, idempotency_key: idempotencyKey } };
      },
    },
    { status: 503, code: "queue_full", ask: async (world) => ({ json: { type: "task", queue: await world.full() } }) },
    { status: 422, code: "unknown_type", connect: { strictTypes: true }, ask: () => ({ json: { type: "nobody:knows" } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { type: "task", not_a_field: 1 } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { type: "http:request", payload: { url: "ftp://x" } } }) },
  ],
  "POST /api/v1/jobs/batch": [{ status: 200, ask: () => ({ json: { jobs: [{ type: "task" }, { type: "no type!" }] } }) }],
  "GET /api/v1/jobs": [
    { status: 200, ask: () => ({ query: "status=pending,dead&limit=5" }) },
    { status: 200, ask: () => ({ query: "status=completed&sort=state&ended_from=2026-01-01T00:00:00Z&ended_to=2090-01-01T00:00:00Z" }) },
    { status: 200, ask: () => ({ query: "where=customer:globex&where=order.region:eu:west" }) },
    { status: 422, code: "invalid_input", ask: () => ({ query: "sort=priority" }) },
    { status: 422, code: "invalid_input", ask: () => ({ query: "where=customer" }) },
    { status: 422, code: "invalid_input", ask: () => ({ query: "where=customer:a&where=customer:b" }) },
  ],
  "GET /api/v1/facets/{field}": [
    { status: 200, ask: () => ({ params: { field: "customer" }, query: "status=dead&ended_from=2026-01-01T00:00:00Z" }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { field: "customer" }, query: "status=pending" }) },
  ],
  "GET /api/v1/jobs/{id}": [{ status: 200, ask: ofWaiting }],
  "DELETE /api/v1/jobs/{id}": [
    { status: 200, ask: ofWaiting },
    { status: 200, ask: async (world) => ({ params: { id: await world.completed() }, query: "purge=true" }) },
    { status: 409, code: "wrong_status", ask: ofCompleted },
  ],
  "POST /api/v1/jobs/{id}/cancel": [
    { status: 200, ask: ofWaiting },
    { status: 409, code: "wrong_status", ask: ofCompleted },
  ],
  "POST /api/v1/jobs/{id}/retry": [
    { status: 200, ask: async (world) => ({ params: { id: await world.dead() } }) },
    { status: 200, ask: async (world) => ({ params: { id: await world.later() }, query: "now=true" }) },
    { status: 200, ask: async (world) => ({ params: { id: await world.dead() }, json: { payload: { n: 2 } } }) },
    { status: 200, ask: async (world) => ({ params: { id: await world.dead() }, query: "restart=true" }) },
    { status: 422, code: "invalid_input", ask: async (world) => ({ params: { id: await world.dead() }, query: "restart=true&now=true" }) },
    { status: 409, code: "wrong_status", ask: ofCompleted },
  ],
  "GET /api/v1/jobs/{id}/explain": [
    { status: 200, ask: ofWaiting },
    { status: 200, ask: async (world) => ({ params: { id: await world.suspended() } }) },
  ],
  "GET /api/v1/jobs/{id}/attempts": [{ status: 200, ask: ofCompleted }],
  "GET /api/v1/jobs/{id}/changes": [
    {
      status: 200,
      ask: async (world) => {
        const id = await world.dead();
        await world.client.retry(id, { by: "ann", reason: "again" });
        return { params: { id } };
      },
    },
  ],
  "GET /api/v1/jobs/{id}/logs": [{ status: 200, ask: ofCompleted }],
};
