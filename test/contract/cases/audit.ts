import type { auditRoutes } from "../../../src/http/contract/audit.ts";
import type { Case } from "../case.ts";

export const auditCases: Readonly<Partial<Record<keyof typeof auditRoutes, readonly Case[]>>> = {
  "GET /api/v1/audit": [
    {
      status: 200,
      ask: async (world) => {
        await world.client.retry(await world.dead(), { by: "ann", reason: "again" });
        await world.client.schedules.remove(await world.schedule());
        return { query: "limit=2" };
      },
    },
    { status: 422, code: "invalid_input", ask: () => ({ query: "action=explode" }) },
  ],
};
