import type { JobRecord, NewJob } from "../../core/job.ts";
import { counterMetric, FIRST_BUCKET, levelNumber, STATE, statusOf, tallyMetric } from "../numbers.ts";
import type { Hint, InsertAnswer } from "../store.ts";
import { ADMITTED } from "./answers.ts";
import type { Lane } from "./catalog.ts";
import { encodeExtra, encodeTags, encodeText, ids, numbers, type Row, texts } from "./codec.ts";
import { type Context, inRounds, readJobs, rounds } from "./context.ts";
import { fateOf } from "./failures.ts";
import { waitOrLeaveOut } from "./patience.ts";

const ENQUEUED = counterMetric("enqueued");

/** So long a queue is believed to have the capacity that it was seen to have. */
const BOUNDED_BELIEVED_MS = 30_000;

export async function insertJobs(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  if (jobs.length === 0) return [];
  const answers: InsertAnswer[] =
    jobs.every((job) => isPlain(context, job)) && isDistinct(jobs)
      ? await insertPlain(context, jobs)
      : await insertCarefully(context, jobs);
  context.housekeeping.wrote(0);
  context.ring(hintsOfInserted(jobs, answers));
  return answers;
}

function isPlain(context: Context, job: NewJob): boolean {
  return job.idempotencyKey === null && job.runAt === null && job.blocked !== true && !isBounded(context, job.queue);
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

/** One statement, which puts all in or none. */
async function insertPlain(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const { connections, sql, catalog, now } = context;
  const lanes = await catalog.lanes(jobs);
  try {
    const [row] = await connections.call(sql.enqueue, [now(), ...leanColumnsOf(jobs, lanes), ...deltasOf(jobs, lanes)], {
      failTwin: true,
    });
    const createdAt = row![0] as number | null;
    if (createdAt !== null) return jobs.map((job) => createdAnswer(job, createdAt));
    await learnBounded(context, lanes);
  } catch (error) {
    // One of the ids is known: this is a repeat.
    if (fateOf(error) !== "twin") throw error;
  }
  return insertCarefully(context, jobs);
}

/** With a look at ids, keys and capacities, which may have to wait for others. */
async function insertCarefully(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  return inRounds(jobs, insertRounds(jobs), (batch) => admit(context, batch));
}

async function admit(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const { connections, sql, catalog, now } = context;
  const columns = admitColumns(jobs, await catalog.lanes(jobs));
  const rows = await waitOrLeaveOut(connections, {
    items: jobs.length,
    ask: (on, careful) => on.query(sql.admit, [now(), true, careful, ...columns]),
    leavesOut: (found) => found.some(([, kind]) => kind === ADMITTED.leftOut),
  });
  const holders = await holdersOf(context, rows);
  const answers: InsertAnswer[] = [];
  for (const [index, row] of rows.entries()) {
    const answer = readAdmitted(row, holders);
    // Somebody was faster, or the job that has the key went away meanwhile: the next look tells.
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

/** What `admit` answered for an item, or null: ask again. */
export function readAdmitted(row: Row, holders: ReadonlyMap<string, JobRecord>): InsertAnswer | null {
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
    case ADMITTED.leftOut:
      return { kind: "locked" };
    default:
      return null;
  }
}

/** What `enqueue` takes of the jobs. A column in which all are alike is its first value alone, one in which none has anything is null. */
function leanColumnsOf(jobs: readonly NewJob[], lanes: readonly Lane[]): unknown[] {
  return [
    ids(jobs.map(({ id }) => id)),
    alike(lanes, ({ queueId }) => queueId),
    alike(lanes, ({ id }) => id),
    alike(jobs, ({ priority }) => priority),
    jobs.every(({ delayMs }) => delayMs === 0) ? null : numbers(jobs.map(({ delayMs }) => delayMs)),
    alike(jobs, ({ maxRetries }) => maxRetries),
    alike(jobs, ({ maxLost }) => maxLost),
    alike(jobs, ({ retryDelayMs }) => retryDelayMs),
    alike(jobs, ({ timeoutMs }) => timeoutMs),
    jobs.every(({ tags }) => tags.length === 0) ? null : texts(jobs.map(({ tags }) => encodeTags(tags))),
    jobs.every(({ meta, webhookUrl }) => meta === null && webhookUrl === null) ? null : texts(jobs.map(encodeExtra)),
    texts(jobs.map(({ payload }) => payload)),
  ];
}

function alike<Item>(items: readonly Item[], valueOf: (item: Item) => number): string {
  const first = valueOf(items[0]!);
  return items.every((item) => valueOf(item) === first) ? `{${first}}` : numbers(items.map(valueOf));
}

/** Every column in full. */
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

/** What `admit` takes of the jobs. */
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
  ];
}

/** What all jobs together change in the figures: three columns. */
function deltasOf(jobs: readonly NewJob[], lanes: readonly Lane[]): string[] {
  const sums = new Map<number, number>();
  const add = (queue: number, metric: number): void => {
    const cell = queue * FIRST_BUCKET + metric;
    sums.set(cell, (sums.get(cell) ?? 0) + 1);
  };
  jobs.forEach(({ delayMs, priority }, index) => {
    const { queueId } = lanes[index]!;
    add(queueId, tallyMetric(delayMs > 0 ? STATE.scheduled : STATE.pending, levelNumber(priority)));
    add(queueId, ENQUEUED);
  });
  const cells = [...sums.keys()];
  return [
    numbers(cells.map((cell) => Math.floor(cell / FIRST_BUCKET))),
    numbers(cells.map((cell) => cell % FIRST_BUCKET)),
    numbers([...sums.values()]),
  ];
}

function createdAnswer(job: NewJob, createdAt: number): InsertAnswer {
  return { kind: "created", status: job.delayMs > 0 ? "scheduled" : "pending", createdAt, runAt: createdAt + job.delayMs };
}

/** What others want to hear of jobs that came in. */
export function hintsOfInserted(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): Hint[] {
  const queues = new Set<string>();
  let inMs = Infinity;
  answers.forEach((answer, index) => {
    if (answer.kind !== "created") return;
    if (answer.status === "pending") queues.add(jobs[index]!.queue);
    else if (answer.status === "scheduled") inMs = Math.min(inMs, answer.runAt - answer.createdAt);
  });
  const hints: Hint[] = Array.from(queues, (queue) => ({ topic: "work", queue }));
  if (inMs < Infinity) hints.push({ topic: "due", inMs });
  return hints;
}

function isDistinct(jobs: readonly NewJob[]): boolean {
  return jobs.length === 1 || new Set(jobs.map(({ id }) => id)).size === jobs.length;
}

/** Rounds in which neither an id nor a key is twice. */
export function insertRounds(jobs: readonly NewJob[]): number[][] {
  return rounds(jobs, (job) => job.id).flatMap((same) => keyRounds(jobs, same));
}

/** Of equal keys in one list the first wins: the others come in the rounds after it. */
function keyRounds(jobs: readonly NewJob[], indexes: readonly number[]): number[][] {
  const keyOf = (index: number): string | null => {
    const { queue, idempotencyKey } = jobs[index]!;
    return idempotencyKey === null ? null : `${queue} ${idempotencyKey}`;
  };
  return rounds(indexes, keyOf).map((round) => round.map((at) => indexes[at]!));
}
