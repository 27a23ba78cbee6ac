/** A route of the contract with its checks and its handler. */
import { inputCheck, type InputCheck, namesOf } from "./check-input.ts";
import { MAX_BODY_BYTES } from "./contract/jobs.ts";
import type { Route } from "./contract/route.ts";
import { type RouteName, ROUTES, splitName } from "./contract.ts";
import { type QueryReader, queryReader } from "./read-query.ts";
import type { RawReply, Reply, RouteInput } from "./route-input.ts";

/** Any handler. Its types were checked where it was written. */
export type AnyHandler = (input: RouteInput<never>) => Promise<Reply<unknown> | RawReply> | Reply<unknown> | RawReply;

export interface PreparedRoute {
  readonly name: RouteName;
  readonly method: string;
  readonly path: string;
  readonly rule: Route;
  readonly paramNames: readonly string[];
  readonly readQuery: QueryReader;
  /** Absent if the route has no body. */
  readonly checkBody: InputCheck | undefined;
  readonly maxBody: number;
  readonly handle: AnyHandler;
}

/** What follows from the contract alone. All servers of a process share it, and with it the compiled checks. */
type ReadRoute = Omit<PreparedRoute, "handle">;

const read = new Map<RouteName, ReadRoute>();

export function prepareRoute(name: RouteName, handle: AnyHandler): PreparedRoute {
  const known = read.get(name) ?? readRoute(name);
  read.set(name, known);
  return { ...known, handle };
}

function readRoute(name: RouteName): ReadRoute {
  const rule: Route = ROUTES[name];
  const { method, path } = splitName(name);
  return {
    name,
    method,
    path,
    rule,
    paramNames: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!),
    readQuery: queryReader(rule.query),
    checkBody: rule.body === undefined ? undefined : inputCheck(rule.checksNamesOnly === true ? namesOf(rule.body) : rule.body),
    maxBody: rule.maxBody ?? MAX_BODY_BYTES,
  };
}
