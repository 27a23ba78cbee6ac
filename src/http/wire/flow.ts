/** FLOWS ON THE WIRE, both ways. */
import type { CreatedFlow, Flow, FlowMember, MemberOutcome } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { textsIn } from "../../core/json-source.ts";
import { resultOf, withTexts } from "../../core/json-text.ts";
import type { CreatedFlowWire, FlowMemberWire, FlowWire, MemberOutcomeWire } from "../contract/flows.ts";
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from "./values.ts";

export function toFlowWire(flow: Flow): FlowWire {
  return {
    id: flow.id,
    status: flow.status,
    key: flow.key,
    members: flow.members,
    completed: flow.completed,
    failed: flow.failed,
    cancelled: flow.cancelled,
    open: flow.open,
    stuck: { count: flow.stuck.count, names: [...flow.stuck.names] },
    webhook_url: flow.webhookUrl,
    tags: [...flow.tags],
    meta: flow.meta,
    created_at: toTime(flow.createdAt),
    ended_at: toTimeOrNull(flow.endedAt),
  };
}

export function fromFlowWire(wire: FlowWire): Flow {
  return {
    id: wire.id,
    status: wire.status,
    key: wire.key,
    members: wire.members,
    completed: wire.completed,
    failed: wire.failed,
    cancelled: wire.cancelled,
    open: wire.open,
    stuck: wire.stuck,
    webhookUrl: wire.webhook_url,
    tags: wire.tags,
    meta: wire.meta,
    createdAt: fromTime(wire.created_at),
    endedAt: fromTimeOrNull(wire.ended_at),
  };
}

export function toCreatedFlowWire(flow: CreatedFlow): CreatedFlowWire {
  return { ...toFlowWire(flow), created: flow.created, jobs: flow.jobs };
}

export function fromCreatedFlowWire(wire: CreatedFlowWire): CreatedFlow {
  return { ...fromFlowWire(wire), created: wire.created, jobs: wire.jobs };
}

export function toMemberWire(member: FlowMember): FlowMemberWire {
  return {
    name: member.name,
    job_id: member.jobId,
    type: member.type,
    queue: member.queue,
    after: member.after === "*" ? member.after : [...member.after],
    on_failure: member.onFailure,
    status: member.status,
    attempt: member.attempt,
    started_at: toTimeOrNull(member.startedAt),
    ended_at: toTimeOrNull(member.endedAt),
    error: member.error,
  };
}

export function fromMemberWire(wire: FlowMemberWire): FlowMember {
  return {
    name: wire.name,
    jobId: wire.job_id,
    type: wire.type,
    queue: wire.queue,
    after: wire.after,
    onFailure: wire.on_failure,
    status: wire.status,
    attempt: wire.attempt,
    startedAt: fromTimeOrNull(wire.started_at),
    endedAt: fromTimeOrNull(wire.ended_at),
    error: wire.error,
  };
}

/** Its result may be a JsonText, so use `stringifyJson` to write it. */
export function toOutcomeWire(outcome: MemberOutcome): MemberOutcomeWire {
  return { name: outcome.name, status: outcome.status, result: resultOf(outcome), error: outcome.error };
}

/** Outcomes that keep the texts of their results as the server wrote them. */
export function fromOutcomesAnswer(outcomes: readonly MemberOutcomeWire[], text: string): MemberOutcome[] {
  const results = textsIn(text, { list: "outcomes", fields: ["result"] });
  return outcomes.map(({ name, status, result, error }, index) => withTexts({ name, status, result, error }, "null", results[index]!.text));
}

// ── Names that differ ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The library calls the idempotency key of a flow `key`. */
const KEY = { library: "key", wire: "idempotencyKey" } as const;

export function keyErrorOnTheWire(error: unknown): unknown {
  return renamed(error, KEY.library, KEY.wire);
}

export function keyErrorOfTheLibrary(error: unknown): unknown {
  return renamed(error, KEY.wire, KEY.library);
}

function renamed(error: unknown, from: string, to: string): unknown {
  if (!(error instanceof MillraceError) || error.field !== from) return error;
  const { code, message, jobId } = error;
  const words = message.startsWith(`${from} `) ? to + message.slice(from.length) : message;
  return new MillraceError(code, words, { field: to, ...(jobId !== undefined && { jobId }), cause: error });
}
