import type { BulkAction } from "../core/bulk.ts";
import type { Event } from "../core/event.ts";
import type { Status } from "../core/job.ts";
import { CANCEL, RETRY } from "../core/lifecycle.ts";
import type { Clock } from "../lib/clock.ts";
import type { ChangeAnswer, Store } from "../store/store.ts";
import type { Announcer } from "./announcer.ts";

/** Announces those jobs that were changed, and hands the answers on. */
export function announceChanges(
  { announcer, clock }: { readonly announcer: Announcer; readonly clock: Clock },
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

/** Tells those in this process who wait for one of these jobs that it has ended or is gone, and hands the answers on. */
export function tellEnded(announcer: Announcer, answers: ChangeAnswer[]): ChangeAnswer[] {
  for (const answer of answers) if (answer.kind === "ok") announcer.ended(answer.job.id);
  return answers;
}

/** Changes many jobs, of those in one of these statuses: a job that somebody else changed since it was listed is not meant any more. */
export async function changeJobs(
  parts: { readonly store: Store; readonly announcer: Announcer; readonly clock: Clock },
  action: BulkAction,
  ids: string[],
  from: readonly Status[],
): Promise<ChangeAnswer[]> {
  const { store, announcer } = parts;
  switch (action) {
    case "retry":
      return announceChanges(parts, await store.change(ids, { ...RETRY, from }), "job:retried");
    case "cancel":
      return tellEnded(announcer, announceChanges(parts, await store.change(ids, { ...CANCEL, from }), "job:cancelled"));
    case "delete":
      return tellEnded(announcer, await store.remove(ids, from));
  }
}
