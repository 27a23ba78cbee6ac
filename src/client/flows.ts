/** FLOWS of a client over a store: show, add to, cancel, retry, wait for. create-flow.ts makes them, and src/flows/ does what follows. */
import { auditEntry } from "../core/audit.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import {
  ALL_OTHERS,
  classOf,
  FLOW_QUEUE,
  FLOW_STATUSES,
  FLOW_TYPE,
  type FlowHead,
  type FlowStatus,
  jobStatusOf,
  MAX_FLOWS_PAGE,
  MAX_MEMBERS_PAGE,
  type Member,
  momentOf,
  readHead,
  readMember,
} from "../core/flow.ts";
import { jobIdOf } from "../core/member-job.ts";
import { FLOW_FACET } from "../core/flow-parent.ts";
import { type Job, type JobRecord } from "../core/job.ts";
import { withTexts } from "../core/json-text.ts";
import { RETRY } from "../core/lifecycle.ts";
import { type Actor, CHANGE_OPTIONS, readActor } from "../core/manual-change.ts";
import { demandInteger } from "../core/read-fields.ts";
import { type CallError, readStepName } from "../core/steps.ts";
import { act, remake } from "../flows/act.ts";
import { cancelMembers } from "../flows/cancel-members.ts";
import { changeFlows } from "../flows/change-flows.ts";
import { endFlow } from "../flows/end-flow.ts";
import type { FlowParts } from "../flows/flow-parts.ts";
import { MAX_BATCH, type Store } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import { announceChanges, retryJobs } from "./changes.ts";
import type { Flow, FlowMember, FlowPage, Flows, MemberOutcome, MemberPage } from "./client.ts";
import { readCursor } from "./filter.ts";
import { heldElsewhere, readId, readOptions } from "./refusals.ts";
import { waitForEnd, type WaitParts } from "./wait.ts";

const USUAL_MEMBERS_PAGE = 100;

export interface FlowClientParts extends ClientParts, WaitParts {
  readonly add: Flows["add"];
}

export function flowParts({ store, clock, announcer }: ClientParts): FlowParts {
  return { store, clock, announce: announcer };
}

export function createFlows(parts: FlowClientParts): Flows {
  const { store } = parts;
  return {
    get: (id) => findFlow(store, readId(id)),
    list: (query) => listFlows(store, query),
    members: (id, page) => listMembers(store, readId(id), page),
    outcomes: (id, name, page) => outcomesBefore(store, readId(id), readStepName(name, "name"), page),
    add: parts.add,
    cancel: (id, options) => cancelFlow(parts, readId(id), readWho(parts, options)),
    retry: (id, options) => retryFlow(parts, readId(id), readWho(parts, options)),
    wait: async (id, options) => {
      await demandFlow(store, readId(id));
      await waitForEnd({ ...parts, get: (flow) => jobAsFlow(parts, flow) }, id, options);
      return demandFlow(store, id);
    },
  };
}

/** The job of a flow. After a retry, the flow runs before its job does: until then the job has not ended either. */
async function jobAsFlow({ store, get }: FlowClientParts, id: string): Promise<Job | null> {
  const [job, flow] = await Promise.all([get(id), findFlow(store, id)]);
  return job !== null && flow?.status === "running" ? { ...job, status: jobStatusOf("running") } : job;
}

function readWho(parts: ClientParts, options: unknown): Actor {
  return readActor(readOptions(options, "the options of a change", CHANGE_OPTIONS), parts.actor);
}

// ── Show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function findFlow(store: Store, id: string): Promise<Flow | null> {
  const [[record], [page]] = await Promise.all([store.find([id]), store.readFlows([{ id, names: [] }])]);
  return record?.type !== FLOW_TYPE || page === null ? null : toFlow(record, readHead(page!.head));
}

export async function demandFlow(store: Store, id: string): Promise<Flow> {
  const flow = await findFlow(store, id);
  if (flow === null) throw flowNotFound(id);
  return flow;
}

export function toFlow(record: Omit<JobRecord, "payload" | "result">, head: FlowHead): Flow {
  const { completed = 0, dead = 0, failed = 0, cancelled = 0 } = head.ended;
  return {
    id: record.id,
    status: head.status,
    key: record.idempotencyKey,
    members: head.total,
    completed,
    failed: dead + failed,
    cancelled,
    open: head.total - completed - dead - failed - cancelled,
    stuck: head.stuck,
    webhookUrl: record.webhookUrl,
    tags: record.tags,
    meta: record.meta === null ? null : (JSON.parse(record.meta) as Record<string, unknown>),
    createdAt: record.createdAt,
    endedAt: head.endedAt,
  };
}

async function listFlows(store: Store, input: unknown): Promise<FlowPage> {
  const { status, limit = MAX_FLOWS_PAGE, cursor } = readOptions(input, "a list of flows", ["status", "limit", "cursor"]);
  const wanted = status === undefined || status === null ? undefined : [jobStatusOf(readStatus(status))];
  const page = await store.list({
    queue: FLOW_QUEUE,
    internal: true,
    status: wanted,
    // The index of facets has all flows in one line, whatever other jobs there are.
    facets: { [FLOW_FACET]: FLOW_QUEUE },
    limit: demandInteger(limit, "limit", 1, MAX_FLOWS_PAGE),
    cursor: readCursor(cursor),
  });
  const heads = await store.readFlows(page.jobs.map(({ id }) => ({ id, names: [] })));
  const flows = page.jobs.flatMap((record, index) => (heads[index] === null ? [] : toFlow(record, readHead(heads[index]!.head))));
  return { flows, cursor: page.cursor };
}

function readStatus(status: unknown): FlowStatus {
  if (FLOW_STATUSES.includes(status as FlowStatus)) return status as FlowStatus;
  throw invalid("status", FLOW_STATUSES.join(", "), status);
}

async function listMembers(store: Store, id: string, input: unknown): Promise<MemberPage> {
  const { limit = USUAL_MEMBERS_PAGE, cursor } = readOptions(input, "a page of members", ["limit", "cursor"]);
  const most = demandInteger(limit, "limit", 1, MAX_MEMBERS_PAGE);
  const [page] = await store.readFlows([{ id, after: readCursor(cursor) ?? null, limit: most }]);
  if (page === null) throw flowNotFound(id);
  const members = page!.members.map(readMember);
  const jobs = members.length === 0 ? [] : await store.find(members.map((member) => jobIdOf(id, member)));
  return { members: members.map((member, index) => toMember(id, member, jobs[index] ?? null)), cursor: page!.cursor };
}

function toMember(flow: string, member: Member, job: JobRecord | null): FlowMember {
  const { name, plan, state } = member;
  const { after, onFailure, job: planned } = plan;
  return {
    name,
    jobId: jobIdOf(flow, member),
    type: planned.type,
    queue: planned.queue,
    after,
    onFailure,
    status: job?.status ?? state.end ?? "blocked",
    attempt: job?.attempt ?? 0,
    startedAt: job?.startedAt ?? null,
    endedAt: job?.completedAt ?? null,
    error: outcomeOf(member, job)?.error ?? null,
  };
}

/** Null if it has not ended. The flow keeps what a member may read, in case the job is gone. */
function outcomeOf({ name, state }: Member, job: JobRecord | null): MemberOutcome | null {
  const { end, value } = state;
  if (end === null) return null;
  if (end !== "completed") {
    const told = value === null ? null : (JSON.parse(value) as CallError);
    const { name: error = "Cancelled", message = "it was cancelled", kind = "cancelled" } = told ?? job?.error ?? {};
    return { name, status: end, result: null, error: { name: error, message, kind, status: end } };
  }
  const text = value ?? job?.result ?? null;
  const outcome = { name, status: end, result: text === null ? null : (JSON.parse(text) as unknown), error: null };
  return withTexts(outcome, "null", text);
}

/** How the members ended that a member waits for. */
async function outcomesBefore(store: Store, id: string, name: string, input: unknown): ReturnType<Flows["outcomes"]> {
  const cursor = readCursor(readOptions(input, "a page of outcomes", ["cursor"]).cursor) ?? null;
  const [found] = await store.readFlows([{ id, names: [name] }]);
  if (found === null) throw flowNotFound(id);
  const [text] = found!.members;
  if (text === undefined) throw new MillraceError("not_found", `flow ${id} has no member "${name}"`, { field: "name" });
  const { after } = readMember(text).plan;
  const page = after === ALL_OTHERS ? await readAll(store, id, cursor) : await readNamed(store, id, after, cursor);
  const members = page.members.filter(({ state }) => state.end !== null);
  // Nobody was going to read these when they ended.
  const unkept = members.filter(({ state }) => state.end === "completed" && state.value === null);
  const jobs = unkept.length === 0 ? [] : await store.find(unkept.map((member) => jobIdOf(id, member)));
  const jobOf = new Map(unkept.map((member, index) => [member.name, jobs[index] ?? null]));
  return { outcomes: members.flatMap((member) => outcomeOf(member, jobOf.get(member.name) ?? null) ?? []), cursor: page.cursor };
}

interface Page {
  readonly members: Member[];
  readonly cursor: string | null;
}

async function readAll(store: Store, id: string, after: string | null): Promise<Page> {
  const [page] = await store.readFlows([{ id, after, limit: MAX_MEMBERS_PAGE }]);
  const members = (page?.members ?? []).map(readMember).filter(({ plan }) => plan.after !== ALL_OTHERS);
  return { members, cursor: page?.cursor ?? null };
}

/** About how many named ones fit into one answer, each with a result of average size. */
const NAMED_AT_ONCE = 100;

async function readNamed(store: Store, id: string, names: readonly string[], cursor: string | null): Promise<Page> {
  const from = cursor === null ? 0 : names.indexOf(cursor) + 1;
  const some = names.slice(from, from + NAMED_AT_ONCE);
  const [page] = some.length === 0 ? [null] : await store.readFlows([{ id, names: some }]);
  return { members: (page?.members ?? []).map(readMember), cursor: from + some.length < names.length ? some.at(-1)! : null };
}

// ── Change ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function cancelFlow(parts: FlowClientParts, id: string, actor: Actor): Promise<Flow> {
  const { store } = parts;
  let hasEnded = false;
  const cancel: Parameters<typeof changeFlows>[1][number] = {
    id,
    names: [],
    apply: (progress, { status, isCancelled }) => {
      hasEnded = status !== "running";
      // The first answer may have been lost, so a repeat succeeds, too.
      if (hasEnded && status !== "cancelled") throw ended(id, status, "cancelled");
      if (!hasEnded && !isCancelled) progress.cancel();
    },
  };
  await applied(store, cancel);
  if (!hasEnded) {
    await cancelMembers(flowParts(parts), id, actor);
    await parts.writeAudit([auditEntry("flow:cancelled", actor, { jobId: id })]);
  }
  return demandFlow(store, id);
}

/** Which members a retry takes: of a cancelled flow, those that were cancelled, too. */
function isRetried({ state }: Member, isCancelled: boolean): boolean {
  const { end, cause } = state;
  return end !== null && classOf(end) === "bad" && (end !== "cancelled" || (isCancelled && cause === null));
}

async function retryFlow(parts: FlowClientParts, id: string, actor: Actor): Promise<Flow> {
  const { store } = parts;
  let retried = 0;
  let wasCancelled: boolean | undefined;
  for (let after: string | null = null; ;) {
    const [page] = await store.readFlows([{ id, after, limit: MAX_BATCH }]);
    if (page === null) throw flowNotFound(id);
    // As it was before: with the first members that are retried, the flow is cancelled no more.
    wasCancelled ??= readHead(page!.head).isCancelled;
    const members = page!.members.map(readMember).filter((member) => isRetried(member, wasCancelled === true));
    if (members.length > 0) retried += await retryMembers(parts, id, members, actor);
    after = page!.cursor;
    if (after === null) break;
  }
  if (retried === 0) throw nothingToRetry(id, (await demandFlow(store, id)).status);
  await parts.writeAudit([auditEntry("flow:retried", actor, { jobId: id, details: `${retried} members` })]);
  return demandFlow(store, id);
}

/** Retries these members, or makes them anew if their jobs are gone, and lets the flow know at once. The notices say the same again, in case this process ends here. */
async function retryMembers(parts: FlowClientParts, id: string, members: readonly Member[], actor: Actor): Promise<number> {
  const { store } = parts;
  const found = await store.find(members.map((member) => jobIdOf(id, member)));
  const gone = members.filter((_, index) => found[index] === null);
  const jobs = found.filter((job) => job !== null);
  const answers = announceChanges(parts, await retryJobs(parts, jobs, RETRY, actor), "job:retried");
  const told = answers.flatMap((answer) =>
    answer.kind === "ok"
      ? [{ name: answer.job.parent!.step, jobId: answer.job.id, at: momentOf(answer.job.fence, true), end: null, value: null }]
      : [],
  );
  const locked = await remake(
    parts,
    gone.map((member) => ({ flow: id, member })),
  );
  if (locked.length > 0) throw heldElsewhere(`flow ${id}`);
  const names = told.map(({ name }) => name);
  await applied(store, { id, names, apply: (progress) => told.forEach((one) => progress.told(one)) });
  await act(flowParts(parts), [{ id, names: [...names, ...gone.map(({ name }) => name)] }]);
  await endFlow(flowParts(parts), id);
  const held = answers.findIndex(({ kind }) => kind === "locked");
  if (held !== -1) throw heldElsewhere(`job ${jobs[held]!.id}, a member of flow ${id}`);
  return told.length + gone.length;
}

/** Changes one flow. */
export async function applied(store: Store, work: Parameters<typeof changeFlows>[1][number]): Promise<void> {
  const [answer] = await changeFlows(store, [work]);
  if (answer === "missing") throw flowNotFound(work.id);
  if (answer === "locked") throw heldElsewhere(`flow ${work.id}`);
}

// ── Refuse ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function flowNotFound(id: string): MillraceError {
  return new MillraceError("not_found", `there is no flow ${id}: it was removed, or pruned after its retention, or never existed`, {
    jobId: id,
  });
}

export function ended(id: string, status: FlowStatus, verb: string): MillraceError {
  return new MillraceError("wrong_status", `flow ${id} has ended: it is ${status}, and only a running flow can be ${verb}`, {
    jobId: id,
    field: "status",
  });
}

function nothingToRetry(id: string, status: FlowStatus): MillraceError {
  return new MillraceError("wrong_status", `flow ${id} is ${status} and has no member that is dead or failed`, {
    jobId: id,
    field: "status",
  });
}
