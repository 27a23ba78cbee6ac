import { MillraceError } from "../../../src/core/errors.ts";
import type { flowRoutes } from "../../../src/http/contract/flows.ts";
import { MISSING_ID } from "../../unit/http/open-api.ts";
import type { Case } from "../case.ts";

const name = "b";

const ofRunning: Case["ask"] = async (world) => ({ params: { id: (await world.flow()).id } });
const ofCompleted: Case["ask"] = async (world) => ({ params: { id: (await world.endedFlow("completed")).id } });

/** Members with these fields besides name and type. */
function members(...given: readonly object[]): object[] {
  return given.map((member, index) => ({ name: `m${index}`, type: "task", ...member }));
}

function refused(...given: readonly object[]): Case {
  return { status: 422, code: "invalid_input", ask: () => ({ json: { members: members(...given) } }) };
}

export const flowCases: Readonly<Record<keyof typeof flowRoutes, readonly Case[]>> = {
  "POST /api/v1/flows": [
    {
      status: 201,
      ask: () => ({
        json: {
          members: members({ payload: { n: 1 }, delay: "1h" }, { after: "m0", on_failure: "run" }, { after: "*" }),
          tags: ["t"],
          meta: { m: 1 },
        },
      }),
    },
    {
      status: 200,
      ask: async (world) => {
        const key = world.name("key");
        await world.client.flow([{ name: "m0", type: "task" }], { key });
        return { json: { members: members({}), idempotency_key: key } };
      },
    },
    {
      status: 409,
      code: "key_conflict",
      ask: async (world) => {
        const key = world.name("key");
        await world.client.flow([{ name: "m0", type: "task" }], { key });
        return { json: { members: members({}, {}) }, headers: { "idempotency-key": key } };
      },
    },
    {
      status: 404,
      code: "not_found",
      // A key is kept longer than its flow only where flows are pruned, after days.
      over: (client) => ({ ...client, flow: () => Promise.reject(new MillraceError("not_found", "the flow with this key is gone")) }),
      ask: () => ({ json: { members: members({}), idempotency_key: "k" } }),
    },
    { status: 503, code: "queue_full", ask: async (world) => ({ json: { members: members({ queue: await world.full() }) } }) },
    {
      status: 422,
      code: "unknown_type",
      connect: { strictTypes: true },
      ask: () => ({ json: { members: members({ type: "nobody:knows" }) } }),
    },
    { status: 422, code: "invalid_input", ask: () => ({ json: { members: members({}), not_a_field: 1 } }) },
    { status: 422, code: "invalid_input", ask: () => ({ json: { members: {} } }) },
    refused(),
    refused({ after: "m1" }, { after: "m0" }),
    refused({ on_failure: "explode" }),
    refused({ idempotency_key: "k" }),
    refused({ type: "http:request", payload: { url: "ftp://x" } }),
  ],
  "GET /api/v1/flows": [
    { status: 200, ask: () => ({}) },
    {
      status: 200,
      ask: async (world) => {
        await world.endedFlow("dead");
        return { query: "status=failed&limit=1" };
      },
    },
    { status: 422, code: "invalid_input", ask: () => ({ query: "limit=101" }) },
    { status: 422, code: "invalid_input", ask: () => ({ query: "status=pending" }) },
  ],
  "GET /api/v1/flows/{id}": [
    { status: 200, ask: ofRunning },
    { status: 200, ask: async (world) => ({ ...(await ofCompleted(world)), query: "wait=10s" }) },
    { status: 422, code: "invalid_input", ask: async (world) => ({ ...(await ofRunning(world)), query: "wait=soon" }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { id: "7" } }) },
  ],
  "GET /api/v1/flows/{id}/members": [
    { status: 200, ask: ofRunning },
    { status: 200, ask: async (world) => ({ params: { id: (await world.endedFlow("dead")).id }, query: "limit=1000" }) },
    { status: 422, code: "invalid_input", ask: async (world) => ({ ...(await ofRunning(world)), query: "limit=1001" }) },
  ],
  "POST /api/v1/flows/{id}/members": [
    { status: 200, ask: async (world) => ({ ...(await ofRunning(world)), json: { members: members({ after: ["b"] }) } }) },
    {
      status: 409,
      code: "key_conflict",
      ask: async (world) => ({ ...(await ofRunning(world)), json: { members: members({ name, payload: { other: true } }) } }),
    },
    { status: 409, code: "wrong_status", ask: async (world) => ({ ...(await ofCompleted(world)), json: { members: members({}) } }) },
    {
      status: 422,
      code: "unknown_type",
      connect: { strictTypes: true },
      ask: async (world) => ({ ...(await ofRunning(world)), json: { members: members({ type: "nobody:knows" }) } }),
    },
    {
      status: 422,
      code: "invalid_input",
      ask: async (world) => ({ ...(await ofRunning(world)), json: { members: members({ after: "nobody" }) } }),
    },
  ],
  "GET /api/v1/flows/{id}/members/{name}/outcomes": [
    { status: 200, ask: async (world) => ({ params: { id: (await world.flow()).id, name } }) },
    {
      status: 200,
      ask: async (world) => {
        const { id, running } = await world.flow();
        await world.client.cancel(running.job.id);
        await world.client.flows.wait(id);
        return { params: { id, name } };
      },
    },
    { status: 404, code: "not_found", ask: () => ({ params: { id: MISSING_ID, name } }) },
    { status: 404, code: "not_found", ask: async (world) => ({ params: { id: (await world.flow()).id, name: "nobody" } }) },
  ],
  "POST /api/v1/flows/{id}/cancel": [
    { status: 200, ask: ofRunning },
    { status: 409, code: "wrong_status", ask: ofCompleted },
  ],
  "POST /api/v1/flows/{id}/retry": [
    { status: 200, ask: async (world) => ({ params: { id: (await world.endedFlow("dead")).id } }) },
    { status: 409, code: "wrong_status", ask: ofCompleted },
  ],
};
