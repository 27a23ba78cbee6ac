import { MAX_WAIT_SCHEMA_BYTES } from "../../../src/core/steps.ts";
import type { leaseStepRoutes } from "../../../src/http/contract/lease-steps.ts";
import { MISSING_ID } from "../../unit/http/open-api.ts";
import type { Case, World } from "../case.ts";
import { lease } from "./leases.ts";

const signals = { url: "https://jobs.example.com", secret: "a secret of the tests" };

function kept(steps: unknown): Case["ask"] {
  return async (world) => ({ json: { ...(await lease(world)), steps } });
}

/** A running job that has steps of every kind. */
async function resumed(world: World): Promise<{ id: string; fence: number }> {
  const { id, fence } = await lease(world);
  const open = { state: "open", value: null, detail: null } as const;
  const waits = [
    { ...open, name: "approval", kind: "wait", untilMs: 60_000 },
    { ...open, name: "render", kind: "call", untilMs: null },
  ] as const;
  const calls = [{ step: "render", type: "task", payload: "null", options: { queue: world.name("queue") } }];
  await world.client.leases.keepSteps({
    id,
    fence,
    steps: [{ name: "account", kind: "step", state: "done", value: "12345678901234567890", untilMs: null, detail: '{"runMs":5}' }],
  });
  await world.client.leases.exchange([{ id, fence, outcome: { kind: "suspend", waits, calls } }], null);
  await world.client.signal(id, "approval", { by: "ann" });
  const { queue } = (await world.client.get(id))!;
  const claim = { workerId: "w1", queues: [queue], types: "*", limit: 1, leaseMs: 60_000, turn: 2, again: false } as const;
  const { jobs } = await world.client.leases.exchange([], claim);
  return { id, fence: jobs[0]!.fence };
}

export const leaseStepCases: Readonly<Record<keyof typeof leaseStepRoutes, readonly Case[]>> = {
  "POST /api/v1/leases/steps": [
    { status: 200, ask: kept([{ name: "account", value: { id: 1 }, run_ms: 2.5 }, { name: "mail" }]) },
    {
      status: 200,
      ask: kept([{ name: "a", kind: "wait", delay: "1h", schema: { type: "object" }, refused: [{ at: 1, by: "s", error: "no" }] }]),
    },
    { status: 200, ask: () => ({ json: { id: MISSING_ID, fence: 1, steps: [{ name: "account", value: 1 }] } }) },
    ...[[], [{}], [{ name: "a\nb" }], [{ name: "a", kind: "sleep" }], [{ name: "a", value: "x".repeat(1024 * 1024) }]]
      .concat([[{ name: "a", kind: "wait", schema: { title: "x".repeat(MAX_WAIT_SCHEMA_BYTES) } }]])
      .map((steps): Case => ({ status: 422, code: "invalid_input", ask: kept(steps) })),
  ],
  "POST /api/v1/leases/steps/read": [
    { status: 200, ask: async (world) => ({ json: await resumed(world) }) },
    { status: 200, ask: () => ({ json: { id: MISSING_ID, fence: 1 } }) },
  ],
  "POST /api/v1/leases/signal-url": [
    {
      status: 200,
      connect: { signals },
      ask: () => ({ json: { id: MISSING_ID, name: "approval", ttl: "1h", payload: { approved: true } } }),
    },
    { status: 422, code: "invalid_input", connect: { signals }, ask: () => ({ json: { id: MISSING_ID, name: "approval", ttl: 1 } }) },
    {
      status: 422,
      code: "invalid_input",
      connect: { signals },
      ask: () => ({ json: { id: MISSING_ID, name: "a", payload: "x".repeat(1100) } }),
    },
    { status: 422, code: "invalid_input", ask: () => ({ json: { id: MISSING_ID, name: "approval" } }) },
  ],
};
