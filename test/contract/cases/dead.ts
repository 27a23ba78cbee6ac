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
  "GET /api/v1/dead/mutes": [
    {
      status: 200,
      ask: async (world) => {
        await world.client.dead.mute("0123456789ab", { reason: "known" });
        return {};
      },
    },
  ],
  "POST /api/v1/dead/groups/{group}/mute": [
    { status: 200, ask: () => ({ params: { group: "0123456789ab" }, query: "reason=known", json: { for: "24h" } }) },
    { status: 200, ask: () => ({ params: { group: "0123456789ab" } }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { group: "0123456789ab" }, json: { for: "soon" } }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { group: "nonsense" } }) },
  ],
  "POST /api/v1/dead/groups/{group}/unmute": [
    { status: 200, ask: () => ({ params: { group: "0123456789ab" } }) },
    { status: 422, code: "invalid_input", ask: () => ({ params: { group: "nonsense" } }) },
  ],
  "DELETE /api/v1/dead": [{ status: 200, ask: withDead }],
  "POST /api/v1/dead/retry": [
    { status: 200, ask: async (world) => ({ ...(await withDead(world)), json: { type: "task" } }) },
    { status: 200, ask: withDead },
  ],
};
