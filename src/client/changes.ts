import type { Event } from "../core/event.ts";
import type { Clock } from "../lib/clock.ts";
import type { ChangeAnswer } from "../store/store.ts";
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
