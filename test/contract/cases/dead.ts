import type { deadRoutes } from "../../../src/http/contract/dead.ts";
import type { Case } from "../case.ts";

const withDead: Case["ask"] = async (world) => {
  await world.dead();
  return {};
};

export const deadCases: Readonly<Partial<Record<keyof typeof deadRoutes, readonly Case[]>>> = {
  "GET /api/v1/dead": [
    { status: 200, ask: withDead },
    { status: 200, ask: async (world) => ({ ...(await withDead(world)), query: "sort=created&ended_from=2026-01-01T00:00:00Z" }) },
  ],
  "GET /api/v1/dead/groups": [
    { status: 200, ask: withDead },
    { status: 200, ask: async (world) => ({ ...(await withDead(world)), query: "ended_from=2026-01-01T00:00:00Z" }) },
  ],
  "DELETE /api/v1/dead": [{ status: 200, ask: withDead }],
  "POST /api/v1/dead/retry": [
    { status: 200, ask: async (world) => ({ ...(await withDead(world)), json: { type: "task" } }) },
    { status: 200, ask: withDead },
  ],
};
