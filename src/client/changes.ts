import type { BulkAction } from "../core/bulk.ts";
import type { Event } from "../core/event.ts";
import type { JobSummaryRecord, Status } from "../core/job.ts";
import { retryMember } from "../core/flow.ts";
import { isFlowParent } from "../core/flow-parent.ts";
import { CANCEL, type Move, RETRY, retryAfter } from "../core/lifecycle.ts";
import type { Actor } from "../core/manual-change.ts";
import { detailOf } from "../core/steps.ts";
import { inBatches } from "../lib/slices.ts";
import { type ChangeAnswer, MAX_BATCH } from "../store/store.ts";
import type { Announcer, ClientParts } from "./announcer.ts";
import { readAllSteps } from "./calls.ts";

/** How many levels of calls a retry by hand follows. */
const MAX_DEPTH = 10;

/** Announces the jobs that were changed; returns the answers. */
export function announceChanges(
  { announcer, clock }: Pick<ClientParts, "announcer" | "clock">,
  answers: ChangeAnswer[],
  event: "job:cancelled" | "job:retried",
): ChangeAnswer[] {
  if (announcer.wanted()) {
    announcer.publish(
      answers.flatMap((answer): Event[] => {
        if (answer.kind !== "ok") return [];
        const { id: jobId, type, queue } = answer.job;
        return [{ event, at: clock.now(), jobId, type, queue }];
      }),
    );
  }
  return answers;
}

/** Tells waiting callers in this process that these jobs have ended or are gone; returns the answers. */
export function tellEnded(announcer: Announcer, answers: ChangeAnswer[]): ChangeAnswer[] {
  for (const answer of answers) if (answer.kind === "ok") announcer.ended(answer.job.id);
  return answers;
}

/** Changes jobs that are still in one of these statuses: somebody may have changed them since they were listed. */
export async function changeJobs(
  parts: ClientParts,
  action: BulkAction,
  jobs: readonly Pick<JobSummaryRecord, "id" | "hasSteps" | "parent">[],
  from: readonly Status[],
  actor: Actor,
  /** For a retry: how long they wait first. */
  delayMs = 0,
): Promise<ChangeAnswer[]> {
  const { store, announcer } = parts;
  const ids = jobs.map(({ id }) => id);
  switch (action) {
    case "retry":
      await retryFailedCalls(
        parts,
        jobs.flatMap(({ id, hasSteps }) => (hasSteps ? [id] : [])),
        actor,
      );
      return announceChanges(parts, await retryEach(parts, jobs, { ...retryAfter(delayMs), from }, actor), "job:retried");
    case "cancel":
      return tellEnded(
        announcer,
        announceChanges(parts, await store.change(ids, { ...CANCEL, from }, { action: "cancelled", ...actor }), "job:cancelled"),
      );
    case "delete":
      return tellEnded(announcer, await store.remove(ids, from));
  }
}

/** Members of flows wait until their flow opens them: something that they wait for may not have ended. */
async function retryEach(
  { store }: ClientParts,
  jobs: readonly Pick<JobSummaryRecord, "id" | "parent">[],
  move: Move,
  actor: Actor,
): Promise<ChangeAnswer[]> {
  const answers = new Map<string, ChangeAnswer>();
  for (const [isMember, some] of Map.groupBy(jobs, ({ parent }) => isFlowParent(parent))) {
    const ids = some.map(({ id }) => id);
    const changed = await store.change(ids, isMember ? retryMember(move) : move, { action: "retried", ...actor });
    for (const [index, id] of ids.entries()) answers.set(id, changed[index]!);
  }
  return jobs.map(({ id }) => answers.get(id)!);
}

/**
 * Retries the jobs whose failures these jobs keep, or will be told, before these are retried themselves: what dies of a failed call should not
 * find the same failure again. Called jobs that have not ended, or never failed, stay as they are.
 */
export async function retryFailedCalls(parts: ClientParts, ids: readonly string[], actor: Actor, depth = 0): Promise<void> {
  const { store } = parts;
  const found = await inBatches(ids, MAX_BATCH, (some) => store.find(some));
  const called: string[] = [];
  for (const job of found) {
    if (job === null || !job.hasSteps || !RETRY.from.includes(job.status)) continue;
    const read = await readAllSteps(store, job.id, null);
    for (const step of read?.steps ?? []) {
      const { call } = detailOf(step);
      if (step.kind === "call" && step.state !== "done" && call !== undefined) called.push(call.id);
    }
  }
  if (called.length === 0 || depth === MAX_DEPTH) return;
  await retryFailedCalls(parts, called, actor, depth + 1);
  const answers = await inBatches(called, MAX_BATCH, (some) => store.change(some, RETRY, { action: "retried", ...actor }));
  announceChanges(parts, answers, "job:retried");
}
