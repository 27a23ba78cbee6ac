import type { NewJob } from "../../core/job.ts";
import { haveSameTenBits, tenBitsOf } from "../../lib/id.ts";
import { statusOf } from "../numbers.ts";
import type { InsertAnswer } from "../store.ts";
import {
  digits,
  encodeBody,
  encodeFlags,
  encodeKey,
  encodeLimit,
  encodeWhen,
  hasLimitPart,
  isCalled,
  listOf,
  numberOf,
  readJob,
  readLanes,
  type Reply,
  textOf,
} from "./codec.ts";
import { type Context, MOST_PER_SCRIPT } from "./context.ts";
import { encodeFlow } from "./flows.ts";
import { longId, shortId } from "./ids.ts";
import { KIND_DIGITS, TAG } from "./layout.ts";
import { INSERT_FLOW } from "./statements/flows.ts";
import { INSERT } from "./statements/insert.ts";
import { INSERT_PLAIN } from "./statements/insert-plain.ts";

/** Jobs of one partition, and their indexes in the list; null if they are the whole list. */
interface Group {
  readonly partition: number;
  readonly jobs: readonly NewJob[];
  readonly places: readonly number[] | null;
}

/**
 * Inserts a list. Its jobs may go to several partitions, and their sequence still follows the list: the first call chooses where the
 * sequence begins, and the others continue from that.
 */
export async function insertJobs(context: Context, jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  context.eviction.refuse();
  const answers: InsertAnswer[] = Array.from({ length: jobs.length });
  const [first, ...others] = groupsOf(jobs);
  if (first === undefined) return answers;
  const base = await insertGroup(context, first, others.length === 0 ? "" : "choose", answers);
  await Promise.all(others.map((group) => insertGroup(context, group, base, answers)));
  return answers;
}

/**
 * One call after the other: if one of two parallel calls were repeated, they could change places. The next jobs are encoded while the server
 * works on the last ones, so that neither waits for the other's part.
 */
async function insertGroup(context: Context, group: Group, base: string, answers: InsertAnswer[]): Promise<string> {
  let start = base;
  let next: Chunk | null = encodeChunk(group, 0, base);
  for (let chunk: Chunk | null = next; chunk !== null; chunk = next) {
    const sent = insertChunk(context, chunk, start, answers);
    next = chunk.end < group.jobs.length ? encodeChunk(group, chunk.end, base) : null;
    const chosen = await sent;
    if (start === "choose") start = chosen;
  }
  return start;
}

function groupsOf(jobs: readonly NewJob[]): Group[] {
  const first = jobs[0];
  if (first === undefined) return [];
  if (jobs.every(({ id }) => haveSameTenBits(id, first.id))) return [{ partition: tenBitsOf(first.id), jobs, places: null }];
  const groups = new Map<number, number[]>();
  for (let place = 0; place < jobs.length; place++) {
    const partition = tenBitsOf(jobs[place]!.id);
    const group = groups.get(partition);
    if (group === undefined) groups.set(partition, [place]);
    else group.push(place);
  }
  return [...groups].map(([partition, places]) => ({ partition, jobs: places.map((place) => jobs[place]!), places }));
}

/** Jobs of one call, ready to be sent. */
interface Chunk {
  readonly partition: number;
  readonly jobs: readonly NewJob[];
  readonly placeOf: (index: number) => number;
  /** Where the next chunk begins. */
  readonly end: number;
  /** The arguments of INSERT_PLAIN; null if it is INSERT's. */
  readonly plain: readonly string[] | null;
}

function encodeChunk({ partition, jobs, places }: Group, from: number, base: string): Chunk {
  const end = endOfChunk(jobs, from);
  const some = end - from === jobs.length ? jobs : jobs.slice(from, end);
  const placeOf = (index: number): number => (places === null ? from + index : places[from + index]!);
  // INSERT_PLAIN chooses the sequence by itself.
  return { partition, jobs: some, placeOf, end, plain: base === "" ? encodePlain(some) : null };
}

/** A flow goes alone: what is stored beside it may be large. */
function endOfChunk(jobs: readonly NewJob[], from: number): number {
  if (jobs[from]!.flow !== undefined) return from + 1;
  const most = Math.min(jobs.length, from + MOST_PER_SCRIPT);
  let end = from + 1;
  while (end < most && jobs[end]!.flow === undefined) end++;
  return end;
}

/** Fills in the answers of a chunk. Returns where the sequence of the whole list begins. */
async function insertChunk(context: Context, chunk: Chunk, base: string, answers: InsertAnswer[]): Promise<string> {
  const { session, keys, registry, feed } = context;
  const { jobs, plain, placeOf } = chunk;
  if (plain !== null) {
    const now = await insertPlain(context, chunk.partition, jobs, plain);
    if (now !== null) {
      const answer: InsertAnswer = { kind: "created", status: "pending", createdAt: now, runAt: now };
      for (let index = 0; index < jobs.length; index++) answers[placeOf(index)] = answer;
      return base;
    }
  }
  const places = base === "" ? "" : jobs.map((_, index) => placeOf(index)).join();
  const flow = jobs[0]!.flow;
  const args = flow === undefined ? encodeJobs(jobs) : [...encodeFlow(flow), ...encodeJobs(jobs)];
  const script = flow === undefined ? INSERT : INSERT_FLOW;
  const call = (registered: string): Promise<Reply> =>
    session.run(script, keys.partition(chunk.partition), [base === "choose" ? "" : base, registered, places, ...args]);
  const reply = await registry.callRegistered(call, () => jobs.map(({ queue }) => queue));
  const [now, start, kinds, details, holders, lanes, hints] = listOf(reply);
  const read = answerReader(numberOf(now), listOf(details), listOf(holders), lanes);
  const letters = textOf(kinds);
  for (let index = 0; index < letters.length; index++) answers[placeOf(index)] = read(letters[index]!, jobs[index]!);
  feed.sendHints(hints);
  if (flow !== undefined && isNew(letters)) feed.tellOfNotices(flow.notices.length);
  return textOf(start);
}

/**
 * Tells the watchers of this process at once: a claim that they send now arrives after the insert, so that an idle worker has the job after one
 * round trip and not two. If a call had to be made again, the claim may have come first, and they are told again.
 */
async function insertPlain(
  { session, keys, feed, earlyHints }: Context,
  partition: number,
  jobs: readonly NewJob[],
  args: readonly string[],
): Promise<number | null> {
  const { repeats } = session;
  const inserted = session.run(INSERT_PLAIN, keys.partition(partition), args);
  const early = earlyHints.of(jobs);
  for (const hint of early) feed.tellHere(hint);
  const now = await inserted;
  if (typeof now !== "number") {
    earlyHints.refused(jobs);
    return null;
  }
  const isHeard = session.repeats === repeats;
  for (const queue of queuesOf(jobs)) {
    const hint = { topic: "work", queue } as const;
    if (isHeard && early.some((told) => told.queue === queue)) feed.tellOthers(hint);
    else feed.sendHint(hint);
  }
  earlyHints.taken(jobs);
  return now;
}

/** Mostly there is only one. */
function queuesOf(jobs: readonly NewJob[]): Set<string> {
  const queues = new Set<string>();
  for (const { queue } of jobs) queues.add(queue);
  return queues;
}

/** INSERT_PLAIN reads and writes the figures of each kind, so with many kinds INSERT is faster. */
const MOST_PLAIN_KINDS = 8;

/** Kinds and jobs, as INSERT_PLAIN reads them; null if it cannot store them. It would not notice an id that is given twice. */
export function encodePlain(jobs: readonly NewJob[]): string[] | null {
  const kinds: NewJob[] = [];
  const numbers: number[] = [];
  let number = 0;
  for (const job of jobs) {
    if (!isUsual(job)) return null;
    if (kinds.length === 0 || !isSameKind(kinds[number]!, job)) {
      number = kinds.findIndex((kind) => isSameKind(kind, job));
      if (number === -1) number = kinds.push(job) - 1;
      if (kinds.length > MOST_PLAIN_KINDS) return null;
    }
    numbers.push(number);
  }
  if (!areDifferent(jobs)) return null;
  const ids = jobs.map(({ id }) => shortId(id));
  const args = [String(kinds.length), encodeBuckets(ids), ...kinds.flatMap(({ queue, type, priority }) => [queue, type, String(priority)])];
  for (let index = 0; index < jobs.length; index++) {
    args.push((kinds.length === 1 ? "" : digits(numbers[index]! + 1, KIND_DIGITS)) + ids[index]!, encodeBody(jobs[index]!));
  }
  return args;
}

/** Whether no id is given twice. A process makes them in rising order, which takes less time to see than to look each of them up. */
function areDifferent(jobs: readonly NewJob[]): boolean {
  let index = 1;
  while (index < jobs.length && jobs[index - 1]!.id < jobs[index]!.id) index++;
  return index >= jobs.length || new Set(jobs.map(({ id }) => shortId(id))).size === jobs.length;
}

/** The bucket of all jobs, or the buckets in the order of the jobs. A process makes 4,000 ids in a row for a bucket, so these are few. */
function encodeBuckets(ids: readonly string[]): string {
  let runs = "";
  let from = 0;
  for (let at = 1; at <= ids.length; at++) {
    if (at < ids.length && isSameBucket(ids[from]!, ids[at]!)) continue;
    const tag = ids[from]!.slice(TAG.from, TAG.to);
    if (at - from === ids.length) return tag;
    runs += `${tag}${at - from},`;
    from = at;
  }
  return runs;
}

function isSameBucket(one: string, other: string): boolean {
  for (let at: number = TAG.from; at < TAG.to; at++) if (one.charCodeAt(at) !== other.charCodeAt(at)) return false;
  return true;
}

function isSameKind(a: NewJob, b: NewJob): boolean {
  return a.type === b.type && a.queue === b.queue && a.priority === b.priority;
}

function isUsual(job: NewJob): boolean {
  const isNow = job.runAt === null && job.delayMs <= 0 && job.blocked !== true;
  return isNow && job.idempotencyKey === null && job.facets === null && !hasLimitPart(job) && !isCalled(job) && job.flow === undefined;
}

/** Kinds and jobs, as INSERT_JOBS reads them. */
export function encodeJobs(jobs: readonly NewJob[]): string[] {
  const kinds = new Map<string, string>();
  const described: string[] = [];
  const args: string[] = [];
  for (const job of jobs) {
    const kind = [job.queue, job.type, String(job.priority), encodeWhen(job), encodeFlags(job)];
    const name = kind.join(" ");
    let number = kinds.get(name);
    if (number === undefined) {
      kinds.set(name, (number = digits(kinds.size + 1, KIND_DIGITS)));
      described.push(...kind);
    }
    args.push(number + shortId(job.id) + encodeKey(job) + encodeLimit(job) + encodeBody(job));
  }
  return [String(kinds.size), ...described, ...args];
}

/** Whether this is the letter of a job that was not there: "created" is also the answer to one that is sent again. */
const isNew = (letter: string): boolean => "PSB".includes(letter);

type ReadAnswer = (kind: string, job: NewJob) => InsertAnswer;

function answerReader(now: number, details: readonly Reply[], holders: readonly Reply[], lanes: Reply | undefined): ReadAnswer {
  let at = 0;
  let holder = 0;
  const names = readLanes(lanes);
  return (kind, job) => {
    switch (kind) {
      case "P":
        return { kind: "created", status: "pending", createdAt: now, runAt: now };
      case "S":
        return { kind: "created", status: "scheduled", createdAt: now, runAt: job.runAt ?? now + job.delayMs };
      case "B":
        return { kind: "created", status: "blocked", createdAt: now, runAt: now };
      case "i": {
        const [state, createdAt, runAt] = details.slice(at, (at += 3)).map(numberOf) as [number, number, number];
        return { kind: "created", status: statusOf(state), createdAt, runAt };
      }
      case "k": {
        const id = longId(details[at++] as Buffer);
        const [body, record] = holders.slice(holder, (holder += 2)) as [Buffer, Buffer];
        return { kind: "known", job: readJob(id, body, record.length === 0 ? null : record, names) };
      }
      case "p": {
        const id = longId(details[at++] as Buffer);
        return { kind: "pruned", id, status: statusOf(numberOf(details[at++])) };
      }
      case "c":
        return { kind: "conflict", id: longId(details[at++] as Buffer) };
      case "l":
        return { kind: "full", capacity: numberOf(details[at++]), limitKey: job.limitKey! };
      default:
        return { kind: "full", capacity: numberOf(details[at++]) };
    }
  };
}
