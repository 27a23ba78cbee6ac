import { type JobRecord, type NewJob, recordOf } from "../../core/job.ts";
import { decodeLimits } from "../../core/limits.ts";
import { levelNumber } from "../numbers.ts";
import { type InsertAnswer, REPLACEABLE, type ReplaceAnswer } from "../store.ts";
import type { Context } from "./context.ts";
import { storeFlow } from "./flows.ts";
import type { Key } from "./keys.ts";
import type { StoredQueue } from "./queues.ts";
import type { JobsBySequence } from "./jobs-by-sequence.ts";
import { type Mutable, NO_CHANGES, NO_HISTORY, NO_TAGS, recordCopy, type StoredJob } from "./stored-job.ts";

/** Inserts a job, or says why not. A refused job leaves nothing behind. */
export function insertJob(memory: Context, job: NewJob, fits = false): InsertAnswer {
  const { jobs, counters, now } = memory;
  const same = jobs.get(job.id);
  if (same !== undefined) return created(same);
  const queue = jobs.queueOf(job.queue);
  const key = job.idempotencyKey === null ? null : jobs.keys.living(queue, job.idempotencyKey, now);
  if (key !== null) return answerHolder(key, job);
  const alwaysFits = fits || job.blocked === true || (job.parent ?? null) !== null;
  if (!alwaysFits && queue.isFull()) return { kind: "full", capacity: queue.settings.capacity! };
  const fullKey = alwaysFits ? null : waitingOfFullKey(queue, job.limitKey);
  if (fullKey !== null) return { kind: "full", capacity: fullKey, limitKey: job.limitKey! };
  const runAt = job.blocked === true ? now : Math.max(now, job.runAt ?? now + job.delayMs);
  const status = job.blocked === true ? "blocked" : runAt > now ? "scheduled" : "pending";
  const stored = newStoredJob(recordOf(job, status, now, runAt), queue, jobs.bySequence, now);
  if (job.idempotencyKey !== null) jobs.keys.give(stored, job.idempotencyKey, job.fingerprint);
  counters.count(stored.counters, "enqueued", now);
  jobs.add(stored);
  if (job.flow !== undefined) stored.flow = storeFlow(memory, job.flow);
  return created(stored);
}

/** Puts a job in place of one that waits and was never claimed. */
export function replaceJob(memory: Context, job: NewJob): ReplaceAnswer {
  const { jobs } = memory;
  const before = jobs.get(job.id);
  if (before === undefined) return "missing";
  const { status, fence } = before.record;
  if (!REPLACEABLE.includes(status) || fence !== 0) return "refused";
  jobs.forget(before);
  // It always fits: it took the place of the other one.
  insertJob(memory, { ...job, parent: job.parent ?? null, blocked: status === "blocked" }, true);
  return "ok";
}

/** How many jobs of a limit key may wait, if as many do; otherwise null. */
function waitingOfFullKey(queue: StoredQueue, limitKey: string | null): number | null {
  const limits = decodeLimits(queue.settings.limits);
  const key = limitKey === null ? undefined : queue.limitKeys.get(limitKey);
  const most = key === undefined ? null : key.limits(limits).waiting;
  return most !== null && key!.waiting >= most ? most : null;
}

function newStoredJob(record: Mutable<JobRecord>, queue: StoredQueue, bySequence: JobsBySequence, now: number): StoredJob {
  // The caller may still change its list.
  record.tags = record.tags.length === 0 ? NO_TAGS : [...record.tags];
  if (record.facets !== null) record.facets = { ...record.facets };
  return {
    record,
    queue,
    counters: queue.counters.of(record.type),
    page: bySequence.pageForNext(now),
    level: levelNumber(record.priority),
    seq: bySequence.lastSeq + 1,
    order: 0,
    spot: 0,
    key: null,
    leaseUntil: 0,
    turn: null,
    settledFence: null,
    settledOutcome: null,
    cancelledFence: null,
    history: NO_HISTORY,
    changes: NO_CHANGES,
    logs: null,
    steps: null,
    flow: null,
    wakeAt: null,
    isResumed: false,
    wasFree: false,
  };
}

function created({ record: { status, createdAt, runAt } }: StoredJob): InsertAnswer {
  return { kind: "created", status, createdAt, runAt };
}

/** The answer to a job whose key is taken. */
function answerHolder(key: Key, job: NewJob): InsertAnswer {
  if (key.fingerprint !== job.fingerprint) return { kind: "conflict", id: key.id };
  return key.job === null ? { kind: "pruned", id: key.id, status: key.status } : { kind: "known", job: recordCopy(key.job) };
}
