import { createdEvent } from "../core/event.ts";
import { isFirst, type Member, readMember } from "../core/flow.ts";
import { jobOf } from "../core/member-job.ts";
import { inBatches } from "../lib/slices.ts";
import { MAX_BATCH } from "../store/store.ts";
import { insertWithDeadlines } from "./deadlines.ts";
import { changeFlows } from "./change-flows.ts";
import type { FlowParts } from "./flow-parts.ts";

/**
 * Stores the jobs of members, and then tells the flow, which opens those that may run. Members that wait for others are stored first, as blocked:
 * one that waits for nothing may end at once. All of this can be repeated. Returns false if something was locked.
 */
export async function startMembers(parts: FlowParts, id: string, names: readonly string[]): Promise<boolean> {
  const [page] = await parts.store.readFlows([{ id, names }]);
  return page === null || startNew(parts, id, page!.members.map(readMember));
}

/** The same of members that were just read, or made. */
export async function startNew(parts: FlowParts, id: string, members: readonly Member[]): Promise<boolean> {
  const fresh = members.filter(({ state }) => state.phase === "new");
  if (fresh.length === 0) return true;
  // One that has ended was stored by somebody, and its job may be gone since.
  const untold = fresh.filter(({ state }) => state.end === null);
  const [first, waiting] = [true, false].map((isWanted) => untold.filter(({ plan }) => isFirst(plan) === isWanted)) as [Member[], Member[]];
  if (!(await insert(parts, id, waiting)) || !(await insert(parts, id, first))) return false;
  const names = fresh.map(({ name }) => name);
  const [answer] = await changeFlows(parts.store, [{ id, names, apply: (progress) => progress.started(names) }]);
  return answer !== "locked";
}

async function insert({ store, clock, announce }: FlowParts, id: string, members: readonly Member[]): Promise<boolean> {
  const jobs = members.map((member) => jobOf(id, member));
  const answers = await inBatches(jobs, MAX_BATCH, (some) => insertWithDeadlines(store, some));
  if (announce.wanted() && jobs.length > 0) announce.publish(jobs.map((job) => createdEvent(job, clock.now())));
  return answers.every(({ kind }) => kind !== "locked");
}
