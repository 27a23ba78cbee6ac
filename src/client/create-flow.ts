/** Checks a flow, makes its jobs, and stores it whole: in one commit, with a notice that starts it. */
import { createHash } from "node:crypto";
import { callId } from "../core/called-id.ts";
import { MillraceError } from "../core/errors.ts";
import {
  EMPTY_FLOW,
  FLOW_QUEUE,
  FLOW_TYPE,
  type FlowHead,
  isFirst,
  MAX_FLOW_BYTES,
  MAX_FLOW_MEMBERS,
  MAX_LAST_MEMBERS,
  MAX_NEXT,
  type Member,
  newState,
  readHead,
  readMember,
  textOfMember,
  waitsForAll,
} from "../core/flow.ts";
import { memberId } from "../core/member-job.ts";
import { FLOW_FACET } from "../core/flow-parent.ts";
import {
  type GivenMember,
  memberAt,
  memberError,
  type MemberLinks,
  readLinks,
  readMembers,
  refuseMemberOptions,
} from "../core/flow-graph.ts";
import { type Added, FlowProgress } from "../core/flow-progress.ts";
import { type NewJob, recordOf, WAITING } from "../core/job.ts";
import { createJob, JOB_DEFAULTS, type JobSettings, readJobOptions } from "../core/job-options.ts";
import { partitionOf } from "../core/partition.ts";
import { hasTransaction } from "../core/query-transaction.ts";
import { canonicalText } from "../core/unique.ts";
import { startMembers, startNew } from "../flows/start-members.ts";
import type { InsertAnswer, Store } from "../store/store.ts";
import type { CreatedFlow, Flows } from "./client.ts";
import { type EnqueueParts, type Enqueuer, readGivenId, verbsWithin } from "./enqueue.ts";
import { applied, demandFlow, ended, findFlow, flowNotFound, flowParts, toFlow } from "./flows.ts";
import { heldElsewhere, queueFull, readId, readOptions } from "./refusals.ts";

export interface CreateFlowParts extends EnqueueParts {
  readonly enqueuer: Enqueuer;
}

const MEMBER_FIELDS = ["name", "after", "onFailure"] as const;
const FLOW_OPTIONS = ["key", "keyTtl", "webhookUrl", "tags", "meta", "id", "tx"] as const;

/** Creates a flow. Resolves when it is committed, and its jobs are stored. In the caller's transaction they follow after its commit. */
export async function createFlow(parts: CreateFlowParts, input: unknown, options: unknown): Promise<CreatedFlow> {
  const { tx, key, id: given, ...rest } = readOptions(options, "the options of a flow", FLOW_OPTIONS);
  const inputs = readMembers(input);
  const links = readLinks(inputs);
  const partition = partitionOf(FLOW_QUEUE);
  const id = given === undefined ? parts.createId(partition) : readGivenId(given, partition);
  const members = await makeMembers(parts, id, inputs, links, hasTransaction(tx));
  const job = await flowJob(parts, id, members, key, rest);
  if (hasTransaction(tx)) {
    const [answer] = await verbsWithin(parts.store, tx).insert([job]);
    return answerOf(parts, job, members, answer!, "nowhere");
  }
  await refuseFullQueues(parts.store, members);
  const [answer] = await parts.store.insert([job]);
  // A flow whose id came with the call may be there already: then its members stand as they stand.
  return answerOf(parts, job, members, answer!, given === undefined ? "new" : "stored");
}

/** Adds members to a running flow. */
export function memberAdder(parts: CreateFlowParts): Flows["add"] {
  return async (flow, input) => {
    const id = readId(flow);
    const inputs = readMembers(input);
    const named = inputs
      .flatMap(({ name, after }) => [name, ...(Array.isArray(after) ? after : [after])])
      .filter((name) => typeof name === "string");
    const [page] = await parts.store.readFlows([{ id, names: [...new Set(named)] }]);
    if (page === null) throw flowNotFound(id);
    const there = new Map(page!.members.map((member) => [member.name, readMember(member).plan]));
    const links = readLinks(inputs, (name) => there.get(name));
    const members = await makeMembers(parts, id, inputs, links, false);
    let added: Added[] = [];
    await applied(parts.store, {
      id,
      names: named,
      readsOnlyLast: true,
      apply: (progress, head, known) => {
        added = members.filter((member) => !isKnown(member, known.get(member.name)));
        if (added.length === 0) return;
        if (head.status !== "running" || head.isCancelled) throw ended(id, head.isCancelled ? "cancelled" : head.status, "added to");
        refuseTooMany(head, added);
        refuseTooManyNext(known, added);
        progress.add(added);
      },
    });
    await startMembers(
      flowParts(parts),
      id,
      members.map(({ name }) => name),
    );
    return jobsOf(members);
  };
}

/** Whether this very member was added before. */
function isKnown({ name, plan }: Added, known: Member | undefined): boolean {
  if (known === undefined) return false;
  const [one, other] = [plan.job, known.plan.job];
  if (one.type === other.type && one.queue === other.queue && canonicalText(one.payload) === canonicalText(other.payload)) return true;
  throw new MillraceError("key_conflict", `the flow has another member "${name}", with a different type, queue or payload`, {
    field: "name",
  });
}

function refuseTooMany({ total, last }: FlowHead, added: readonly Added[]): void {
  if (total + added.length > MAX_FLOW_MEMBERS) {
    throw new MillraceError(
      "invalid_input",
      `the flow would have ${total + added.length} members; at most ${MAX_FLOW_MEMBERS} are possible`,
      {
        field: "members",
      },
    );
  }
  if (last.length + added.filter(({ plan }) => waitsForAll(plan)).length > MAX_LAST_MEMBERS) {
    throw new MillraceError("invalid_input", `at most ${MAX_LAST_MEMBERS} members of a flow can wait for "*"`, { field: "members" });
  }
}

function refuseTooManyNext(known: ReadonlyMap<string, Member>, added: readonly Added[]): void {
  const coming = new Map<string, number>();
  for (const { plan } of added) if (!waitsForAll(plan)) for (const name of plan.after) coming.set(name, (coming.get(name) ?? 0) + 1);
  for (const [name, count] of coming) {
    const all = (known.get(name)?.state.next.length ?? 0) + count;
    if (all <= MAX_NEXT) continue;
    const advice = `leave out after where a member may start at once, as in a batch with a callback`;
    throw new MillraceError("invalid_input", `${all} members would wait for "${name}"; at most ${MAX_NEXT} can: ${advice}`, {
      field: "members",
    });
  }
}

// ── Make ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function makeMembers(
  parts: CreateFlowParts,
  flow: string,
  inputs: readonly GivenMember[],
  links: readonly MemberLinks[],
  isWithin: boolean,
): Promise<Added[]> {
  const made: Added[] = [];
  let bytes = 0;
  for (const [index, input] of inputs.entries()) {
    const { name, after, onFailure } = links[index]!;
    const job = await makeJob(parts, flow, name, input, index, isWithin);
    bytes += Buffer.byteLength(job.payload);
    if (bytes > MAX_FLOW_BYTES) {
      throw new MillraceError(
        "invalid_input",
        `the payloads are larger than ${MAX_FLOW_BYTES / 2 ** 20} MiB in all, with that of "${name}"`,
        {
          field: `${memberAt(index)}.payload`,
        },
      );
    }
    made.push({ name, plan: { job, after, onFailure } });
  }
  return made;
}

async function makeJob(
  { enqueuer }: CreateFlowParts,
  flow: string,
  name: string,
  input: GivenMember,
  index: number,
  isWithin: boolean,
): Promise<NewJob> {
  const { type, payload, ...rest } = input;
  const options = Object.fromEntries(Object.entries(rest).filter(([field]) => !(MEMBER_FIELDS as readonly string[]).includes(field)));
  try {
    refuseMemberOptions(options);
    const idOf = (partition: number): string => callId({ id: flow, life: 0 }, name, partition);
    const job = await enqueuer.create(type as string, payload, options, idOf, isWithin);
    return { ...job, facets: { ...job.facets, [FLOW_FACET]: flow } };
  } catch (error) {
    throw memberError(error, name, index);
  }
}

/** The flow itself, with all that is stored beside it. */
async function flowJob(parts: CreateFlowParts, id: string, members: readonly Added[], key: unknown, options: object): Promise<NewJob> {
  const settings = readFlowOptions(parts, key, options);
  if (settings.webhookUrl !== null) await parts.checkWebhookUrl(settings.webhookUrl);
  const payload = { members: members.length, digest: digestOf(members) };
  const progress = new FlowProgress(id, EMPTY_FLOW, [], 0);
  progress.add(members);
  const { head, added, notices } = progress.outcome();
  return {
    ...createJob(id, FLOW_TYPE, payload, { ...settings, queue: FLOW_QUEUE, maxRetries: 0, timeout: 0 }),
    blocked: true,
    // The index of facets has all flows in one line.
    facets: { [FLOW_FACET]: FLOW_QUEUE },
    flow: { head: JSON.stringify(head), members: added.map(textOfMember), notices },
  };
}

function readFlowOptions({ clock }: CreateFlowParts, key: unknown, options: object): JobSettings {
  try {
    return readJobOptions({ ...options, idempotencyKey: key as string | undefined }, JOB_DEFAULTS, clock.now());
  } catch (error) {
    if (!(error instanceof MillraceError) || error.field !== "idempotencyKey") throw error;
    throw new MillraceError(error.code, error.message.replace("idempotencyKey", "key"), { field: "key" });
  }
}

/** What makes two flows with one key the same. The ids of their jobs differ. */
function digestOf(members: readonly Added[]): string {
  const hash = createHash("sha256");
  for (const { name, plan } of members) {
    const { type, queue, payload } = plan.job;
    hash.update(JSON.stringify([name, type, queue, plan.after, plan.onFailure])).update(canonicalText(payload));
  }
  return hash.digest("base64url");
}

// ── Store ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Refuses a flow whose first members find no room. Members that wait need none when they open, and those that are stored after this look need
 * none either: so a flow is stored whole, and many at once may exceed a capacity by what they bring.
 */
async function refuseFullQueues(store: Store, members: readonly Added[]): Promise<void> {
  const first = Map.groupBy(
    members.filter(({ plan }) => isFirst(plan)),
    ({ plan }) => plan.job.queue,
  );
  for (const { name, settings, counts } of await store.queues()) {
    const coming = first.get(name);
    if (coming === undefined || settings.capacity === null) continue;
    const waiting = counts.reduce((sum, { status, count }) => sum + (WAITING.includes(status) ? count : 0), 0);
    const room = Math.max(0, settings.capacity - waiting);
    if (coming.length <= room) continue;
    const full = queueFull(name, settings.capacity);
    throw new MillraceError("queue_full", `member "${coming[room]!.name}": ${full.message}`, { field: "members", retryAfterMs: 1000 });
  }
}

async function answerOf(
  parts: CreateFlowParts,
  job: NewJob,
  members: readonly Added[],
  answer: InsertAnswer,
  membersAre: "new" | "stored" | "nowhere",
): Promise<CreatedFlow> {
  const isWithin = membersAre === "nowhere";
  switch (answer.kind) {
    case "created": {
      if (!isWithin) await start(parts, job, members, membersAre === "new");
      const record = recordOf(job, answer.status, answer.createdAt, answer.runAt);
      const flow = isWithin ? toFlow(record, readHead(job.flow!.head)) : await demandFlow(parts.store, job.id);
      return { ...flow, created: true, jobs: jobsOf(members) };
    }
    case "known": {
      const { id } = answer.job;
      const jobs = members.map(({ name, plan }) => [name, memberId(id, name, plan.job.queue)]);
      const found = await findFlow(parts.store, id);
      if (found === null && !isWithin) throw flowNotFound(id);
      // What this transaction made is not seen outside of it yet.
      const flow = found ?? toFlow(answer.job, readHead(job.flow!.head));
      return { ...flow, created: false, jobs: Object.fromEntries(jobs) as Record<string, string> };
    }
    case "pruned":
      throw new MillraceError("not_found", `the flow with this key, ${answer.id}, ended ${answer.status} and is gone`, {
        jobId: answer.id,
      });
    case "conflict":
      throw new MillraceError("key_conflict", `the key belongs to flow ${answer.id}, which has other members`, {
        field: "key",
        jobId: answer.id,
      });
    case "full":
      throw queueFull(job.queue, answer.capacity);
    case "locked":
      throw heldElsewhere("the key of the flow");
  }
}

async function start(parts: CreateFlowParts, { id }: NewJob, members: readonly Added[], areNew: boolean): Promise<void> {
  for (let from = 0; from < members.length; from += STARTED_AT_ONCE) {
    const some = members.slice(from, from + STARTED_AT_ONCE);
    if (areNew) {
      await startNew(
        flowParts(parts),
        id,
        some.map((member) => ({ ...member, state: newState(0, []) })),
      );
    } else {
      await startMembers(
        flowParts(parts),
        id,
        some.map(({ name }) => name),
      );
    }
  }
}

const STARTED_AT_ONCE = 1000;

function jobsOf(members: readonly Added[]): Record<string, string> {
  return Object.fromEntries(members.map(({ name, plan }) => [name, plan.job.id]));
}
