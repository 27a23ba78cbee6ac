/** FLOWS: see "Jobs run after each other" in store.ts. */
import type { MemberText } from "../../core/flow.ts";
import type { NewFlow } from "../../core/job.ts";
import { MAX_STEPS_READ_BYTES } from "../../core/steps.ts";
import type { FlowChange, FlowChangeAnswer, FlowPage, FlowRead } from "../store.ts";
import type { Context } from "./context.ts";
import { leaveNotice } from "./notices.ts";

/** What is kept beside one flow. */
export interface StoredFlow {
  version: number;
  head: string;
  /** By name, in the order in which they were added. */
  readonly members: Map<string, MemberText>;
}

export function storeFlow(memory: Context, { head, members, notices }: NewFlow): StoredFlow {
  for (const notice of notices) leaveNotice(memory, notice);
  return { version: 1, head, members: new Map(members.map((member) => [member.name, { ...member }])) };
}

export function readFlow({ jobs, now }: Context, { id, names, after = null, limit = Infinity }: FlowRead): FlowPage | null {
  const flow = jobs.get(id)?.flow ?? null;
  if (flow === null) return null;
  const { version, head, members } = flow;
  if (names !== undefined) {
    const named = [...new Set(names)].flatMap((name) => members.get(name) ?? []);
    return { now, version, head, members: named.map((member) => ({ ...member })), cursor: null };
  }
  const all = [...members.values()];
  const rest = after === null ? all : all.slice(1 + all.findIndex(({ name }) => name === after));
  const page = rest.slice(0, countThatFit(rest.slice(0, limit)));
  return {
    now,
    version,
    head,
    members: page.map((member) => ({ ...member })),
    cursor: page.length < rest.length ? page.at(-1)!.name : null,
  };
}

/** How many of them one read returns. */
function countThatFit(members: readonly MemberText[]): number {
  let bytes = 0;
  const end = members.findIndex(({ plan, state }) => (bytes += plan.length + state.length) > MAX_STEPS_READ_BYTES);
  return end === -1 ? members.length : Math.max(1, end);
}

export function changeFlow(memory: Context, change: FlowChange): FlowChangeAnswer {
  const flow = memory.jobs.get(change.id)?.flow ?? null;
  if (flow === null) return "missing";
  if (flow.version !== change.version) return "stale";
  flow.version++;
  flow.head = change.head;
  for (const { name, state } of change.states) {
    const member = flow.members.get(name);
    if (member !== undefined) flow.members.set(name, { ...member, state });
  }
  for (const member of change.added) flow.members.set(member.name, { ...member });
  for (const notice of change.notices) leaveNotice(memory, notice);
  return "ok";
}
