/** Packed forms in Redis <-> values, in both directions. layout.ts defines the packed forms. */
import {
  type Attempt,
  attemptOutcome,
  isTerminal,
  type JobRecord,
  type JobSummaryRecord,
  type LogLine,
  type NewJob,
  type Progress,
  type Status,
  usualMaxLost,
} from "../../core/job.ts";
import type { Facets } from "../../core/facets.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { Parent } from "../../core/steps.ts";
import { ATTEMPT_OUTCOME, STATE, statusOf } from "../numbers.ts";
import type { Claim, LeasedRecord } from "../store.ts";
import { readError, withoutStack } from "../stored-error.ts";
import { longId } from "./ids.ts";
import {
  ATTEMPT,
  DUE,
  HEAD,
  HEAD_FLAG,
  KEY,
  LENGTH_DIGITS,
  LIMIT,
  LIMIT_DIGITS,
  LINE,
  RECORD,
  RECORD_FLAG,
  SCHEDULE,
  SCHEDULE_FLAG,
} from "./layout.ts";

/** States as scripts take them: ",4,5,". */
export const statesOf = (statuses: readonly Status[]): string => `,${statuses.map((status) => STATE[status]).join()},`;

/** A filter as scripts take it: "" if it is absent. */
export const jsonOf = (filter: unknown): string => (filter === undefined ? "" : JSON.stringify(filter));

/** A reply of a script: integers are numbers, texts are bytes. */
export type Reply = Buffer | number | null | readonly Reply[];

export const textOf = (reply: Reply | undefined): string => (reply as Buffer).toString();
export const numberOf = (reply: Reply | undefined): number => Number(typeof reply === "number" ? reply : textOf(reply));
export const listOf = (reply: Reply | undefined): readonly Reply[] => reply as readonly Reply[];

// ── Bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Fields that most jobs leave at these defaults. The defaults can never change. */
interface Extra {
  maxRetries?: number;
  /** Only if it does not follow from maxRetries. */
  maxLost?: number;
  retryDelayMs?: number;
  timeoutMs?: number;
  tags?: readonly string[];
  meta?: string;
  webhookUrl?: string;
  backoff?: string;
  startWithinMs?: number;
  parent?: Parent;
  /** The last one, because scripts cut it out. */
  facets?: Facets;
}

/**
 * How facets begin in that line. Nothing else in it looks like this: a text in JSON has no bare quotes, and the value of a facet is a text,
 * even if its field has this name.
 */
export const FACETS_BEGIN = '"facets":{';

const USUAL = { maxRetries: 3, retryDelayMs: 1000, timeoutMs: 30_000, backoff: "exponential" } as const;
const NO_EXTRA: Extra = {};

/** What the client adds to the head that the script packs: a line of unusual fields, and the payload. */
export function encodeBody(job: NewJob): string {
  return `${encodeExtra(job)}\n${job.payload}`;
}

function encodeExtra(job: NewJob): string {
  const { maxRetries, maxLost, retryDelayMs, timeoutMs, tags, meta, webhookUrl, backoff, parent, facets, startWithinMs = null } = job;
  const isUsual = maxRetries === USUAL.maxRetries && retryDelayMs === USUAL.retryDelayMs && timeoutMs === USUAL.timeoutMs;
  const losesAsUsual = maxLost === usualMaxLost(maxRetries);
  const waitsAsUsual = backoff === USUAL.backoff;
  const isBare = tags.length === 0 && meta === null && webhookUrl === null && facets === null && !isCalled(job);
  const isPlain = isUsual && losesAsUsual && waitsAsUsual && isBare && startWithinMs === null;
  if (isPlain) return "";
  const extra: Extra = {};
  if (!isUsual) Object.assign(extra, { maxRetries, retryDelayMs, timeoutMs });
  if (!losesAsUsual) extra.maxLost = maxLost;
  if (tags.length > 0) extra.tags = tags;
  if (meta !== null) extra.meta = meta;
  if (webhookUrl !== null) extra.webhookUrl = webhookUrl;
  if (!waitsAsUsual) extra.backoff = backoff;
  if (startWithinMs !== null) extra.startWithinMs = startWithinMs;
  if (parent) extra.parent = parent;
  if (facets !== null) extra.facets = facets;
  return JSON.stringify(extra);
}

/** What its body has, as flags of the body's head. */
export function encodeFlags(job: NewJob): string {
  const { idempotencyKey, facets, limitKey } = job;
  const flags = (idempotencyKey === null ? 0 : HEAD_FLAG.keyed) + (facets === null ? 0 : HEAD_FLAG.faceted);
  const ofLimits = (hasLimitPart(job) ? HEAD_FLAG.costed : 0) + (limitKey === null ? 0 : HEAD_FLAG.limited);
  return String(flags + ofLimits + (isCalled(job) ? HEAD_FLAG.called : 0));
}

/** Whether another job calls it. */
export function isCalled({ parent }: NewJob): boolean {
  return parent !== null && parent !== undefined;
}

/** Who called a job, from the line of its unusual fields. */
export function parentIn(line: string): Parent {
  return (JSON.parse(line) as Extra).parent!;
}

/** Whether its body has its cost and limit key: most jobs have neither. */
export function hasLimitPart({ limitKey, cost }: NewJob): boolean {
  return limitKey !== null || cost !== 1;
}

/** Its cost and limit key, each in or after some digits; "" if it has neither. */
export function encodeLimit(job: NewJob): string {
  if (!hasLimitPart(job)) return "";
  const key = job.limitKey ?? "";
  return digits(job.cost, LIMIT_DIGITS.cost) + digits(Buffer.byteLength(key), LIMIT_DIGITS.length) + key;
}

/** "d<ms>", "r<time>", "b" for a blocked job, or "" for now. */
export function encodeWhen(job: NewJob): string {
  if (job.blocked === true) return "b";
  if (job.runAt !== null) return `r${job.runAt}`;
  return job.delayMs > 0 ? `d${job.delayMs}` : "";
}

/** A key after its length in bytes; "" without a key. */
export function encodeKey(job: NewJob): string {
  if (job.idempotencyKey === null) return "";
  const key = `${job.keyTtlMs}:${job.fingerprint}:${job.idempotencyKey}`;
  return digits(Buffer.byteLength(key), LENGTH_DIGITS) + key;
}

export function digits(value: number, length: number): string {
  return String(value).padStart(length, "0");
}

/** Names of lanes by number, from one reply. */
export type LaneNames = ReadonlyMap<number, { readonly queue: string; readonly type: string }>;

/** (number, queue, type) … */
export function readLanes(reply: Reply | undefined): LaneNames {
  const list = listOf(reply);
  const lanes = new Map<number, { queue: string; type: string }>();
  for (let at = 0; at < list.length; at += 3) {
    lanes.set(numberOf(list[at]), { queue: textOf(list[at + 1]), type: textOf(list[at + 2]) });
  }
  return lanes;
}

// ── State records ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const AT = RECORD.at;
/** `retries` has a byte for each. */
const LOSSES_AT = AT.retries;
const RETRIES_AT = AT.retries + 1;

const textIn = (bytes: Buffer, from: number, to?: number): string => bytes.toString("utf8", from, to);
const time = (bytes: Buffer, at: number): number => bytes.readUIntBE(at, 6);
/** A number of seven bytes. */
const long = (bytes: Buffer, at: number): number => bytes.readUIntBE(at, 3) * 2 ** 32 + bytes.readUInt32BE(at + 3);
const timeOrNull = (bytes: Buffer, at: number): number | null => bytes.readUIntBE(at, 6) || null;

export function seqOf(record: Buffer): number {
  return long(record, AT.seq);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A job as lists show it, from its body and its record (null: nothing has changed it yet). */
export function readSummary(id: string, body: Buffer, record: Buffer | null, lanes: LaneNames): JobSummaryRecord {
  const job = readBody(id, body, lanes).job;
  if (record !== null) readRecord(job, record);
  job.error = withoutStack(job.error);
  return job;
}

export function readJob(id: string, body: Buffer, record: Buffer | null, lanes: LaneNames): JobRecord {
  const { job, payloadAt } = readBody(id, body, lanes);
  const whole = job as Mutable<JobRecord>;
  whole.payload = textIn(body, payloadAt);
  whole.result = null;
  if (record === null) return whole;
  const resultAt = readRecord(job, record);
  if ((record[AT.flags]! & RECORD_FLAG.hasResult) !== 0) whole.result = textIn(record, resultAt);
  return whole;
}

/** The jobs of a claim as scripts answer them: (id, body) …, and (place among them, record) … of those that somebody had before. */
export interface Granted {
  readonly jobs: readonly Buffer[];
  readonly records: readonly (number | Buffer)[];
}

/** What the same answer tells of all its jobs. */
export interface GrantedIn {
  readonly now: number;
  readonly lanes: LaneNames;
  readonly withoutDeadLetters: ReadonlySet<string>;
}

/** Reads the jobs that a claim was granted. The record of a job that nobody had before follows from the claim. */
export function readGranted(
  { jobs, records }: Granted,
  { workerId, leaseMs }: Pick<Claim, "workerId" | "leaseMs">,
  { now, lanes, withoutDeadLetters }: GrantedIn,
): LeasedRecord[] {
  const touched = new Map<number, Buffer>();
  for (let at = 0; at < records.length; at += 2) touched.set(records[at] as number, records[at + 1] as Buffer);
  return Array.from({ length: jobs.length / 2 }, (_, place) => {
    const record = touched.get(place) ?? null;
    const job = readJob(longId(jobs[2 * place]!), jobs[2 * place + 1]!, record, lanes) as Mutable<LeasedRecord>;
    job.deadLetters = !withoutDeadLetters.has(job.queue);
    job.leaseUntil = record === null ? now + leaseMs : time(record, AT.over);
    if (record === null) becomeFirstAttempt(job, workerId, now);
    return job;
  });
}

function becomeFirstAttempt(job: Mutable<LeasedRecord>, workerId: string, now: number): void {
  job.status = "running";
  job.attempt = 1;
  job.fence = 1;
  job.workerId = workerId;
  job.startedAt = now;
  job.updatedAt = now;
}

function readBody(id: string, body: Buffer, lanes: LaneNames): { job: Mutable<JobSummaryRecord>; payloadAt: number } {
  const createdAt = time(body, HEAD.at.created);
  const flags = body[HEAD.at.flags]!;
  let at = HEAD.bytes;
  let runAt = createdAt;
  if ((flags & HEAD_FLAG.scheduled) !== 0) {
    runAt = time(body, at);
    at += DUE.bytes;
  }
  let idempotencyKey: string | null = null;
  let keyTtlMs = 0;
  if ((flags & HEAD_FLAG.keyed) !== 0) {
    keyTtlMs = time(body, at);
    const end = at + KEY.bytes + body[at + KEY.at.length]!;
    idempotencyKey = textIn(body, at + KEY.bytes, end);
    at = end;
  }
  let limitKey: string | null = null;
  let cost = 1;
  if ((flags & HEAD_FLAG.costed) !== 0) {
    cost = body.readUIntBE(at + LIMIT.at.cost, 3);
    const end = at + LIMIT.bytes + body[at + LIMIT.at.length]!;
    if ((flags & HEAD_FLAG.limited) !== 0) limitKey = textIn(body, at + LIMIT.bytes, end);
    at = end;
  }
  const line = body.indexOf(10, at);
  const extra = line === at ? NO_EXTRA : (JSON.parse(textIn(body, at, line)) as Extra);
  const lane = lanes.get(body.readUIntBE(HEAD.at.lane, 3))!;
  const maxRetries = extra.maxRetries ?? USUAL.maxRetries;
  const job: Mutable<JobSummaryRecord> = {
    id,
    type: lane.type,
    queue: lane.queue,
    priority: body.readInt8(HEAD.at.priority),
    status: (flags & HEAD_FLAG.scheduled) === 0 ? "pending" : "scheduled",
    maxRetries,
    retryCount: 0,
    maxLost: extra.maxLost ?? usualMaxLost(maxRetries),
    lostCount: 0,
    attempt: 0,
    snoozes: 0,
    retryDelayMs: extra.retryDelayMs ?? USUAL.retryDelayMs,
    backoff: extra.backoff ?? USUAL.backoff,
    timeoutMs: extra.timeoutMs ?? USUAL.timeoutMs,
    error: null,
    progress: null,
    idempotencyKey,
    keyTtlMs,
    webhookUrl: extra.webhookUrl ?? null,
    tags: extra.tags ?? [],
    meta: extra.meta ?? null,
    facets: extra.facets ?? null,
    limitKey,
    cost,
    startWithinMs: extra.startWithinMs ?? null,
    hasSteps: (flags & HEAD_FLAG.hasSteps) !== 0,
    parent: extra.parent ?? null,
    workerId: null,
    fence: 0,
    createdAt,
    updatedAt: createdAt,
    runAt,
    startedAt: null,
    completedAt: null,
    runMs: null,
  };
  return { job, payloadAt: line + 1 };
}

/** Overwrites the body's values with the record's. Returns where the result begins. */
function readRecord(job: Mutable<JobSummaryRecord>, record: Buffer): number {
  const state = record[AT.state]!;
  const workerEnd = RECORD.bytes + record.readUInt16BE(AT.wl);
  const progressEnd = workerEnd + record.readUInt32BE(AT.pl);
  const errorEnd = progressEnd + record.readUInt32BE(AT.el);
  const status = statusOf(state);
  job.status = status;
  job.retryCount = record[RETRIES_AT]!;
  job.lostCount = record[LOSSES_AT]!;
  job.attempt = record.readUInt32BE(AT.attempt);
  job.snoozes = record.readUInt16BE(AT.snoozes);
  job.fence = record.readUInt32BE(AT.fence);
  job.runAt = time(record, AT.runAt);
  job.startedAt = timeOrNull(record, AT.startedAt);
  job.updatedAt = time(record, AT.updatedAt);
  job.completedAt = isTerminal(status) ? time(record, AT.over) : null;
  job.runMs = runTime(record.readDoubleBE(AT.ran));
  if ((record[AT.flags]! & RECORD_FLAG.keyGone) !== 0) job.idempotencyKey = null;
  if (workerEnd > RECORD.bytes) job.workerId = textIn(record, RECORD.bytes, workerEnd);
  if (progressEnd > workerEnd) job.progress = JSON.parse(textIn(record, workerEnd, progressEnd)) as Progress;
  if (errorEnd > progressEnd) job.error = readError(textIn(record, progressEnd, errorEnd));
  return errorEnd;
}

const runTime = (ran: number): number | null => (ran < 0 ? null : ran);

// ── Attempts and lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const OUTCOMES = Object.keys(ATTEMPT_OUTCOME) as Attempt["outcome"][];

export function readAttempt(bytes: Buffer): Attempt {
  const errorAt = ATTEMPT.bytes + bytes.readUInt16BE(ATTEMPT.at.wl);
  return {
    number: bytes.readUInt32BE(ATTEMPT.at.number),
    workerId: errorAt === ATTEMPT.bytes ? null : textIn(bytes, ATTEMPT.bytes, errorAt),
    startedAt: time(bytes, ATTEMPT.at.startedAt),
    endedAt: time(bytes, ATTEMPT.at.endedAt),
    durationMs: runTime(bytes.readDoubleBE(ATTEMPT.at.ran)),
    outcome: OUTCOMES.find((outcome) => ATTEMPT_OUTCOME[outcome] === bytes[ATTEMPT.at.outcome])!,
    error: readError(textIn(bytes, errorAt)),
  };
}

/** The latest attempt from the record, if the history does not have it. */
export function readLatestAttempt(record: Buffer): Attempt | null {
  const number = record.readUInt32BE(AT.attempt);
  if (number <= record.readUInt32BE(AT.history)) return null;
  const status = statusOf(record[AT.state]!);
  const runs = status === "running";
  const workerEnd = RECORD.bytes + record.readUInt16BE(AT.wl);
  const errorAt = workerEnd + record.readUInt32BE(AT.pl);
  return {
    number,
    workerId: workerEnd === RECORD.bytes ? null : textIn(record, RECORD.bytes, workerEnd),
    startedAt: time(record, AT.startedAt),
    endedAt: runs ? null : timeOrNull(record, AT.over),
    durationMs: runs ? null : runTime(record.readDoubleBE(AT.ran)),
    outcome: attemptOutcome(status),
    // While it runs, the record still has the error of the previous attempt.
    error: runs ? null : readError(textIn(record, errorAt, errorAt + record.readUInt32BE(AT.el))),
  };
}

/** Lines are JSON, which can hold what UTF-8 cannot. */
export function readLogLine(bytes: Buffer, number: number): LogLine {
  return {
    number,
    at: time(bytes, LINE.at.at),
    attempt: bytes.readUInt32BE(LINE.at.attempt),
    text: JSON.parse(textIn(bytes, LINE.bytes)) as string,
  };
}

// ── Schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function readSchedule(bytes: Buffer): ScheduleRecord {
  const flags = bytes[SCHEDULE.at.flags]!;
  const specAt = SCHEDULE.bytes + bytes[SCHEDULE.at.length]!;
  return {
    ...(JSON.parse(textIn(bytes, specAt)) as ScheduleSpec),
    version: long(bytes, SCHEDULE.at.version),
    nextTick: (flags & SCHEDULE_FLAG.hasNext) === 0 ? null : time(bytes, SCHEDULE.at.nextTick),
    lastTick: (flags & SCHEDULE_FLAG.hasLast) === 0 ? null : time(bytes, SCHEDULE.at.lastTick),
    createdAt: time(bytes, SCHEDULE.at.createdAt),
    updatedAt: time(bytes, SCHEDULE.at.updatedAt),
    lastJobId: specAt === SCHEDULE.bytes ? null : longId(bytes.subarray(SCHEDULE.bytes, specAt)),
  };
}
