/**
 * THE CONTRACT: every route once. It checks requests and types the remote client; the OpenAPI document and the reference are made from it.
 * routes/ has what each route does.
 */
import { aliasRoutes } from "./contract/aliases.ts";
import { auditRoutes } from "./contract/audit.ts";
import { bulkRoutes } from "./contract/bulk.ts";
import { dashboardRoutes } from "./contract/dashboard.ts";
import { deadRoutes } from "./contract/dead.ts";
import { flowRoutes } from "./contract/flows.ts";
import { jobRoutes } from "./contract/jobs.ts";
import { leaseStepRoutes } from "./contract/lease-steps.ts";
import { leaseRoutes } from "./contract/leases.ts";
import { queueRoutes } from "./contract/queues.ts";
import { limitRoutes } from "./contract/limits.ts";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route } from "./contract/route.ts";
import { scheduleRoutes } from "./contract/schedules.ts";
import { signalPageRoutes } from "./contract/signal-pages.ts";
import { stepRoutes } from "./contract/steps.ts";
import { systemRoutes } from "./contract/system.ts";

/** Families of routes, in the order of the reference. */
export const FAMILIES = [
  { name: "Jobs", routes: jobRoutes },
  { name: "Durable work", routes: stepRoutes },
  { name: "Flows", routes: flowRoutes },
  { name: "Dead letters", routes: deadRoutes },
  { name: "Bulk operations", routes: bulkRoutes },
  { name: "Audit", routes: auditRoutes },
  { name: "Queues and statistics", routes: queueRoutes },
  { name: "Limits", routes: limitRoutes },
  { name: "Schedules", routes: scheduleRoutes },
  { name: "Work over HTTP", routes: leaseRoutes },
  { name: "Durable work over HTTP", routes: leaseStepRoutes },
  { name: "Pages that send signals", routes: signalPageRoutes },
  { name: "Server", routes: systemRoutes },
  { name: "Dashboard", routes: dashboardRoutes },
  { name: "Aliases", routes: aliasRoutes },
] as const;

/** Every route by its name, which is its method and path. */
export const ROUTES = {
  ...jobRoutes,
  ...stepRoutes,
  ...flowRoutes,
  ...deadRoutes,
  ...bulkRoutes,
  ...auditRoutes,
  ...queueRoutes,
  ...limitRoutes,
  ...scheduleRoutes,
  ...leaseRoutes,
  ...leaseStepRoutes,
  ...signalPageRoutes,
  ...systemRoutes,
  ...dashboardRoutes,
  ...aliasRoutes,
} as const satisfies Record<string, Route>;

type Routes = typeof ROUTES;
/** The name of a route: its method and path. */
export type RouteName = keyof Routes;

/** Path parameters of a route. */
export type ParamsIn<Name extends RouteName> = Readonly<Record<ParamsOf<Name>, string>>;
/** Query parameters of a route. */
export type QueryIn<Name extends RouteName> = QueryOf<Routes[Name]>;
/** The request body of a route. */
export type BodyIn<Name extends RouteName> = BodyOf<Routes[Name]>;
/** The answers of a route, except problems. */
export type AnswerFrom<Name extends RouteName> = AnswerOf<Routes[Name]>;

export function splitName(name: string): { method: string; path: string } {
  const space = name.indexOf(" ");
  return { method: name.slice(0, space), path: name.slice(space + 1) };
}
