import type { systemRoutes } from "../../../src/http/contract/system.ts";
import type { Case } from "../case.ts";

const FIGURES = { textType: "text/plain; version=0.0.4", text: async () => "up 1\n", json: async () => ({ up: 1 }) };
const ofAny: Case["ask"] = () => ({});

const health: readonly Case[] = [
  { status: 200, ask: ofAny },
  { status: 503, ask: ofAny, server: { isHealthy: () => false } },
];

export const systemCases: Readonly<Partial<Record<keyof typeof systemRoutes, readonly Case[]>>> = {
  "GET /api/v1/events": [{ status: 200, ask: ofAny }],
  "GET /api/v1/ws": [
    { status: 101, ask: ofAny, upgrade: true },
    { status: 426, code: "upgrade_required", ask: ofAny },
    { status: 400, code: "malformed_request", ask: () => ({ headers: { "sec-websocket-key": "none" } }), upgrade: true },
    { status: 403, code: "foreign_origin", ask: () => ({ headers: { origin: "https://evil.test" } }), upgrade: true },
  ],
  "GET /metrics": [
    { status: 200, ask: ofAny, server: { figures: FIGURES } },
    { status: 404, code: "not_found", ask: ofAny },
  ],
  "GET /health": health,
  "GET /health/live": [{ status: 200, ask: ofAny }],
  "GET /health/ready": health,
  "GET /openapi.json": [{ status: 200, ask: ofAny }],
  "GET /docs": [{ status: 200, ask: ofAny }],
};
