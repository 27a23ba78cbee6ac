/** Every route with the cases that are special to it, and what follows from the contract for each. */
import { type Route, USUAL_PROBLEMS } from "../../src/http/contract/route.ts";
import { type RouteName, ROUTES } from "../../src/http/contract.ts";
import { type ProblemCode } from "../../src/http/problem-codes.ts";
import type { Case } from "./case.ts";
import { aliasCases } from "./cases/aliases.ts";
import { auditCases } from "./cases/audit.ts";
import { bulkCases } from "./cases/bulk.ts";
import { dashboardCases } from "./cases/dashboard.ts";
import { deadCases } from "./cases/dead.ts";
import { flowCases } from "./cases/flows.ts";
import { jobCases } from "./cases/jobs.ts";
import { leaseStepCases } from "./cases/lease-steps.ts";
import { leaseCases } from "./cases/leases.ts";
import { limitCases } from "./cases/limits.ts";
import { queueCases } from "./cases/queues.ts";
import { scheduleCases } from "./cases/schedules.ts";
import { signalPageCases } from "./cases/signal-pages.ts";
import { stepCases } from "./cases/steps.ts";
import { systemCases } from "./cases/system.ts";
import { usualCase } from "./usual-cases.ts";

const SPECIAL: Readonly<Partial<Record<RouteName, readonly Case[]>>> = {
  ...jobCases,
  ...stepCases,
  ...flowCases,
  ...deadCases,
  ...bulkCases,
  ...auditCases,
  ...queueCases,
  ...limitCases,
  ...scheduleCases,
  ...leaseCases,
  ...leaseStepCases,
  ...signalPageCases,
  ...systemCases,
  ...dashboardCases,
  ...aliasCases,
};

/** These ask the store for nothing before they answer, so it cannot fail them. */
const WITHOUT_STORE: readonly RouteName[] = [
  "GET /api/v1/events",
  "GET /api/v1/ws",
  "GET /api/v1/leases/watch",
  "POST /api/v1/schedules/preview",
  "GET /metrics",
  "GET /openapi.json",
  "GET /docs",
];

/**
 * Problems that are found before the client is asked for anything, or whose case gives the server a client that refuses all. So no store is
 * reached, and one engine proves them for all. The suite counts the calls, so that this list cannot say too much.
 */
const FOUND_BEFORE_STORE: ReadonlySet<ProblemCode> = new Set([
  "unauthorized",
  "forbidden",
  "rate_limited",
  "overloaded",
  "closed",
  "store_unavailable",
  "store_full",
  "internal",
  "malformed_body",
  "unsupported_media_type",
  "body_too_large",
]);

export function reachesStore({ code }: Promised): boolean {
  return code === null || !FOUND_BEFORE_STORE.has(code);
}

export interface Promised {
  readonly name: RouteName;
  readonly status: number | null;
  readonly code: ProblemCode | null;
}

export const NAMES = Object.keys(ROUTES) as RouteName[];

/** All that the contract says a route may answer. */
export function promisesOf(name: RouteName): Promised[] {
  const route: Route = ROUTES[name];
  const usual = route.scope === "open" ? [] : USUAL_PROBLEMS.filter((code) => canMeet(name, code));
  return [
    ...Object.keys(route.answers).map((status) => ({ name, status: Number(status), code: null })),
    ...new Set([...(route.problems ?? []), ...usual]).values().map((code) => ({ name, status: null, code })),
  ];
}

function canMeet(name: RouteName, code: ProblemCode): boolean {
  return !((code === "store_unavailable" || code === "internal") && WITHOUT_STORE.includes(name));
}

/** The cases of a promise: the special ones, else the usual one. */
export function casesOf({ name, status, code }: Promised): readonly Case[] {
  const special = SPECIAL[name] ?? [];
  const own = special.filter((each) => (code === null ? each.code === undefined && each.status === status : each.code === code));
  const [good] = special;
  if (own.length > 0 || code === null || good === undefined) return own;
  const usual = usualCase(name, code, good);
  return usual === null ? [] : [usual];
}
