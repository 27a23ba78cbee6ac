import type { deadRoutes } from "../../../src/http/contract/dead.ts";
import type { Case } from "../case.ts";

const withDead: Case["ask"] = async (world) => {
  await world.dead();
  return {};
};

export const deadCases: Readonly<Partial<Record<keyof typeof deadRoutes, readonly Case[]>>> = {
  "GET /api/v1/dead": [{ status: 200, ask: withDead }],
  "GET /api/v1/dead/groups": [{ status: 200, ask: withDead }],
  "DELETE /api/v1/dead": [{ status: 200, ask: withDead }],
  "POST /api/v1/dead/retry": [
    { status: 200, ask: async (world) => ({ ...(await withDead(world)), json: { type: "task" } }) },
    { status: 200, ask: withDead },
  ],
};
