import { KEPT_FOR_A_TIME, type NewJob } from "../../core/job.ts";
import { rank } from "../../core/rank.ts";
import { STATE, statusOf } from "../numbers.ts";
import type { InsertAnswer } from "../store.ts";
import { encodeExtra, hexToId, ID_BYTES, idToBlob, laneOf, readJob, type Row } from "./codec.ts";
import type { QueueRow } from "./catalog.ts";
import { SEQ_OF_FLOW } from "./flow-statements.ts";
import { storeFlow } from "./flows.ts";
import { keyedLane } from "./lane-numbers.ts";
import { waitingOfFullKey } from "./limits.ts";
import { countWaiting, lineFor } from "./lines.ts";
import { ADD_FACET, COUNT_WAITING, FIND_JOB, FIND_KEY, INSERT_JOB, INSERT_KEYED_JOB, PUT_KEY } from "./statements.ts";
import type { Transaction } from "./transaction.ts";
import type { Writer } from "./writer.ts";

const ID = new Uint8Array(ID_BYTES);

export async function insertJobs(writer: Writer, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const { earlyHints } = writer;
  const answers = await writer.run(true, (tx) => jobs.map((job) => insertJob(tx, job)), earlyHints.of(jobs));
  if (answers.every(({ kind }) => kind === "created")) earlyHints.taken(jobs);
  else earlyHints.refused(jobs);
  return answers;
}

/** Inserts one job, or says why not. A refused job leaves nothing behind. */
export function insertJob(tx: Transaction, job: NewJob, fits = false): InsertAnswer {
  const id = idToBlob(job.id, ID);
  const queue = tx.catalog.queue(job.queue);
  if (job.idempotencyKey !== null) {
    const holder = answerKnownId(tx, id) ?? holderOfKey(tx, queue, job);
    if (holder !== null) return holder;
  }
  const alwaysFits = fits || job.blocked === true || (job.parent ?? null) !== null;
  if (!alwaysFits && isFull(tx, queue)) return answerKnownId(tx, id) ?? { kind: "full", capacity: queue.settings.capacity! };
  const mostWaiting = alwaysFits ? null : waitingOfFullKey(tx, queue, job.limitKey);
  if (mostWaiting !== null) return answerKnownId(tx, id) ?? { kind: "full", capacity: mostWaiting, limitKey: job.limitKey! };
  // The question may have made the queue count waiting jobs.
  return write(tx, tx.catalog.queue(job.queue), job, id);
}

function write(tx: Transaction, queue: QueueRow, job: NewJob, id: Uint8Array): InsertAnswer {
  const { now } = tx;
  const runAt = job.blocked === true ? now : Math.max(now, job.runAt ?? now + job.delayMs);
  const state = job.blocked === true ? STATE.blocked : runAt > now ? STATE.scheduled : STATE.pending;
  const lane = tx.catalog.lane(queue.id, job.type);
  const isNew =
    job.limitKey === null ? writeRow(tx, queue, job, id, lane, state, runAt) : writeKeyed(tx, queue, job, id, lane, state, runAt);
  if (!isNew) return answerKnownId(tx, id)!;
  if (job.facets !== null) for (const [field, value] of Object.entries(job.facets)) tx.on.run(ADD_FACET, queue.id, field, value);
  if (job.idempotencyKey !== null) tx.on.run(PUT_KEY, queue.id, job.idempotencyKey, id, job.fingerprint);
  if (job.flow !== undefined) storeFlow(tx, tx.on.number(SEQ_OF_FLOW, id)!, job.flow);
  tx.counts.move(queue.id, job.priority, null, state);
  tx.counts.count(queue.id, tx.catalog.countedAs(lane), "enqueued");
  if (state === STATE.pending) tx.sendHint({ topic: "work", queue: job.queue });
  else if (state === STATE.scheduled) tx.sendHint({ topic: "due", inMs: runAt - now });
  return { kind: "created", status: statusOf(state), createdAt: now, runAt };
}

/** False if the id is known. A job with a limit key brings another statement, and its line. */
function writeRow(
  tx: Transaction,
  queue: QueueRow,
  job: NewJob,
  id: Uint8Array,
  lane: number,
  state: number,
  runAt: number,
  text: string = INSERT_JOB,
  ...line: number[]
): boolean {
  return (
    tx.on.run(
      text,
      id,
      lane,
      queue.id,
      state,
      state === STATE.pending ? rank(runAt, job.priority, queue.settings.headStartMs) : null,
      job.priority,
      runAt,
      job.payload,
      job.maxRetries,
      job.maxLost,
      job.retryDelayMs,
      job.timeoutMs,
      job.idempotencyKey,
      job.idempotencyKey === null ? null : job.keyTtlMs,
      encodeExtra(job),
      tx.now,
      tx.now,
      ...line,
    ) === 1
  );
}

function writeKeyed(tx: Transaction, queue: QueueRow, job: NewJob, id: Uint8Array, lane: number, state: number, runAt: number): boolean {
  const number = keyedLane(lane);
  if (job.blocked === true) return writeRow(tx, queue, job, id, number, state, runAt);
  const line = lineFor(tx, queue, lane, job.priority, job.limitKey!, state === STATE.pending);
  if (!writeRow(tx, queue, job, id, number, state, runAt, INSERT_KEYED_JOB, line)) return false;
  countWaiting(tx, queue, line, 1);
  return true;
}

/** The same id again: its first answer was lost. */
function answerKnownId(tx: Transaction, id: Uint8Array): InsertAnswer | null {
  const row = tx.on.get(FIND_JOB, id);
  if (row === undefined) return null;
  const { status, createdAt, runAt } = read(tx, row);
  return { kind: "created", status, createdAt, runAt };
}

function holderOfKey(tx: Transaction, queue: QueueRow, job: NewJob): InsertAnswer | null {
  const found = tx.on.get(FIND_KEY, queue.id, job.idempotencyKey);
  if (found === undefined) return null;
  const [hex, fingerprint, expiresAt, state] = found as [string, string, number | null, number | null];
  const holderId = hexToId(hex);
  const same = fingerprint === job.fingerprint;
  if (expiresAt !== null) {
    if (expiresAt <= tx.now) return null;
    return same ? { kind: "pruned", id: holderId, status: statusOf(state!) } : { kind: "conflict", id: holderId };
  }
  const record = read(tx, tx.on.get(FIND_JOB, idToBlob(holderId))!);
  const over = KEPT_FOR_A_TIME.includes(record.status);
  if (over && record.completedAt! + record.keyTtlMs <= tx.now) return null;
  return same ? { kind: "known", job: record } : { kind: "conflict", id: record.id };
}

/** Only a queue with a capacity needs the query. */
function isFull(tx: Transaction, queue: QueueRow): boolean {
  const { capacity } = queue.settings;
  if (capacity === null) return false;
  return tx.on.number(COUNT_WAITING, queue.id)! + tx.counts.waitingAdded(queue.id) >= capacity;
}

function read(tx: Transaction, row: Row): ReturnType<typeof readJob> {
  return readJob(row, tx.catalog.namesOf(laneOf(row)));
}
