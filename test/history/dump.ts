import type { Attempt, JobRecord, Status } from "../../src/core/job.ts";
import { FLOW_TYPE, readHead, readMember } from "../../src/core/flow.ts";
import { type CounterRow, MAX_BATCH, type QueueState, type Store } from "../../src/store/store.ts";
import type { StoredJob, StoredMember, ToldStep } from "./line.ts";
import { printOfJob } from "./print.ts";
import type { Recorder } from "./recorder.ts";
import { printOfError, printOfText, toldOfStored } from "./recording-store.ts";
import { sentMemberOf } from "./sent-job.ts";

/** Writes down all that a store holds. To be called when nothing happens in it any more. */
export async function dumpStore(store: Store, recorder: Recorder): Promise<void> {
  await dumpJobs(store, recorder);
  await dumpQueues(store, recorder);
  const { now, schedules } = await store.schedules("all");
  for (const { name, lastTick, lastJobId } of schedules) recorder.see("stored-schedule", { schedule: name, lastTick, lastJob: lastJobId });
  const { jobs: expired } = await store.expired(MAX_BATCH);
  const notices = (await store.notices(MAX_BATCH)).map(({ notice }) => JSON.stringify(notice));
  recorder.see("dumped", { engine: now, expired: expired.map(({ id }) => id), notices });
}

/** What the engine's clock shows. To be read at the beginning, and whenever it may have been set. */
export async function readClock(store: Store, recorder: Recorder): Promise<void> {
  const before = recorder.now();
  const { now } = await store.schedules([]);
  recorder.see("clock", { engine: now, withinMs: recorder.now() - before });
}

/** The all-time counters, to be read now and then while a run goes on: they must never fall. */
export async function readTotals(store: Store, recorder: Recorder): Promise<void> {
  const { rows } = await store.counters({ step: "all" });
  for (const { queue, counts } of rows) recorder.see("totals", { queue, counts });
}

async function dumpJobs(store: Store, recorder: Recorder): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ internal: true, limit: MAX_BATCH, cursor });
    const ids = page.jobs.map(({ id }) => id);
    if (ids.length > 0) await dumpPage(store, recorder, ids);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}

async function dumpPage(store: Store, recorder: Recorder, ids: readonly string[]): Promise<void> {
  for (const record of await store.find(ids)) {
    if (record === null) continue;
    const attempts = await store.attempts(record.id);
    const steps = record.hasSteps ? { steps: await dumpSteps(store, record.id) } : {};
    recorder.see("stored-job", { ...storedJobOf(record, attempts), ...steps });
    if (record.type === FLOW_TYPE) await dumpFlow(store, recorder, record.id);
  }
}

async function dumpFlow(store: Store, recorder: Recorder, id: string): Promise<void> {
  const members: StoredMember[] = [];
  for (let after: string | null = null; ;) {
    const [page] = await store.readFlows([{ id, after, limit: MAX_BATCH }]);
    for (const member of (page?.members ?? []).map(readMember)) {
      const { phase, end, cause } = member.state;
      members.push({ ...sentMemberOf(id, member), phase, end, isCut: cause !== null });
    }
    after = page?.cursor ?? null;
    if (after !== null) continue;
    if (page === null) return;
    const { status, total, ended, fresh, stuck, isCancelled } = readHead(page!.head);
    return recorder.see("stored-flow", { job: id, head: { status, total, ended, fresh, stuck, isCancelled }, members });
  }
}

async function dumpSteps(store: Store, id: string): Promise<ToldStep[]> {
  const steps: ToldStep[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.readSteps(id, null, after);
    steps.push(...(page?.steps ?? []).map(toldOfStored));
    if (page === null || page.cursor === null) return steps;
    after = page.cursor;
  }
}

function storedJobOf(record: JobRecord, attempts: readonly Attempt[]): StoredJob {
  const {
    id: job,
    queue,
    type,
    priority,
    status,
    retryCount,
    maxRetries,
    lostCount,
    maxLost,
    attempt,
    fence,
    createdAt,
    runAt,
    completedAt,
  } = record;
  return {
    job,
    queue,
    type,
    priority,
    status,
    print: printOfJob(type, record.payload),
    key: record.idempotencyKey,
    retryCount,
    maxRetries,
    lostCount,
    maxLost,
    attempt,
    fence,
    result: printOfText(record.result),
    error: printOfError(record.error),
    createdAt,
    runAt,
    completedAt,
    attempts: attempts.map(({ number, workerId: worker, startedAt, endedAt, outcome, error }) => {
      return { number, worker, startedAt, endedAt, outcome, kind: error?.kind ?? null };
    }),
  };
}

async function dumpQueues(store: Store, recorder: Recorder): Promise<void> {
  const { rows } = await store.counters({ step: "all" });
  for (const { name, paused, settings, counts } of await store.queues()) {
    recorder.see("stored-queue", { queue: name, paused, settings, counts: byStatus(counts), totals: totalsOf(rows, name) });
  }
}

function byStatus(counts: QueueState["counts"]): Partial<Record<Status, number>> {
  const sums: Partial<Record<Status, number>> = {};
  for (const { status, count } of counts) sums[status] = (sums[status] ?? 0) + count;
  return sums;
}

function totalsOf(rows: readonly CounterRow[], queue: string): CounterRow["counts"] {
  return rows.find((row) => row.queue === queue)?.counts ?? {};
}
