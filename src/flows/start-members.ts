import { createdEvent } from "../core/event.ts";
import { isFirst, jobOf, type Member, readMember } from "../core/flow.ts";
import { inBatches } from "../lib/slices.ts";
import { MAX_BATCH } from "../store/store.ts";
import { changeFlows } from "./change-flows.ts";
import type { FlowParts } from "./flow-parts.ts";

/**
 * Stores the jobs of members. Those that wait for others come first, as blocked: when the flow knows that they are there, it can open them. Those
 * that wait for nothing come last, ready to run. A job that is there already is not stored again, so all of this can be repeated. Returns false if
 * something was locked.
 */
export async function startMembers(parts: FlowParts, id: string, names: readonly string[]): Promise<boolean> {
  const before = await readNamed(parts, id, names);
  if (before === null) return true;
  const waiting = before.filter(({ plan, state }) => state.phase === "new" && !isFirst(plan));
  if (!(await insert(parts, id, waiting))) return false;
  const [answer] = await changeFlows(parts.store, [{ id, names, apply: (progress) => progress.started(names) }]);
  if (answer !== "ok") return answer === "missing";
  const first = ((await readNamed(parts, id, names)) ?? []).filter(({ plan, state }) => isFirst(plan) && state.at === -1);
  return insert(parts, id, first);
}

async function readNamed({ store }: FlowParts, id: string, names: readonly string[]): Promise<Member[] | null> {
  const [page] = await store.readFlows([{ id, names }]);
  return page === null ? null : page!.members.map(readMember);
}

async function insert({ store, clock, announce }: FlowParts, id: string, members: readonly Member[]): Promise<boolean> {
  const jobs = members.map((member) => jobOf(id, member));
  const answers = await inBatches(jobs, MAX_BATCH, (some) => store.insert(some));
  if (announce.wanted() && jobs.length > 0) announce.publish(jobs.map((job) => createdEvent(job, clock.now())));
  return answers.every(({ kind }) => kind !== "locked");
}
