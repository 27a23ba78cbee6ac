/** What is packed in Redis <-> values, in both directions, in one place. statements/parts.ts tells the packed forms. */
import {
  type Attempt,
  type JobError,
  type JobRecord,
  type JobSummaryRecord,
  type LogLine,
  type NewJob,
  type PriorityLevel,
  type Progress,
  type Status,
  usualMaxLost,
} from "../../core/job.ts";
import { OUTCOME_KINDS, type Outcome, type Transition } from "../../core/lifecycle.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../core/schedule-record.ts";
import type { LeasedRecord } from "../store.ts";
import { longId } from "./ids.ts";

/** In the order of their numbers: what waits for its time, what can be claimed, what runs, what has ended. */
const STATES = ["scheduled", "retrying", "pending", "running", "completed", "cancelled", "failed", "dead"] as const satisfies Status[];
const STATE_NUMBER = Object.fromEntries(STATES.map((status, number) => [status, number])) as Record<Status, number>;

export const stateNumber = (status: Status): number => STATE_NUMBER[status];
export const statusOf = (state: number): Status => STATES[state]!;
export const statesOf = (statuses: readonly Status[]): string => statuses.map(stateNumber).join("");
export const ALL_STATES: string = statesOf(STATES);

const LEVELS = ["low", "default", "high", "critical"] as const satisfies PriorityLevel[];

/** A cell of the tallies: state × 4 + level. */
export function readCell(cell: number): { status: Status; level: PriorityLevel } {
  return { status: statusOf(cell >> 2), level: LEVELS[cell & 3]! };
}

/** A reply of a script: integers are numbers, texts are bytes. */
export type Reply = Buffer | number | null | readonly Reply[];

export const textOf = (reply: Reply | undefined): string => (reply as Buffer).toString();
export const numberOf = (reply: Reply | undefined): number => Number(typeof reply === "number" ? reply : textOf(reply));
export const listOf = (reply: Reply | undefined): readonly Reply[] => reply as readonly Reply[];

// ── Bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What most jobs do not say for themselves. The values that it stands for can never change. */
interface Extra {
  maxRetries?: number;
  /** Said only where it does not follow from maxRetries. */
  maxLost?: number;
  retryDelayMs?: number;
  timeoutMs?: number;
  tags?: readonly string[];
  meta?: string;
  webhookUrl?: string;
}

const USUAL = { maxRetries: 3, retryDelayMs: 1000, timeoutMs: 30_000 } as const;
const NO_EXTRA: Extra = {};

/** What the client adds to the head that the script packs: a line of what is unusual, and the payload. */
export function encodeBody(job: NewJob): string {
  return `${encodeExtra(job)}\n${job.payload}`;
}

function encodeExtra(job: NewJob): string {
  const { maxRetries, maxLost, retryDelayMs, timeoutMs, tags, meta, webhookUrl } = job;
  const isUsual = maxRetries === USUAL.maxRetries && retryDelayMs === USUAL.retryDelayMs && timeoutMs === USUAL.timeoutMs;
  const losesAsUsual = maxLost === usualMaxLost(maxRetries);
  if (isUsual && losesAsUsual && tags.length === 0 && meta === null && webhookUrl === null) return "";
  const extra: Extra = {};
  if (!isUsual) Object.assign(extra, { maxRetries, retryDelayMs, timeoutMs });
  if (!losesAsUsual) extra.maxLost = maxLost;
  if (tags.length > 0) extra.tags = tags;
  if (meta !== null) extra.meta = meta;
  if (webhookUrl !== null) extra.webhookUrl = webhookUrl;
  return JSON.stringify(extra);
}

/** "d<ms>", "r<time>", or "" for now. */
export function encodeWhen(job: NewJob): string {
  if (job.runAt !== null) return `r${job.runAt}`;
  return job.delayMs > 0 ? `d${job.delayMs}` : "";
}

/** A key with its length in bytes before it; "" for a job without. */
export function encodeKey(job: NewJob): string {
  if (job.idempotencyKey === null) return "";
  const key = `${job.keyTtlMs}:${job.fingerprint}:${job.idempotencyKey}`;
  return digits(Buffer.byteLength(key), 4) + key;
}

/** A number in so many digits. */
export function digits(value: number, length: number): string {
  return String(value).padStart(length, "0");
}

const HEAD_BYTES = 18;
const SCHEDULED = 1;
const KEYED = 2;

/** Names of lanes by their numbers, as one reply tells them. */
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

/** Where the fields of a packed state record begin. */
const AT = {
  state: 0,
  flags: 1,
  seq: 6,
  fence: 13,
  attempt: 17,
  losses: 21,
  retries: 22,
  snoozes: 23,
  runAt: 25,
  startedAt: 31,
  updatedAt: 37,
  over: 43,
  ran: 49,
  history: 66,
  workerLength: 72,
  progressLength: 74,
  errorLength: 78,
  texts: 82,
} as const;

const KEY_GONE = 1;
const HAS_RESULT = 4;

const textIn = (bytes: Buffer, from: number, to?: number): string => bytes.toString("utf8", from, to);
const time = (bytes: Buffer, at: number): number => bytes.readUIntBE(at, 6);
const timeOrNull = (bytes: Buffer, at: number): number | null => bytes.readUIntBE(at, 6) || null;

/** The sequence of a packed state record. */
export function seqOf(record: Buffer): number {
  return record.readUIntBE(AT.seq, 3) * 2 ** 32 + record.readUInt32BE(AT.seq + 3);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A job from its body and its record (null: nobody has touched it), whole or as lists show it. */
export function readSummary(id: string, body: Buffer, record: Buffer | null, lanes: LaneNames): JobSummaryRecord {
  const job = readBody(id, body, lanes).job;
  if (record !== null) readRecord(job, record);
  if (job.error !== null && job.error.stack !== null) job.error = { ...job.error, stack: null };
  return job;
}

export function readJob(id: string, body: Buffer, record: Buffer | null, lanes: LaneNames): JobRecord {
  const { job, payloadAt } = readBody(id, body, lanes);
  const whole = job as Mutable<JobRecord>;
  whole.payload = textIn(body, payloadAt);
  whole.result = null;
  if (record === null) return whole;
  const resultAt = readRecord(job, record);
  if ((record[AT.flags]! & HAS_RESULT) !== 0) whole.result = textIn(record, resultAt);
  return whole;
}

export function readLeased(id: string, body: Buffer, record: Buffer, lanes: LaneNames, failing: ReadonlySet<string>): LeasedRecord {
  const job = readJob(id, body, record, lanes) as Mutable<LeasedRecord>;
  job.leaseUntil = time(record, AT.over);
  job.deadLetters = !failing.has(job.queue);
  return job;
}

function readBody(id: string, body: Buffer, lanes: LaneNames): { job: Mutable<JobSummaryRecord>; payloadAt: number } {
  const createdAt = time(body, 0);
  const flags = body[6]!;
  let at = HEAD_BYTES;
  let runAt = createdAt;
  if ((flags & SCHEDULED) !== 0) {
    runAt = time(body, at);
    at += 6;
  }
  let idempotencyKey: string | null = null;
  let keyTtlMs = 0;
  if ((flags & KEYED) !== 0) {
    keyTtlMs = time(body, at);
    const end = at + 7 + body[at + 6]!;
    idempotencyKey = textIn(body, at + 7, end);
    at = end;
  }
  const line = body.indexOf(10, at);
  const extra = line === at ? NO_EXTRA : (JSON.parse(textIn(body, at, line)) as Extra);
  const lane = lanes.get(body.readUIntBE(8, 3))!;
  const maxRetries = extra.maxRetries ?? USUAL.maxRetries;
  const job: Mutable<JobSummaryRecord> = {
    id,
    type: lane.type,
    queue: lane.queue,
    priority: body.readInt8(7),
    status: (flags & SCHEDULED) === 0 ? "pending" : "scheduled",
    maxRetries,
    retryCount: 0,
    maxLost: extra.maxLost ?? usualMaxLost(maxRetries),
    lostCount: 0,
    attempt: 0,
    snoozes: 0,
    retryDelayMs: extra.retryDelayMs ?? USUAL.retryDelayMs,
    timeoutMs: extra.timeoutMs ?? USUAL.timeoutMs,
    error: null,
    progress: null,
    idempotencyKey,
    keyTtlMs,
    webhookUrl: extra.webhookUrl ?? null,
    tags: extra.tags ?? [],
    meta: extra.meta ?? null,
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

/** Writes what the record says over what the body says. Tells where the result begins. */
function readRecord(job: Mutable<JobSummaryRecord>, record: Buffer): number {
  const state = record[AT.state]!;
  const workerEnd = AT.texts + record.readUInt16BE(AT.workerLength);
  const progressEnd = workerEnd + record.readUInt32BE(AT.progressLength);
  const errorEnd = progressEnd + record.readUInt32BE(AT.errorLength);
  job.status = statusOf(state);
  job.retryCount = record[AT.retries]!;
  job.lostCount = record[AT.losses]!;
  job.attempt = record.readUInt32BE(AT.attempt);
  job.snoozes = record.readUInt16BE(AT.snoozes);
  job.fence = record.readUInt32BE(AT.fence);
  job.runAt = time(record, AT.runAt);
  job.startedAt = timeOrNull(record, AT.startedAt);
  job.updatedAt = time(record, AT.updatedAt);
  job.completedAt = state >= 4 ? time(record, AT.over) : null;
  job.runMs = runTime(record.readDoubleBE(AT.ran));
  if ((record[AT.flags]! & KEY_GONE) !== 0) job.idempotencyKey = null;
  if (workerEnd > AT.texts) job.workerId = textIn(record, AT.texts, workerEnd);
  if (progressEnd > workerEnd) job.progress = JSON.parse(textIn(record, workerEnd, progressEnd)) as Progress;
  if (errorEnd > progressEnd) job.error = readError(textIn(record, progressEnd, errorEnd));
  return errorEnd;
}

const runTime = (ran: number): number | null => (ran < 0 ? null : ran);
const readError = (text: string): JobError | null => (text === "" ? null : (JSON.parse(text) as JobError));

// ── Transitions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const COUNTING = { keep: 0, add: 1, reset: 2 } as const;

/** The part of a transition that many share, as SHAPE_FIELDS numbers. */
export function encodeShape(transition: Transition, outcome: Outcome["kind"] | null, ifExpired: boolean): string[] {
  return [
    stateNumber(transition.to),
    transition.bumpFence ? 1 : 0,
    transition.giveBackAttempt ? 1 : 0,
    COUNTING[transition.retries],
    transition.countSnooze ? 1 : 0,
    modeOf(transition.result),
    modeOf(transition.error),
    transition.errorOnlyIfRunning ? 1 : 0,
    transition.endsAttempt ? 1 : 0,
    outcome === null ? 0 : OUTCOME_KINDS.indexOf(outcome),
    ifExpired ? 1 : 0,
    transition.delayMs === null ? 0 : 1,
    COUNTING[transition.losses],
  ].map(String);
}

/** 0 keeps what is there, 1 makes it null, 2 is given beside. */
function modeOf(value: unknown): number {
  if (value === undefined) return 0;
  return value === null ? 1 : 2;
}

export const encodeNumber = (value: number | null): string => (value === null ? "" : String(value));
/** The group comes first: a script finds it by its place. */
export function encodeError(error: JobError | null | undefined): string {
  if (error === null || error === undefined) return "";
  const { group, ...rest } = error;
  return JSON.stringify({ group, ...rest });
}

// ── Attempts and lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const OUTCOMES = ["running", "completed", "cancelled", "failed"] as const satisfies Attempt["outcome"][];

export function readAttempt(bytes: Buffer): Attempt {
  const errorAt = 27 + bytes.readUInt16BE(25);
  return {
    number: bytes.readUInt32BE(0),
    workerId: errorAt === 27 ? null : textIn(bytes, 27, errorAt),
    startedAt: time(bytes, 4),
    endedAt: time(bytes, 10),
    durationMs: runTime(bytes.readDoubleBE(16)),
    outcome: OUTCOMES[bytes[24]!]!,
    error: readError(textIn(bytes, errorAt)),
  };
}

/** The attempt that the record itself still tells of, if the history does not have it. */
export function readLatestAttempt(record: Buffer): Attempt | null {
  const number = record.readUInt32BE(AT.attempt);
  if (number <= record.readUInt32BE(AT.history)) return null;
  const state = record[AT.state]!;
  const runs = state === STATE_NUMBER.running;
  const workerEnd = AT.texts + record.readUInt16BE(AT.workerLength);
  const errorAt = workerEnd + record.readUInt32BE(AT.progressLength);
  return {
    number,
    workerId: workerEnd === AT.texts ? null : textIn(record, AT.texts, workerEnd),
    startedAt: time(record, AT.startedAt),
    endedAt: runs ? null : time(record, AT.over),
    durationMs: runs ? null : runTime(record.readDoubleBE(AT.ran)),
    outcome: latestOutcome(statusOf(state)),
    // While it runs, the record still has the error of the attempt before.
    error: runs ? null : readError(textIn(record, errorAt, errorAt + record.readUInt32BE(AT.errorLength))),
  };
}

function latestOutcome(status: Status): Attempt["outcome"] {
  return status === "running" || status === "completed" || status === "cancelled" ? status : "failed";
}

/** Lines are JSON texts, which hold also what UTF-8 does not. */
export function readLogLine(bytes: Buffer, number: number): LogLine {
  return { number, at: time(bytes, 0), attempt: bytes.readUInt32BE(6), text: JSON.parse(textIn(bytes, 10)) as string };
}

// ── Schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const HAS_NEXT = 2;
const HAS_LAST = 4;
const SCHEDULE_BYTES = 33;

export function readSchedule(bytes: Buffer): ScheduleRecord {
  const flags = bytes[7]!;
  const specAt = SCHEDULE_BYTES + bytes[32]!;
  return {
    ...(JSON.parse(textIn(bytes, specAt)) as ScheduleSpec),
    version: bytes.readUIntBE(0, 3) * 2 ** 32 + bytes.readUInt32BE(3),
    nextTick: (flags & HAS_NEXT) === 0 ? null : time(bytes, 8),
    lastTick: (flags & HAS_LAST) === 0 ? null : time(bytes, 14),
    createdAt: time(bytes, 20),
    updatedAt: time(bytes, 26),
    lastJobId: specAt === SCHEDULE_BYTES ? null : longId(bytes.subarray(SCHEDULE_BYTES, specAt)),
  };
}
