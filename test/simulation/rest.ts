import { isFlowParent } from "../../src/core/flow-parent.ts";
import { isTerminal, type JobSummaryRecord } from "../../src/core/job.ts";
import { MAX_BATCH, type Store } from "../../src/store/store.ts";

/**
 * Whether nothing is left to do: every job has ended, waits for a signal alone or for other members of its flow, and jobs have nothing more to tell
 * each other. Flows that wait are no jobs of users, so no list has them.
 */
export async function isAtRest(store: Store): Promise<boolean> {
  let blocked = 0;
  for (const { counts } of await store.queues()) {
    for (const { status, count } of counts) {
      if (status === "blocked") blocked += count;
      else if (count > 0 && !isTerminal(status)) return false;
    }
  }
  if ((await store.notices(1)).length > 0) return false;
  return blocked === 0 || doBlockedWaitForSignals(store);
}

async function doBlockedWaitForSignals(store: Store): Promise<boolean> {
  for (const { id, parent, hasSteps } of await blockedJobs(store)) {
    if (isFlowParent(parent) && !hasSteps) continue;
    const open = (await store.readSteps(id, null, null))?.steps.filter(({ state }) => state === "open") ?? [];
    if (open.length === 0 || open.some(({ kind, until }) => kind !== "wait" || until !== null)) return false;
  }
  return true;
}

/** Called jobs that are blocked while their callers wait for them. Those of cancelled callers should be cancelled, and are not among them. */
export async function waitedForJobs(store: Store): Promise<string[]> {
  const called = (await blockedJobs(store)).flatMap(({ id, parent }) =>
    parent === null || isFlowParent(parent) ? [] : [{ id, parent: parent.id }],
  );
  const waitedFor: string[] = [];
  for (let from = 0; from < called.length; from += MAX_BATCH) {
    const some = called.slice(from, from + MAX_BATCH);
    const callers = await store.find(some.map(({ parent }) => parent));
    waitedFor.push(...some.flatMap(({ id }, index) => (callers[index]?.status === "cancelled" ? [] : [id])));
  }
  return waitedFor;
}

async function blockedJobs(store: Store): Promise<JobSummaryRecord[]> {
  const blocked: JobSummaryRecord[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.list({ status: ["blocked"], limit: MAX_BATCH, cursor });
    blocked.push(...page.jobs);
    if (page.cursor === null) return blocked;
    cursor = page.cursor;
  }
}
