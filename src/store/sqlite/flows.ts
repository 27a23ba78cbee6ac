/** FLOWS: see "Jobs run after each other" in store.ts. */
import type { MemberText } from "../../core/flow.ts";
import type { NewFlow } from "../../core/job.ts";
import type { FlowChange, FlowChangeAnswer, FlowPage, FlowRead } from "../store.ts";
import { idToBlob } from "./codec.ts";
import {
  ADD_FLOW,
  ADD_MEMBER,
  DELETE_FLOW,
  DELETE_MEMBERS,
  FIND_FLOW,
  FIND_MEMBERS,
  HAS_MEMBER_AFTER,
  READ_MEMBERS,
  SET_HEAD,
  SET_STATE,
} from "./flow-statements.ts";
import { leaveNotice } from "./notices.ts";
import type { Transaction, View } from "./transaction.ts";

type FlowRow = [job: number, version: number, head: string];

export function storeFlow(tx: Transaction, job: number, { head, members, notices }: NewFlow): void {
  tx.on.run(ADD_FLOW, job, head);
  addMembers(tx, job, members);
  for (const notice of notices) leaveNotice(tx, notice);
}

function addMembers({ on }: Transaction, job: number, members: readonly MemberText[]): void {
  for (const { name, plan, state } of members) on.run(ADD_MEMBER, job, name, plan, state);
}

export function readFlow({ on, now }: View, { id, names, after, limit = -1 }: FlowRead): FlowPage | null {
  const row = on.get(FIND_FLOW, idToBlob(id)) as FlowRow | undefined;
  if (row === undefined) return null;
  const [job, version, head] = row;
  // No name is empty.
  const rows = names === undefined ? on.all(READ_MEMBERS, job, after ?? "", limit) : on.all(FIND_MEMBERS, job, JSON.stringify(names));
  const members = rows.map(([name, plan, state]) => ({ name, plan, state }) as MemberText);
  const last = members.at(-1)?.name;
  const hasMore = names === undefined && last !== undefined && on.get(HAS_MEMBER_AFTER, job, last) !== undefined;
  return { now, version, head, members, cursor: hasMore ? last : null };
}

export function changeFlow(tx: Transaction, { id, version, head, states, added, notices }: FlowChange): FlowChangeAnswer {
  const row = tx.on.get(FIND_FLOW, idToBlob(id)) as FlowRow | undefined;
  if (row === undefined) return "missing";
  const [job, present] = row;
  if (present !== version) return "stale";
  tx.on.run(SET_HEAD, head, job);
  for (const { name, state } of states) tx.on.run(SET_STATE, state, job, name);
  addMembers(tx, job, added);
  for (const notice of notices) leaveNotice(tx, notice);
  return "ok";
}

export function deleteFlow({ on }: Transaction, job: number): void {
  on.run(DELETE_FLOW, job);
  on.run(DELETE_MEMBERS, job);
}
