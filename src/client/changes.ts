import type { BulkAction } from "../core/bulk.ts";
import type { Event } from "../core/event.ts";
import type { Status } from "../core/job.ts";
import { CANCEL, retryAfter } from "../core/lifecycle.ts";
import type { Actor } from "../core/manual-change.ts";
import type { ChangeAnswer } from "../store/store.ts";
import type { Announcer, ClientParts } from "./announcer.ts";

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
  ids: string[],
  from: readonly Status[],
  actor: Actor,
  /** For a retry: how long they wait first. */
  delayMs = 0,
): Promise<ChangeAnswer[]> {
  const { store, announcer } = parts;
  switch (action) {
    case "retry":
      return announceChanges(
        parts,
        await store.change(ids, { ...retryAfter(delayMs), from }, { action: "retried", ...actor }),
        "job:retried",
      );
    case "cancel":
      return tellEnded(
        announcer,
        announceChanges(parts, await store.change(ids, { ...CANCEL, from }, { action: "cancelled", ...actor }), "job:cancelled"),
      );
    case "delete":
      return tellEnded(announcer, await store.remove(ids, from));
  }
}
