import type { stepRoutes } from "../../../src/http/contract/steps.ts";
import { MISSING_ID } from "../../unit/http/open-api.ts";
import type { Case } from "../case.ts";

const name = "approval";

export const stepCases: Readonly<Record<keyof typeof stepRoutes, readonly Case[]>> = {
  "GET /api/v1/jobs/{id}/steps": [
    { status: 200, ask: async (world) => ({ params: { id: await world.suspended() } }) },
    { status: 200, ask: async (world) => ({ params: { id: await world.waiting() } }) },
    {
      status: 200,
      ask: async (world) => {
        const id = await world.suspended();
        await world.client.signal(id, name, { by: "ann" });
        return { params: { id } };
      },
    },
    { status: 422, code: "invalid_input", ask: () => ({ params: { id: "7" } }) },
  ],
  "POST /api/v1/jobs/{id}/signals/{name}": [
    { status: 200, ask: async (world) => ({ params: { id: await world.suspended(), name }, json: { payload: { by: "ann" }, id: "s-1" } }) },
    { status: 200, ask: async (world) => ({ params: { id: await world.waiting(), name } }) },
    {
      status: 200,
      ask: async (world) => {
        const id = await world.suspended();
        await world.client.signal(id, name, { by: "ann" });
        return { params: { id, name }, json: { payload: { by: "bob" } } };
      },
    },
    { status: 422, code: "invalid_input", ask: async (world) => ({ params: { id: await world.suspended(), name }, json: { payload: 7 } }) },
    { status: 422, code: "invalid_input", ask: async (world) => ({ params: { id: await world.suspended(), name }, json: { id: "" } }) },
    { status: 404, code: "not_found", ask: () => ({ params: { id: MISSING_ID, name } }) },
    { status: 409, code: "wrong_status", ask: async (world) => ({ params: { id: await world.completed(), name } }) },
  ],
};
