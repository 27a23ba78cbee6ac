import { deadlineOf } from "../core/deadline.ts";
import type { JobSummaryRecord, NewJob } from "../core/job.ts";
import type { InsertAnswer, Store } from "../store/store.ts";

/** Inserts jobs, and for those that must start in time what comes due at their deadlines. If that fails, a claim still finds out. */
export async function insertWithDeadlines(store: Pick<Store, "insert">, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const answers = await store.insert(jobs);
  // Few jobs have one, and this runs for every insert.
  if (!jobs.some(mustStartInTime)) return answers;
  const deadlines = jobs.flatMap((job, index) => {
    const answer = answers[index]!;
    // One that is blocked is due when it opens.
    return answer.kind === "created" && answer.status !== "blocked" ? (deadlineOf(job, answer.runAt) ?? []) : [];
  });
  if (deadlines.length > 0) await store.insert(deadlines);
  return answers;
}

function mustStartInTime({ startWithinMs }: NewJob): boolean {
  return startWithinMs !== null && startWithinMs !== undefined;
}

/** The same for jobs that have just been opened, or replaced. */
export async function insertDeadlines(
  store: Pick<Store, "insert">,
  jobs: readonly Pick<JobSummaryRecord, "id" | "startWithinMs" | "runAt" | "status">[],
): Promise<void> {
  const deadlines = jobs.flatMap((job) => (job.status === "blocked" ? [] : (deadlineOf(job, job.runAt) ?? [])));
  if (deadlines.length > 0) await store.insert(deadlines);
}
