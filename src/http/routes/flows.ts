/** Flows: create, add to, read and change them. */
import type { CreatedFlow, Flow, FlowMemberInput, FlowOptions } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { memberError } from "../../core/flow-graph.ts";
import { stringifyJson } from "../../core/json-text.ts";
import type { flowRoutes, MemberInputWire } from "../contract/flows.ts";
import { changeOptionsOf, type Handlers, ok, readWait, type RouteInput, type RouteParts } from "../route-input.ts";
import { keyErrorOnTheWire, toCreatedFlowWire, toFlowWire, toMemberWire, toOutcomeWire } from "../wire/flow.ts";
import { written } from "../wire/job-text.ts";
import { readFlowOptions, readMember } from "./new-flow.ts";

const REPLAYED = { "Idempotent-Replayed": "true" };

export function flowHandlers(parts: RouteParts): Handlers<keyof typeof flowRoutes> {
  const { client } = parts;
  return {
    async "POST /api/v1/flows"({ body, call }) {
      const members = await readMembers(parts, body.members);
      const flow = await createFlow(parts, members, readFlowOptions(body, call.header("idempotency-key")));
      const wire = toCreatedFlowWire(flow);
      // Relative to this route, so that it is right under any mount path.
      return flow.created
        ? { status: 201, body: wire, headers: { Location: `flows/${flow.id}` } }
        : { status: 200, body: wire, headers: REPLAYED };
    },

    async "GET /api/v1/flows"({ query }) {
      const { flows, cursor } = await client.flows.list(query);
      return ok({ flows: flows.map(toFlowWire), next_cursor: cursor });
    },

    async "GET /api/v1/flows/{id}"(input) {
      return ok(toFlowWire(await getOrWait(parts, input)));
    },

    async "GET /api/v1/flows/{id}/members"({ params: { id }, query }) {
      const { members, cursor } = await client.flows.members(id, query);
      return ok({ members: members.map(toMemberWire), next_cursor: cursor });
    },

    async "POST /api/v1/flows/{id}/members"({ params: { id }, body }) {
      return ok({ jobs: await client.flows.add(id, await readMembers(parts, body.members)) });
    },

    async "GET /api/v1/flows/{id}/members/{name}/outcomes"({ params: { id, name }, query }) {
      const { outcomes, cursor } = await client.flows.outcomes(id, name, query);
      return ok(written(stringifyJson({ outcomes: outcomes.map(toOutcomeWire), next_cursor: cursor })));
    },

    async "POST /api/v1/flows/{id}/cancel"(input) {
      return ok(toFlowWire(await client.flows.cancel(input.params.id, changeOptionsOf(input))));
    },

    async "POST /api/v1/flows/{id}/retry"(input) {
      return ok(toFlowWire(await client.flows.retry(input.params.id, changeOptionsOf(input))));
    },
  };
}

async function createFlow({ client }: RouteParts, members: readonly FlowMemberInput[], options: FlowOptions): Promise<CreatedFlow> {
  try {
    return await client.flow(members, options);
  } catch (error) {
    throw keyErrorOnTheWire(error);
  }
}

/** Checks each payload against the schemas that workers publish, as for a single job. */
async function readMembers({ payloadCheck }: RouteParts, given: readonly MemberInputWire[]): Promise<FlowMemberInput[]> {
  const members: FlowMemberInput[] = [];
  for (const [index, member] of given.entries()) {
    try {
      const input = readMember(member);
      const checked = payloadCheck.check(member, input.payload);
      if (checked !== undefined) await checked;
      members.push(input);
    } catch (error) {
      throw memberError(error, member.name, index);
    }
  }
  return members;
}

/** The flow; with `wait`, once it has ended or the time is over. */
async function getOrWait(parts: RouteParts, input: RouteInput<"GET /api/v1/flows/{id}">): Promise<Flow> {
  const { client } = parts;
  const { id } = input.params;
  const waitMs = readWait(input.query.wait);
  const flow = await requireFlow(parts, id);
  if (waitMs === 0) return flow;
  input.startWaiting();
  try {
    // Also if it has ended by now: its own job may not be told yet.
    return await client.flows.wait(id, { timeout: waitMs, signal: input.ending });
  } catch (error) {
    if (input.ending.aborted || (error instanceof MillraceError && error.code === "wait_timeout")) return requireFlow(parts, id);
    throw error;
  }
}

async function requireFlow({ client }: RouteParts, id: string): Promise<Flow> {
  const flow = await client.flows.get(id);
  if (flow === null) throw new MillraceError("not_found", `there is no flow ${id}`, { jobId: id });
  return flow;
}
