/** Flows over HTTP. */
import type { CreatedFlow, Flow, Flows } from "../../client/client.ts";
import { FLOW_QUEUE } from "../../core/flow.ts";
import { memberError, readMembers } from "../../core/flow-graph.ts";
import { partitionOf } from "../../core/partition.ts";
import { readFields } from "../../core/read-fields.ts";
import type { Clock } from "../../lib/clock.ts";
import { fromCreatedFlowWire, fromFlowWire, fromMemberWire, fromOutcomesAnswer, keyErrorOfTheLibrary } from "../wire/flow.ts";
import { changeQuery } from "./change-query.ts";
import { type RemoteEnqueuer, refuseTransaction } from "./enqueue.ts";
import { idMaker, readId } from "./ids.ts";
import { readPathName } from "./path-name.ts";
import { queryOf } from "./queries.ts";
import { orNull } from "./schedules.ts";
import type { Transport } from "./transport.ts";
import { waitForRemoteEnd } from "./wait-for-end.ts";
import { wireText } from "./wire-text.ts";

interface RemoteFlowParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly enqueuer: RemoteEnqueuer;
}

const FLOW_OPTIONS = ["key", "keyTtl", "webhookUrl", "tags", "meta", "id", "tx"] as const;

/** Creates flows. The id is made here, so that a request whose answer was lost can be sent again. */
export function remoteFlowMaker(parts: RemoteFlowParts): (members: unknown, options?: unknown) => Promise<CreatedFlow> {
  const createId = idMaker(() => parts.clock.now());
  return async (input, options) => {
    const given = options === undefined || options === null ? {} : readFields(options, "the options of a flow", FLOW_OPTIONS);
    const { tx, key, id = createId(partitionOf(FLOW_QUEUE)), ...rest } = given;
    refuseTransaction(tx);
    const members = await membersText(parts, input);
    try {
      const body = wireText({ idempotencyKey: key, ...rest, id }, { members });
      return fromCreatedFlowWire((await parts.transport.ask("POST /api/v1/flows", { body, repeatable: true })).body);
    } catch (error) {
      throw keyErrorOfTheLibrary(error);
    }
  };
}

async function membersText({ enqueuer }: RemoteFlowParts, input: unknown): Promise<string> {
  const texts: string[] = [];
  for (const [index, member] of readMembers(input).entries()) {
    try {
      texts.push(await enqueuer.memberText(member));
    } catch (error) {
      throw memberError(error, member["name"], index);
    }
  }
  return `[${texts.join(",")}]`;
}

export function createRemoteFlows(parts: RemoteFlowParts): Flows {
  const { transport } = parts;
  return {
    async get(id) {
      const found = await orNull(transport.ask("GET /api/v1/flows/{id}", { params: { id: readId(id) }, repeatable: true }));
      return found === null ? null : fromFlowWire(found.body);
    },
    async list(page) {
      const { body } = await transport.ask("GET /api/v1/flows", { query: queryOf(page, "a list of flows"), repeatable: true });
      return { flows: body.flows.map(fromFlowWire), cursor: body.next_cursor };
    },
    async members(id, page) {
      const request = { params: { id: readId(id) }, query: queryOf(page, "a page of members"), repeatable: true };
      const { body } = await transport.ask("GET /api/v1/flows/{id}/members", request);
      return { members: body.members.map(fromMemberWire), cursor: body.next_cursor };
    },
    async outcomes(id, name, page) {
      const params = { id: readId(id), name: readPathName(name, "member") };
      const request = { params, query: queryOf(page, "a page of outcomes"), repeatable: true };
      const { body, text } = await transport.ask("GET /api/v1/flows/{id}/members/{name}/outcomes", request);
      return { outcomes: fromOutcomesAnswer(body.outcomes, text), cursor: body.next_cursor };
    },
    // A repeat finds the members there.
    async add(id, members) {
      const body = `{"members":${await membersText(parts, members)}}`;
      return (await transport.ask("POST /api/v1/flows/{id}/members", { params: { id: readId(id) }, body, repeatable: true })).body.jobs;
    },
    async cancel(id, options) {
      const { query } = changeQuery(options, "the options of a change");
      const { body } = await transport.ask("POST /api/v1/flows/{id}/cancel", { params: { id: readId(id) }, query, repeatable: true });
      return fromFlowWire(body);
    },
    async retry(id, options) {
      const { query } = changeQuery(options, "the options of a change");
      const { body } = await transport.ask("POST /api/v1/flows/{id}/retry", { params: { id: readId(id) }, query, repeatable: false });
      return fromFlowWire(body);
    },
    wait: (id, options) => waitForFlow(parts, id, options),
  };
}

async function waitForFlow({ transport, clock }: RemoteFlowParts, given: string, options: unknown): Promise<Flow> {
  const id = readId(given);
  const { body } = await waitForRemoteEnd(clock, options, {
    noun: "flow",
    id,
    ask: (waitMs, signal) =>
      transport.ask("GET /api/v1/flows/{id}", { params: { id }, query: { wait: String(waitMs) }, repeatable: true, waitMs, signal }),
    statusOf: (answer) => answer.body.status,
    hasEnded: (answer) => answer.body.status !== "running",
  });
  return fromFlowWire(body);
}
