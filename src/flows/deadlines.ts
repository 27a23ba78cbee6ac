import { deadlineOf } from "../core/deadline.ts";
import type { JobSummaryRecord, NewJob } from "../core/job.ts";
import type { InsertAnswer, Store, TransactionVerbs } from "../store/store.ts";

/** Inserts jobs, and for those that must start in time what comes due at their deadlines. */
export async function insertWithDeadlines(store: Pick<Store, "insert">, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const answers = await store.insert(jobs);
  await insertQuietly(store, deadlinesOf(jobs, answers));
  return answers;
}

/** The same in a caller's transaction, which cannot go on after a failure. */
export async function insertWithDeadlinesWithin(verbs: Pick<TransactionVerbs, "insert">, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const answers = await verbs.insert(jobs);
  const deadlines = deadlinesOf(jobs, answers);
  if (deadlines.length > 0) await verbs.insert(deadlines);
  return answers;
}

/** The jobs are stored, whatever becomes of their deadlines: without one, the claim that comes too late finds out. */
async function insertQuietly(store: Pick<Store, "insert">, deadlines: readonly NewJob[]): Promise<void> {
  if (deadlines.length > 0) await store.insert(deadlines).catch(() => {});
}

function deadlinesOf(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): NewJob[] {
  // Few jobs have one, and this runs for every insert.
  if (!jobs.some(mustStartInTime)) return [];
  return jobs.flatMap((job, index) => {
    const answer = answers[index]!;
    // One that is blocked is due when it opens.
    return answer.kind === "created" && answer.status !== "blocked" ? (deadlineOf(job, answer.runAt) ?? []) : [];
  });
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
  await insertQuietly(store, deadlines);
}
