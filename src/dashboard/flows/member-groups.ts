/** MANY MEMBERS IN FEW LINES: members whose names differ only in numbers and ids are a group, `chunk-*`. Pure. */
import { type Status, STATUSES } from "../../core/job.ts";
import type { FlowMember } from "../shapes.ts";

export interface MemberGroup<Member extends GroupedMember = FlowMember> {
  /** What their names have in common, with `*` for what differs; the name itself if there is only one. */
  readonly name: string;
  readonly members: readonly Member[];
  /** How many there are in each status. */
  readonly counts: readonly (readonly [status: Status, count: number])[];
}

type GroupedMember = Pick<FlowMember, "name" | "status">;

const DIFFERS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+/gi;

/** In the order of their first members. */
export function groupsOf<Member extends GroupedMember>(members: readonly Member[]): MemberGroup<Member>[] {
  const groups = Map.groupBy(members, ({ name }) => name.replaceAll(DIFFERS, "*"));
  return Array.from(groups, ([pattern, ofGroup]) => ({
    name: ofGroup.length === 1 ? ofGroup[0]!.name : pattern,
    members: ofGroup,
    counts: countsOf(ofGroup),
  }));
}

/** How many members are in each status, in the order of a job's life. */
export function countsOf(members: readonly GroupedMember[]): (readonly [status: Status, count: number])[] {
  const groups = Map.groupBy(members, ({ status }) => status);
  return STATUSES.flatMap((status) => (groups.has(status) ? [[status, groups.get(status)!.length] as const] : []));
}
