import type { JobRecord, NewJob } from "../../core/job.ts";
import { counterMetric, FIRST_BUCKET, levelNumber, STATE, statusOf, tallyMetric } from "../numbers.ts";
import type { Hint, InsertAnswer } from "../store.ts";
import type { Arrays } from "./arrays.ts";
import { ADMITTED } from "./answers.ts";
import type { Lane } from "./catalog.ts";
import { encodeExtra, encodeFacets, encodeTags, encodeText, extrasColumn, facetsColumn, ids, numbers, type Row, texts } from "./codec.ts";
import { type Context, inRounds, readJobs, rounds } from "./context.ts";
import { failureOf } from "./failures.ts";
import { flowColumns } from "./flows.ts";
import { waitOrLeaveOut } from "./wait-or-leave-out.ts";

const ENQUEUED = counterMetric("enqueued");

/** How long a queue that had a capacity is assumed to still have it. */
const BOUNDED_BELIEVED_MS = 30_000;

export async function insertJobs(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  if (jobs.length === 0) return [];
  const answers: InsertAnswer[] =
    jobs.every((job) => isPlain(context, job)) && isDistinct(jobs)
      ? await insertPlain(context, jobs)
      : await insertCarefully(context, jobs);
  context.housekeeping.wrote(0);
  context.sendHints(hintsOfInserted(jobs, answers));
  return answers;
}

function isPlain(context: Context, job: NewJob): boolean {
  return (
    job.idempotencyKey === null &&
    job.runAt === null &&
    job.blocked !== true &&
    job.limitKey === null &&
    job.flow === undefined &&
    !isBounded(context, job.queue)
  );
}

function isBounded(context: Context, queue: string): boolean {
  if (context.bounded.size === 0) return false;
  const until = context.bounded.get(queue);
  if (until === undefined) return false;
  if (performance.now() < until) return true;
  context.bounded.delete(queue);
  return false;
}

async function learnBounded(context: Context, lanes: readonly Lane[]): Promise<void> {
  const { connections, sql } = context;
  const until = performance.now() + BOUNDED_BELIEVED_MS;
  const found = await connections.call(sql.boundedQueues, [numbers([...new Set(lanes.map(({ queueId }) => queueId))])]);
  for (const [name] of found) context.bounded.set(name as string, until);
}

/** One statement, which inserts all or none. */
async function insertPlain(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const { connections, sql, arrays, catalog, now } = context;
  const lanes = await catalog.lanes(jobs);
  try {
    const [row] = await connections.call(sql.enqueue, [now(), ...leanColumnsOf(jobs, lanes, arrays), ...deltasOf(jobs, lanes)], {
      failOnDuplicate: true,
    });
    const createdAt = row![0] as number | null;
    if (createdAt !== null) return createdAnswers(jobs, createdAt);
    await learnBounded(context, lanes);
  } catch (error) {
    // One of the ids is known: this call is a repeat.
    if (failureOf(error) !== "duplicate") throw error;
  }
  return insertCarefully(context, jobs);
}

/** Checks ids, keys and capacities, which may have to wait for others. */
async function insertCarefully(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  return inRounds(jobs, insertRounds(jobs), (batch) => admit(context, batch));
}

async function admit(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const { connections, sql, arrays, catalog, now } = context;
  const columns = admitColumns(jobs, await catalog.lanes(jobs));
  const flows = flowColumns(jobs, arrays);
  const text = flows === null ? sql.admit : sql.admitFlows;
  const rows = await waitOrLeaveOut(connections, {
    items: jobs.length,
    ask: (on, careful) => on.query(text, [now(), true, careful, ...columns, ...(flows ?? [])]),
    leavesOut: (found) => found.some(([, kind]) => kind === ADMITTED.leftOut),
  });
  const holders = await holdersOf(context, rows);
  const answers: InsertAnswer[] = [];
  for (const [index, row] of rows.entries()) {
    const answer = readAdmitted(row, jobs[index]!, holders);
    // Another call was faster, or the key's job disappeared meanwhile: ask again.
    answers.push(answer ?? (await admit(context, [jobs[index]!]))[0]!);
  }
  return answers;
}

async function holdersOf(context: Context, rows: readonly Row[]): Promise<Map<string, JobRecord>> {
  const wanted = [...new Set(rows.filter(([, kind]) => kind === ADMITTED.knownKey).map((row) => row[5] as string))];
  if (wanted.length === 0) return new Map();
  const { connections, sql } = context;
  const found = await readJobs(context, await connections.call(sql.find, [ids(wanted)]));
  return new Map(found.map((job) => [job.id, job]));
}

/** What `admit` answered for an item; null: ask again. */
export function readAdmitted(row: Row, { limitKey }: NewJob, holders: ReadonlyMap<string, JobRecord>): InsertAnswer | null {
  const [, kind, state, createdAt, runAt, holder] = row as [number, number, number, number, number, string];
  switch (kind) {
    case ADMITTED.created:
    case ADMITTED.knownId:
      return { kind: "created", status: statusOf(state), createdAt, runAt };
    case ADMITTED.knownKey: {
      const job = holders.get(holder);
      return job === undefined ? null : { kind: "known", job };
    }
    case ADMITTED.pruned:
      return { kind: "pruned", id: holder, status: statusOf(state) };
    case ADMITTED.conflict:
      return { kind: "conflict", id: holder };
    case ADMITTED.full:
      return { kind: "full", capacity: runAt };
    case ADMITTED.fullKey:
      return { kind: "full", capacity: runAt, limitKey: limitKey! };
    case ADMITTED.leftOut:
      return { kind: "locked" };
    default:
      return null;
  }
}

/** The columns of `enqueue`. If all values are equal a column is its first value alone; if all are empty it is null. */
function leanColumnsOf(jobs: readonly NewJob[], lanes: readonly Lane[], arrays: Arrays): unknown[] {
  return [
    arrays.ids(jobs.map(({ id }) => id)),
    alike(lanes, ({ queueId }) => queueId),
    alike(lanes, ({ id }) => id),
    alike(jobs, ({ priority }) => priority),
    jobs.every(({ delayMs }) => delayMs === 0) ? null : numbers(jobs.map(({ delayMs }) => delayMs)),
    alike(jobs, ({ maxRetries }) => maxRetries),
    alike(jobs, ({ maxLost }) => maxLost),
    alike(jobs, ({ retryDelayMs }) => retryDelayMs),
    alike(jobs, ({ timeoutMs }) => timeoutMs),
    jobs.every(({ tags }) => tags.length === 0) ? null : texts(jobs.map(({ tags }) => encodeTags(tags))),
    extrasColumn(jobs),
    arrays.texts(jobs.map(({ payload }) => payload)),
    facetsColumn(jobs),
  ];
}

function alike<Item>(items: readonly Item[], valueOf: (item: Item) => number): string {
  const first = valueOf(items[0]!);
  return items.every((item) => valueOf(item) === first) ? `{${first}}` : numbers(items.map(valueOf));
}

function columnsOf(jobs: readonly NewJob[], lanes: readonly Lane[]): unknown[] {
  return [
    ids(jobs.map(({ id }) => id)),
    numbers(lanes.map(({ queueId }) => queueId)),
    numbers(lanes.map(({ id }) => id)),
    numbers(jobs.map(({ priority }) => priority)),
    numbers(jobs.map(({ delayMs }) => delayMs)),
    numbers(jobs.map(({ maxRetries }) => maxRetries)),
    numbers(jobs.map(({ maxLost }) => maxLost)),
    numbers(jobs.map(({ retryDelayMs }) => retryDelayMs)),
    numbers(jobs.map(({ timeoutMs }) => timeoutMs)),
    texts(jobs.map(({ tags }) => encodeTags(tags))),
    texts(jobs.map(encodeExtra)),
    texts(jobs.map(({ payload }) => payload)),
  ];
}

/** The columns of `admit`. */
export function admitColumns(jobs: readonly NewJob[], lanes: readonly Lane[]): unknown[] {
  const [id, queue, lane, priority, delay, ...rest] = columnsOf(jobs, lanes);
  return [
    id,
    queue,
    lane,
    priority,
    delay,
    numbers(jobs.map(({ runAt }) => runAt)),
    ...rest,
    texts(jobs.map(({ idempotencyKey }) => (idempotencyKey === null ? null : encodeText(idempotencyKey)))),
    numbers(jobs.map(({ idempotencyKey, keyTtlMs }) => (idempotencyKey === null ? null : keyTtlMs))),
    texts(jobs.map(({ fingerprint }) => fingerprint)),
    jobs.some(({ blocked }) => blocked === true) ? `{${jobs.map(({ blocked }) => blocked === true).join()}}` : null,
    facetsColumn(jobs),
  ];
}

export interface JobItem {
  readonly id: string;
  readonly facets: string | null;
}

/** A job without a key as the server reads it in JSON. */
export function jobItem(job: NewJob, { id: lane, queueId: queue }: Lane): JobItem {
  const { id, priority, delayMs, runAt, maxRetries, maxLost, retryDelayMs, timeoutMs, tags, payload, blocked, facets } = job;
  const item = {
    id,
    queue,
    lane,
    priority,
    delay: delayMs,
    run_at: runAt,
    blocked,
    max_retries: maxRetries,
    max_lost: maxLost,
    retry_delay: retryDelayMs,
    timeout: timeoutMs,
    tags: encodeTags(tags),
    extra: encodeExtra(job),
    payload,
    facets: encodeFacets(facets),
  };
  return item;
}

/** What all jobs together change in the counts, as four columns. */
function deltasOf(jobs: readonly NewJob[], lanes: readonly Lane[]): string[] {
  const sums = new Map<number, { readonly lane: Lane; readonly metric: number; amount: number }>();
  const add = (lane: Lane, metric: number): void => {
    const cell = lane.id * FIRST_BUCKET + metric;
    const sum = sums.get(cell);
    if (sum === undefined) sums.set(cell, { lane, metric, amount: 1 });
    else sum.amount++;
  };
  jobs.forEach(({ delayMs, priority }, index) => {
    const lane = lanes[index]!;
    add(lane, tallyMetric(delayMs > 0 ? STATE.scheduled : STATE.pending, levelNumber(priority)));
    add(lane, ENQUEUED);
  });
  const cells = [...sums.values()];
  return [
    numbers(cells.map(({ lane }) => lane.queueId)),
    numbers(cells.map(({ lane }) => lane.id)),
    numbers(cells.map(({ metric }) => metric)),
    numbers(cells.map(({ amount }) => amount)),
  ];
}

/** Jobs with the same delay have the same answer, so neighbours share one. */
function createdAnswers(jobs: readonly NewJob[], createdAt: number): InsertAnswer[] {
  let delay = 0;
  let answer: InsertAnswer = { kind: "created", status: "pending", createdAt, runAt: createdAt };
  return jobs.map(({ delayMs }) => {
    if (delayMs !== delay) {
      delay = delayMs;
      answer = { kind: "created", status: delayMs > 0 ? "scheduled" : "pending", createdAt, runAt: createdAt + delayMs };
    }
    return answer;
  });
}

/** The hints of inserted jobs. */
export function hintsOfInserted(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): Hint[] {
  const queues = new Set<string>();
  let inMs = Infinity;
  let hasNotices = false;
  answers.forEach((answer, index) => {
    if (answer.kind !== "created") return;
    if (answer.status === "pending") queues.add(jobs[index]!.queue);
    else if (answer.status === "scheduled") inMs = Math.min(inMs, answer.runAt - answer.createdAt);
    else hasNotices ||= (jobs[index]!.flow?.notices.length ?? 0) > 0;
  });
  const hints: Hint[] = Array.from(queues, (queue) => ({ topic: "work", queue }));
  if (inMs < Infinity) hints.push({ topic: "due", inMs });
  if (hasNotices) hints.push({ topic: "notices" });
  return hints;
}

function isDistinct(jobs: readonly NewJob[]): boolean {
  return jobs.length === 1 || new Set(jobs.map(({ id }) => id)).size === jobs.length;
}

/** Rounds without equal ids or equal keys. */
export function insertRounds(jobs: readonly NewJob[]): number[][] {
  return rounds(jobs, (job) => job.id).flatMap((same) => keyRounds(jobs, same));
}

/** The first of equal keys wins, so the others come in later rounds. */
function keyRounds(jobs: readonly NewJob[], indexes: readonly number[]): number[][] {
  const keyOf = (index: number): string | null => {
    const { queue, idempotencyKey } = jobs[index]!;
    return idempotencyKey === null ? null : `${queue} ${idempotencyKey}`;
  };
  return rounds(indexes, keyOf).map((round) => round.map((at) => indexes[at]!));
}
