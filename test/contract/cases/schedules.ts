import type { scheduleRoutes } from "../../../src/http/contract/schedules.ts";
import type { Case } from "../case.ts";

const SPEC = { every: "1h", type: "task", payload: { n: 1 } };
const ofSchedule: Case["ask"] = async (world) => ({ params: { name: await world.schedule() } });

export const scheduleCases: Readonly<Partial<Record<keyof typeof scheduleRoutes, readonly Case[]>>> = {
  "GET /api/v1/schedules": [{ status: 200, ask: () => ({}) }],
  "POST /api/v1/schedules": [
    { status: 201, ask: (world) => ({ json: { name: world.name("schedule"), ...SPEC } }) },
    { status: 409, code: "schedule_exists", ask: async (world) => ({ json: { name: await world.schedule(), ...SPEC } }) },
    {
      status: 422,
      code: "unknown_type",
      connect: { strictTypes: true },
      ask: (world) => ({ json: { name: world.name("schedule"), ...SPEC } }),
    },
  ],
  "POST /api/v1/schedules/preview": [{ status: 200, ask: () => ({ json: { cron: "0 9 * * *", time_zone: "Europe/Berlin", count: 3 } }) }],
  "GET /api/v1/schedules/{name}": [{ status: 200, ask: ofSchedule }],
  "PUT /api/v1/schedules/{name}": [
    { status: 201, ask: (world) => ({ params: { name: world.name("schedule") }, json: SPEC }) },
    { status: 200, ask: async (world) => ({ params: { name: await world.schedule() }, json: SPEC }) },
    {
      status: 422,
      code: "unknown_type",
      connect: { strictTypes: true },
      ask: (world) => ({ params: { name: world.name("schedule") }, json: SPEC }),
    },
  ],
  "DELETE /api/v1/schedules/{name}": [{ status: 200, ask: ofSchedule }],
  "POST /api/v1/schedules/{name}/run": [
    { status: 201, ask: ofSchedule },
    { status: 503, code: "queue_full", ask: async (world) => ({ params: { name: await world.schedule(await world.full()) } }) },
  ],
  "POST /api/v1/schedules/{name}/pause": [{ status: 200, ask: ofSchedule }],
  "POST /api/v1/schedules/{name}/resume": [{ status: 200, ask: ofSchedule }],
  "GET /api/v1/schedules/{name}/preview": [{ status: 200, ask: ofSchedule }],
};
