/**
 * What must hold when a load has come to its end, whatever happened on the way: the ledger, which the store's clients wrote, against the
 * store. An enqueue is accepted, refused or unknown; a job of an unknown one may be there or not, but not twice.
 */
import type { Attempt, Client, Job } from "millrace";
import { expect } from "vitest";
import type { LedgerLine } from "./ledger.ts";

export interface Verdict {
  readonly jobs: number;
  /** Attempts that ended because their lease was lost. */
  readonly lostAttempts: number;
  /** Enqueues whose fate was unknown, and that had been committed. */
  readonly landed: number;
}

/** Jobs of which a crash may have undone something, because the store's setting allows it. */
export interface Allowance {
  readonly mayBeUndone: (line: LedgerLine) => boolean;
}

/** Everything that was promised is there and done, nothing else is there, and the history of each job is that of its attempts. */
export async function expectAllDoneOnce(client: Client, lines: readonly LedgerLine[], allowance?: Allowance): Promise<Verdict> {
  const jobs = await allJobs(client);
  const excused = new Set(lines.flatMap((line) => ("id" in line && allowance?.mayBeUndone(line) === true ? [line.id] : [])));
  expectNothingLost(lines, jobs, excused);
  expectNothingInvented(lines, jobs);
  const histories = await historiesOf(client, jobs);
  expectSoundHistories(lines, jobs, histories, excused);
  if (excused.size === 0) await expectEachCountedOnce(client, jobs.size);
  return {
    jobs: jobs.size,
    lostAttempts: [...histories.values()].flat().filter(({ error }) => error?.kind === "lost").length,
    landed: landedOf(lines, jobs),
  };
}

/** Accepted jobs are there, are completed, and a handler has come to its end for each. */
function expectNothingLost(lines: readonly LedgerLine[], jobs: ReadonlyMap<string, Job>, excused: ReadonlySet<string>): void {
  const ended = new Set(lines.flatMap((line) => (line.op === "end" ? [line.id] : [])));
  const lost = lines.filter((line) => {
    if (line.op !== "accepted") return false;
    const job = jobs.get(line.id);
    return job === undefined ? !excused.has(line.id) : job.status !== "completed" || !ended.has(line.id);
  });
  expect(lost).toEqual([]);
}

/** No job without an enqueue, and no two of one. */
function expectNothingInvented(lines: readonly LedgerLine[], jobs: ReadonlyMap<string, Job>): void {
  const asked = new Set(lines.flatMap((line) => (line.op === "accepted" || line.op === "unknown" ? [line.number] : [])));
  const numbers = [...jobs.values()].map(({ payload }) => (payload as { number: number }).number);
  expect(numbers.filter((number) => !asked.has(number))).toEqual([]);
  expect(numbers).toHaveLength(new Set(numbers).size);
}

/** Every start is an attempt in the history, once; the last one completed the job, under the fence that it had; all others were lost. */
function expectSoundHistories(
  lines: readonly LedgerLine[],
  jobs: ReadonlyMap<string, Job>,
  histories: ReadonlyMap<string, readonly Attempt[]>,
  excused: ReadonlySet<string>,
): void {
  const starts = new Map<string, { attempt: number; fence: number }[]>();
  for (const line of lines) if (line.op === "start") starts.set(line.id, [...(starts.get(line.id) ?? []), line]);
  const wrong: unknown[] = [];
  for (const [id, job] of jobs) {
    const attempts = histories.get(id)!;
    const started = (starts.get(id) ?? []).toSorted((one, other) => one.attempt - other.attempt);
    if (!excused.has(id) && !isSound(job, attempts, started)) wrong.push({ job, attempts, started });
  }
  expect(wrong).toEqual([]);
}

function isSound(job: Job, attempts: readonly Attempt[], started: readonly { attempt: number; fence: number }[]): boolean {
  const last = attempts.at(-1);
  const result = job.result as { attempt: number; fence: number; worker: string } | null;
  return (
    attempts.length === job.attempt &&
    attempts.every(({ number }, index) => number === index + 1) &&
    attempts.slice(0, -1).every(({ outcome, error }) => outcome === "failed" && error?.kind === "lost") &&
    last?.outcome === "completed" &&
    result?.attempt === job.attempt &&
    result.worker === last.workerId &&
    started.at(-1)?.attempt === job.attempt &&
    started.at(-1)!.fence === result.fence &&
    started.every(
      ({ attempt, fence }, index) => index === 0 || (attempt > started[index - 1]!.attempt && fence > started[index - 1]!.fence),
    )
  );
}

/** A job that was completed twice, by two holders, would be counted twice. */
async function expectEachCountedOnce(client: Client, jobs: number): Promise<void> {
  const { counts, totalEnqueued, totalProcessed } = await client.stats();
  const others = Object.entries(counts).filter(([status, count]) => status !== "completed" && count !== 0);
  expect({ completed: counts.completed, others, totalEnqueued, totalProcessed }).toEqual({
    completed: jobs,
    others: [],
    totalEnqueued: jobs,
    totalProcessed: jobs,
  });
}

function landedOf(lines: readonly LedgerLine[], jobs: ReadonlyMap<string, Job>): number {
  const unknown = new Set(lines.flatMap((line) => (line.op === "unknown" ? [line.number] : [])));
  return [...jobs.values()].filter(({ payload }) => unknown.has((payload as { number: number }).number)).length;
}

async function allJobs(client: Client): Promise<Map<string, Job>> {
  const jobs = new Map<string, Job>();
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Client["list"]>> = await client.list({ limit: 1000, cursor });
    for (const job of await Promise.all(page.jobs.map(({ id }) => client.get(id)))) jobs.set(job!.id, job!);
    ({ cursor } = page);
  } while (cursor !== null);
  return jobs;
}

const AT_ONCE = 100;

async function historiesOf(client: Client, jobs: ReadonlyMap<string, Job>): Promise<Map<string, Attempt[]>> {
  const histories = new Map<string, Attempt[]>();
  const ids = [...jobs.keys()];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    await Promise.all(ids.slice(from, from + AT_ONCE).map(async (id) => histories.set(id, await client.attempts(id))));
  }
  return histories;
}
