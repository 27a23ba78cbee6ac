import { ALL_OTHERS, readMember } from "../core/flow.ts";
import { flowOf } from "../core/flow-parent.ts";
import { type AwaitedMember, explain, type Explanation, MOST_AHEAD, type OpenWait, typesBeside } from "../core/explain.ts";
import { isTerminal, type JobRecord } from "../core/job.ts";
import { type LimitObstacle, obstaclesOf } from "../core/limit-obstacles.ts";
import { decodeLimits } from "../core/limits.ts";
import { detailOf } from "../core/steps.ts";
import { MAX_HOLDERS, type Store } from "../store/store.ts";
import { readAllSteps } from "./calls.ts";
import { jobNotFound, readId } from "./refusals.ts";

type Looks = Pick<Store, "find" | "workers" | "queues" | "schedules" | "ahead" | "limitUse" | "list" | "readSteps" | "readFlows">;

/** Reads the job and, depending on its status, what it waits for. The reads are not one snapshot. */
export async function explainJob(store: Looks, id: string): Promise<Explanation> {
  const [job] = await store.find([readId(id)]);
  if (job === undefined || job === null) throw jobNotFound(id);
  const facts = { job, now: 0, paused: false, workers: [], ahead: 0, obstacles: [], waits: [], members: [] };
  if (isTerminal(job.status)) return { reasons: explain(facts) };
  const [workers, queues, { now }] = await Promise.all([store.workers(), store.queues(), store.schedules([])]);
  const queue = queues.find(({ name }) => name === job.queue);
  const paused = queue?.paused === true;
  if (job.status !== "pending") {
    const waits = job.hasSteps && job.status !== "running" ? await openWaits(store, job.id) : [];
    const members = job.status === "blocked" ? await awaitedMembers(store, job) : [];
    return { reasons: explain({ ...facts, now, paused, workers, waits, members }) };
  }
  const [ahead, obstacles] = await Promise.all([
    store.ahead(id, typesBeside(job, workers), MOST_AHEAD),
    readObstacles(store, job, queue?.settings.limits ?? null),
  ]);
  // If it left its lane meanwhile, nothing was before it.
  return { reasons: explain({ ...facts, now, paused, workers, ahead: ahead ?? 0, obstacles }) };
}

async function openWaits(store: Looks, id: string): Promise<OpenWait[]> {
  const read = await readAllSteps(store, id, null);
  return (read?.steps ?? []).flatMap((step) => {
    const { name, kind, state, until } = step;
    return state === "open" ? [{ name, kind, until, call: detailOf(step).call ?? null }] : [];
  });
}

/** The members of its flow that a member waits for. Of one that waits for all others only those of the first page are told. */
async function awaitedMembers(store: Looks, job: JobRecord): Promise<readonly AwaitedMember[]> {
  const flow = flowOf(job);
  if (flow === null) return [];
  const [own] = await store.readFlows([{ id: flow.id, names: [flow.name] }]);
  const text = own?.members[0];
  if (text === undefined) return [];
  const { after } = readMember(text).plan;
  const [page] = await store.readFlows([
    after === ALL_OTHERS ? { id: flow.id, after: null, limit: MOST_LOOKED_AT } : { id: flow.id, names: after },
  ]);
  const members = (page?.members ?? []).map(readMember).filter(({ plan }) => after !== ALL_OTHERS || plan.after !== ALL_OTHERS);
  return members.filter(({ state }) => state.end !== "completed").map(({ name, state }) => ({ name, end: state.end }));
}

const MOST_LOOKED_AT = 1000;

/** Which limits keep a pending job from starting. `limits` are those of its queue, in stored form. */
async function readObstacles(store: Looks, { queue, limitKey, cost }: JobRecord, limits: string | null): Promise<readonly LimitObstacle[]> {
  if (limits === null && limitKey === null) return [];
  const used = await store.limitUse(queue, limitKey === null ? [] : [limitKey]);
  if (used === null) return [];
  const obstacles = obstaclesOf(decodeLimits(limits), used, used.keys[0] ?? null, cost);
  return Promise.all(obstacles.map((obstacle) => withHolders(store, queue, obstacle)));
}

/** The store tells the holders of a limit key. Those of the limit of a queue are any of its running jobs. */
async function withHolders(store: Looks, queue: string, obstacle: LimitObstacle): Promise<LimitObstacle> {
  if (obstacle.kind !== "running" || obstacle.key !== null) return obstacle;
  const { jobs } = await store.list({ queue, status: ["running"], limit: MAX_HOLDERS });
  return { ...obstacle, holders: jobs.map(({ id }) => id) };
}
