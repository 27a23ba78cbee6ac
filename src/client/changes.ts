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
import { heldElsewhere } from "./refusals.ts";

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
      return announceChanges(parts, await retryJobs(parts, jobs, { ...retryAfter(delayMs), from }, actor), "job:retried");
    case "cancel":
      return tellEnded(
        announcer,
        announceChanges(parts, await store.change(ids, { ...CANCEL, from }, { action: "cancelled", ...actor }), "job:cancelled"),
      );
    case "delete":
      return tellEnded(announcer, await store.remove(ids, from));
  }
}

/** A job whose called jobs somebody else holds is left to a later try: nobody waits for them, and it forgets nothing. */
export async function retryJobs(
  parts: ClientParts,
  jobs: readonly Pick<JobSummaryRecord, "id" | "hasSteps" | "parent">[],
  move: Move,
  actor: Actor,
): Promise<ChangeAnswer[]> {
  const callers = jobs.flatMap(({ id, hasSteps }) => (hasSteps ? [id] : []));
  const retryCalled = (ids: readonly string[]): Promise<ChangeAnswer[]> =>
    inBatches(ids, MAX_BATCH, (some) => parts.store.change(some, { ...RETRY, leavesHeld: true }, { action: "retried", ...actor }));
  const held = await retryFailedCalls(parts, callers, retryCalled);
  const answerOf = new Map<string, ChangeAnswer>();
  // Members of flows wait until their flow opens them: something that they wait for may not have ended.
  for (const [isMember, some] of Map.groupBy(jobs, ({ parent }) => isFlowParent(parent))) {
    const free = some.flatMap(({ id }) => (held.has(id) ? [] : [id]));
    const own = isMember ? retryMember(move) : move;
    const answers = await inBatches(free, MAX_BATCH, (ids) => parts.store.change(ids, own, { action: "retried", ...actor }));
    for (const [index, id] of free.entries()) answerOf.set(id, answers[index]!);
  }
  return jobs.map(({ id }) => answerOf.get(id) ?? { kind: "locked" });
}

/** The same for a single job, which waits for each called job that somebody else holds. Throws if one stays held. */
export async function retryCallsOf(parts: ClientParts, id: string, actor: Actor): Promise<void> {
  const retry = (ids: readonly string[]): Promise<ChangeAnswer[]> => parts.store.change(ids, RETRY, { action: "retried", ...actor });
  const held = await retryFailedCalls(parts, [id], async (ids) => {
    const answers = await inBatches(ids, MAX_BATCH, retry);
    for (const [index, { kind }] of answers.entries()) {
      if (kind === "locked") answers[index] = (await retry([ids[index]!]))[0]!;
    }
    return answers;
  });
  const call = held.get(id);
  if (call !== undefined) throw heldElsewhere(`job ${call}, which job ${id} called`);
}

/**
 * Retries the jobs whose failures these jobs keep, or will be told, before these are retried themselves: what dies of a failed call should not
 * find the same failure again. Called jobs that have not ended, or never failed, stay as they are. Answers which of these jobs must wait,
 * each with a job that it called, or that was called for it, and that somebody else holds.
 */
async function retryFailedCalls(
  parts: ClientParts,
  ids: readonly string[],
  retry: (ids: readonly string[]) => Promise<ChangeAnswer[]>,
  depth = 0,
): Promise<Map<string, string>> {
  const { store } = parts;
  const found = await inBatches(ids, MAX_BATCH, (some) => store.find(some));
  const callerOf = new Map<string, string>();
  for (const job of found) {
    if (job === null || !job.hasSteps || !RETRY.from.includes(job.status)) continue;
    const read = await readAllSteps(store, job.id, null);
    for (const step of read?.steps ?? []) {
      const { call } = detailOf(step);
      if (step.kind === "call" && step.state !== "done" && call !== undefined) callerOf.set(call.id, job.id);
    }
  }
  if (callerOf.size === 0 || depth === MAX_DEPTH) return new Map();
  const called = [...callerOf.keys()];
  const held = await retryFailedCalls(parts, called, retry, depth + 1);
  const free = called.filter((id) => !held.has(id));
  const answers = announceChanges(parts, await retry(free), "job:retried");
  for (const [index, id] of free.entries()) if (answers[index]!.kind === "locked") held.set(id, id);
  return new Map(Array.from(held, ([id, call]) => [callerOf.get(id)!, call]));
}
