import { ALL_OTHERS, classOf, jobStatusOf } from "../../src/core/flow.ts";
import { isTerminal, type Status } from "../../src/core/job.ts";
import type { Bench, Family } from "./family.ts";
import type { SentMember, StoredFlow } from "./line.ts";
import { happened, type JobStory, linesOf, mayHaveHappened, type Moment, type Op } from "./story.ts";

/** What is needed of a member's job once all are read. */
type MemberStory = Pick<JobStory, "id" | "sendings" | "starts" | "settles" | "cancels" | "stored">;
/** The same of a flow. */
type FlowStory = Pick<JobStory, "id" | "sendings" | "additions" | "flowMoves" | "stored">;

/** The jobs of the members of a flow, by name: more than one where another job was made of one that was gone. */
type JobsByName = ReadonlyMap<string, readonly MemberStory[]>;

/** Flows: members run in their order and complete once; a flow is there whole or not at all, comes to an end, and counts what there is. */
export const flows: Family = {
  covers: ["members", "flow"],
  begin(bench) {
    const stories: FlowStory[] = [];
    const members = new Map<string, Map<string, MemberStory[]>>();
    const note = ({ id, sendings, starts, settles, cancels, stored }: JobStory): void => {
      const parent = sendings.find(({ sent }) => sent.parent?.isFlow === true)?.sent.parent;
      if (parent === undefined) return;
      const ofFlow = members.get(parent.job) ?? new Map<string, MemberStory[]>();
      members.set(parent.job, ofFlow);
      const ends = settles.filter(({ ask }) => isTerminal(ask.to));
      ofFlow.set(parent.step, [...(ofFlow.get(parent.step) ?? []), { id, sendings, starts, settles: ends, cancels, stored }]);
    };
    return {
      job: note,
      reborn: note,
      flow: ({ id, sendings, additions, flowMoves, stored }) => void stories.push({ id, sendings, additions, flowMoves, stored }),
      end() {
        const known = new Set(stories.map(({ id }) => id));
        for (const [flow, jobs] of members) if (!known.has(flow)) checkOrphans(bench, flow, jobs);
        for (const story of stories) checkFlow(bench, story, members.get(story.id) ?? new Map());
      },
    };
  },
};

function checkFlow(bench: Bench, story: FlowStory, jobs: JobsByName): void {
  if (!story.sendings.some(mayHaveHappened)) return checkOrphans(bench, story.id, jobs);
  const first = story.sendings.find(({ sent }) => sent.flow !== undefined)?.sent.flow ?? [];
  const added = story.additions.filter(mayHaveHappened).flatMap(({ ask }) => ask.added);
  const plan = new Map([...added, ...first].map((member) => [member.name, member]));
  for (const [name, ofMember] of jobs) checkOrder(bench, story, { plan, first, jobs }, name, ofMember);
  for (const [name, ofMember] of jobs) checkOnce(bench, name, ofMember);
  if (!isAtRest(bench)) return;
  const stored = bench.history.storedFlows.get(story.id);
  if (stored === undefined) checkGone(bench, story, jobs);
  else checkStored(bench, story, { ...stored, plan: [...plan.values()], jobs });
}

// ── How members ran ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Planned {
  readonly plan: ReadonlyMap<string, SentMember>;
  /** Those that the flow began with. */
  readonly first: readonly SentMember[];
  readonly jobs: JobsByName;
}

/** A handler starts when all that its member waits for has ended: well, unless it runs in any case. */
function checkOrder({ report }: Bench, flow: FlowStory, planned: Planned, name: string, ofMember: readonly MemberStory[]): void {
  const member = planned.plan.get(name);
  if (member === undefined) return;
  for (const story of ofMember) {
    for (const start of story.starts) {
      const missing = waitedForBy(member, planned.first).find((one) => !hasEnded(planned.jobs.get(one) ?? [], member, start));
      if (missing === undefined) continue;
      const other = planned.jobs.get(missing)?.[0];
      const says = `member "${name}" of flow ${flow.id} ran before "${missing}" had ${member.onFailure === "run" ? "ended" : "completed"}`;
      report("members", story.id, says, [start.line, ...(other?.settles ?? []).flatMap(linesOf), flow.sendings[0]?.invoked.line]);
    }
  }
}

/** A member that waits for all others may have run before some of them were added. */
function waitedForBy({ after }: SentMember, first: readonly SentMember[]): readonly string[] {
  return after === ALL_OTHERS ? first.filter((one) => one.after !== ALL_OTHERS).map(({ name }) => name) : after;
}

function hasEnded(stories: readonly MemberStory[], { onFailure }: SentMember, { line }: Moment): boolean {
  return stories.some(({ settles, cancels }) => {
    const ends: readonly (Op<"settle"> | Op<"cancel">)[] =
      onFailure === "run" ? [...settles, ...cancels] : settles.filter(({ ask }) => ask.to === "completed");
    return ends.some((end) => mayHaveHappened(end) && end.invoked.line < line);
  });
}

/** Over all jobs that a member had. That one job ends once is another promise. */
function checkOnce({ report }: Bench, name: string, ofMember: readonly MemberStory[]): void {
  const ends = ofMember.flatMap(({ id, settles }) =>
    settles.filter((op) => happened(op) && op.ask.to === "completed").map((op) => ({ id, op })),
  );
  for (const { id, starts } of ofMember) {
    for (const start of starts) {
      const end = ends.find(({ op }) => op.answered!.line < start.line && (op.ask.job !== id || op.ask.fence < start.fence));
      if (end === undefined) continue;
      report("members", id, `member "${name}" was started after it had completed`, [...linesOf(end.op), start.line]);
      return;
    }
  }
}

// ── What is there in the end ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** All that was told has been heard, and nothing is done to anybody any more. What is told and not heard is another promise. */
function isAtRest({ history: { calm, dumped } }: Bench): boolean {
  return calm !== null && dumped !== null && (dumped.notices ?? []).length === 0;
}

/** Nothing of a flow is there that was not stored. */
function checkOrphans({ report }: Bench, flow: string, jobs: JobsByName): void {
  for (const [name, ofMember] of jobs) {
    for (const { id, sendings } of ofMember) {
      const sent = sendings.find(mayHaveHappened);
      if (sent !== undefined) report("flow", id, `is member "${name}" of flow ${flow}, which was never stored`, linesOf(sent));
    }
  }
}

/** It ended and was pruned, or it never came to be: a call of which nobody is sure. */
function checkGone({ report }: Bench, { id, sendings, flowMoves }: FlowStory, jobs: JobsByName): void {
  if (flowMoves.some(({ ask, phase }) => phase !== "fail" && isTerminal(ask.to))) return;
  for (const [name, ofMember] of jobs) {
    const member = ofMember.find(({ stored }) => stored.length > 0);
    if (member === undefined) continue;
    const says = `is member "${name}" of flow ${id}, which never ended and is not there`;
    report("flow", member.id, says, [...sendings.flatMap(linesOf), member.stored[0]!.line]);
  }
}

interface Kept extends StoredFlow, Moment {
  readonly plan: readonly SentMember[];
  readonly jobs: JobsByName;
}

function checkStored(bench: Bench, story: FlowStory, kept: Kept): void {
  const { head, members, line } = kept;
  const complain = (says: string, ...lines: (number | null | undefined)[]): void => {
    bench.report("flow", story.id, says, [story.sendings[0]?.invoked.line, ...lines, line]);
  };
  const names = new Set(members.map(({ name }) => name));
  const first = story.sendings.find(({ sent }) => sent.flow !== undefined)?.sent.flow ?? [];
  const added = story.additions.filter(happened).flatMap(({ ask }) => ask.added);
  const missing = [...first, ...added].find(({ name }) => !names.has(name));
  if (missing !== undefined) complain(`is stored without its member "${missing.name}"`);
  if (head.total !== members.length) complain(`counts ${head.total} members, and has ${members.length}`);
  for (const member of members) checkMember(complain, member, kept);
  checkHead(complain, story, kept);
}

type Complain = (says: string, ...lines: (number | null | undefined)[]) => void;

/** What the flow knows of a member is what its job says. One whose job is gone had ended. */
function checkMember(complain: Complain, member: StoredFlow["members"][number], kept: Kept): void {
  const { name, job, phase, end } = member;
  const stored = kept.jobs.get(name)?.find(({ id }) => id === job)?.stored[0];
  if (phase === "new") return complain(`never started its member "${name}"`, stored?.line);
  if (stored === undefined && end === null) return complain(`waits for its member "${name}", whose job is not there`);
  const status = stored === undefined || !isTerminal(stored.status) ? null : stored.status;
  if (stored !== undefined && status !== end) {
    return complain(`takes its member "${name}" for ${end ?? "not ended"}, and its job is ${stored.status}`, stored.line);
  }
  const { waits, bad } = countsOf(member, kept);
  if (end === "cancelled" && member.isCut && bad === 0) {
    return complain(`has cancelled its member "${name}", and nothing that it waits for ended badly`, stored?.line);
  }
  if (end !== null) return undefined;
  // Whether one that may run does is another promise.
  if (stored!.status !== "blocked") return undefined;
  if (waits === 0 && bad === 0) return complain(`does not open its member "${name}", and nothing is in its way`, stored!.line);
  if (bad > 0 && member.onFailure !== "wait" && (member.onFailure === "cancel" || waits === 0)) {
    return complain(`leaves its member "${name}" blocked, though something that it waits for ended badly`, stored!.line);
  }
  return undefined;
}

/** How many of those that it waits for have not ended, and how many ended badly: counted anew. */
function countsOf({ after }: SentMember, { members }: StoredFlow): { readonly waits: number; readonly bad: number } {
  const before = members.filter((one) => (after === ALL_OTHERS ? one.after !== ALL_OTHERS : after.includes(one.name)));
  const classes = before.map(({ end }) => classOf(end));
  return { waits: classes.filter((one) => one === "open").length, bad: classes.filter((one) => one === "bad").length };
}

function checkHead(complain: Complain, { stored }: FlowStory, kept: Kept): void {
  const { head, members } = kept;
  for (const status of new Set([...(Object.keys(head.ended) as Status[]), ...members.flatMap(({ end }) => end ?? [])])) {
    const [told, there] = [head.ended[status] ?? 0, members.filter(({ end }) => end === status).length];
    if (told !== there) complain(`counts ${told} ${status} members, and has ${there}`);
  }
  const open = members.filter(({ end }) => end === null);
  const stuck = open.filter((member) => {
    const { waits, bad } = countsOf(member, kept);
    return member.onFailure === "wait" && waits === 0 && bad > 0;
  });
  if (head.stuck.count !== stuck.length) complain(`says that ${head.stuck.count} members wait for somebody, and ${stuck.length} do`);
  const areBlocked = open.every(({ name, job }) => kept.jobs.get(name)?.find(({ id }) => id === job)?.stored[0]?.status === "blocked");
  if (open.length > 0 && stuck.length === 0 && areBlocked) complain("has not ended, and no member of it waits for somebody");
  if ((head.status === "running") !== open.length > 0) complain(`is ${head.status} with ${open.length} members that have not ended`);
  if (head.status === "completed" && members.some(({ end }) => end !== "completed")) complain("is completed, and not all its members are");
  const [job] = stored;
  if (job !== undefined && job.status !== jobStatusOf(head.status)) complain(`is ${head.status}, and its job is ${job.status}`, job.line);
}
