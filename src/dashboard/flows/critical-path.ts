/** WHERE THE TIME OF A FLOW WENT: the chain of members that determined its end. Pure. */
import { ALL_OTHERS } from "../../core/flow.ts";
import type { FlowMember } from "../shapes.ts";

type Timed = Pick<FlowMember, "name" | "after" | "status" | "startedAt" | "endedAt">;

/** A member of the chain: it could start at `readyAt`, waited, then ran. */
export interface PathPart<Member extends Timed = FlowMember> {
  readonly member: Member;
  readonly readyAt: number;
  readonly waitMs: number;
  readonly runMs: number;
}

/**
 * From the member that ended last, back through the one of its predecessors that ended last. Whoever never started, because its flow cancelled it,
 * determined no end; but a member may have waited for that. A member that runs counts as if it ended now. Empty as long as none has started.
 */
export function criticalPath<Member extends Timed>(members: readonly Member[], createdAt: number, now: number): PathPart<Member>[] {
  const path: PathPart<Member>[] = [];
  const ended = members.flatMap((member): Ended<Member>[] => {
    const at = member.status === "running" ? now : member.endedAt;
    return at === null ? [] : [{ member, at }];
  });
  const byName = new Map(ended.map((each) => [each.member.name, each]));
  const lastOfOthers = latest(ended.filter(({ member: { after } }) => after !== ALL_OTHERS));
  let here = latest(ended.filter(({ member: { startedAt } }) => startedAt !== null));
  while (here !== undefined && path.length < members.length) {
    const { member, at } = here;
    const { after, startedAt } = member;
    const before: Ended<Member> | undefined = after === ALL_OTHERS ? lastOfOthers : latest(after.flatMap((name) => byName.get(name) ?? []));
    const readyAt = before?.at ?? createdAt;
    // A predecessor may have been retried, and have ended again after this one.
    const beganAt = Math.max(readyAt, startedAt ?? at);
    path.unshift({ member, readyAt, waitMs: beganAt - readyAt, runMs: Math.max(0, at - beganAt) });
    here = before;
  }
  return path;
}

/** A member, and when it ended. */
interface Ended<Member extends Timed> {
  readonly member: Member;
  readonly at: number;
}

function latest<Member extends Timed>(ended: readonly Ended<Member>[]): Ended<Member> | undefined {
  return ended.reduce<Ended<Member> | undefined>((last, one) => (last === undefined || one.at > last.at ? one : last), undefined);
}
