/** Rows <-> values, in both directions. Rows are arrays: objects with thirty columns cost a third of the drain. */
import type { Facets } from "../../core/facets.ts";
import {
  type Attempt,
  type JobRecord,
  type JobSummaryRecord,
  type LogLine,
  type NewJob,
  type Progress,
  USUAL_JOB,
  usualMaxLost,
} from "../../core/job.ts";
import type { Parent, StepRecord } from "../../core/steps.ts";
import { statusOf, STEP_KIND, STEP_STATE, stepKindOf, stepStateOf } from "../numbers.ts";
import type { LeasedRecord } from "../store.ts";
import { readError, withoutStack } from "../stored-error.ts";

export type Row = (string | number | Uint8Array | null)[];

export const ID_BYTES = 16;

/** `into` lets a hot path reuse one blob: SQLite copies bound values, and a new blob costs five times as much. */
export function idToBlob(id: string, into: Uint8Array = new Uint8Array(ID_BYTES)): Uint8Array {
  let at = 0;
  for (let index = 0; index < 36; index += 2) {
    if (id.charCodeAt(index) === 45) index++; // the hyphen
    into[at++] = (digit(id.charCodeAt(index)) << 4) | digit(id.charCodeAt(index + 1));
  }
  return into;
}

function digit(code: number): number {
  return code < 58 ? code - 48 : (code | 32) - 87;
}

/** Reads an id as text. A blob takes 1 µs to reach JavaScript, more than all other columns of a row together; a text takes a fifth. */
export const idColumn = (column: string): string => `lower(hex(${column}))`;

export function hexToId(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Rare fields share one JSON column, which is null for most jobs. */
interface Extra {
  tags?: readonly string[];
  meta?: string;
  webhookUrl?: string;
  /** Only if it is not exponential. */
  backoff?: string;
  facets?: Facets;
  limitKey?: string;
  /** Only if it is not 1. */
  cost?: number;
  startWithinMs?: number;
  parent?: Parent;
  steps?: StepsFacts;
}

/** What a job remembers of its steps, once it had one. */
export interface StepsFacts {
  /** One more for each time that they were forgotten. */
  readonly life: number;
  /** The fence of the job since it was last suspended. The next claim raises the fence, so it is the only one that takes no units of a rate. */
  readonly suspendedAt?: number | undefined;
}

export function encodeExtra(job: NewJob): string | null {
  const waitsAsUsual = job.backoff === USUAL_JOB.backoff;
  const isPlain = job.tags.length === 0 && job.meta === null && job.webhookUrl === null && waitsAsUsual && job.facets === null;
  const { parent = null, startWithinMs = null } = job;
  if (isPlain && job.limitKey === null && job.cost === 1 && parent === null && startWithinMs === null) return null;
  const extra: Extra = {};
  if (job.tags.length > 0) extra.tags = job.tags;
  if (job.meta !== null) extra.meta = job.meta;
  if (job.webhookUrl !== null) extra.webhookUrl = job.webhookUrl;
  if (!waitsAsUsual) extra.backoff = job.backoff;
  if (job.facets !== null) extra.facets = job.facets;
  if (job.limitKey !== null) extra.limitKey = job.limitKey;
  if (job.cost !== 1) extra.cost = job.cost;
  if (startWithinMs !== null) extra.startWithinMs = startWithinMs;
  if (parent !== null) extra.parent = parent;
  return JSON.stringify(extra);
}

/** The rare fields of a job with others in place of some of them. */
export function changedExtra(
  extra: string | null,
  change: { readonly facets?: Facets | null; readonly steps?: StepsFacts },
): string | null {
  const { facets = null, ...others } = extra === null ? NO_EXTRA : (JSON.parse(extra) as Extra);
  const { facets: wanted = facets, ...changed } = change;
  const after: Extra = { ...others, ...(wanted === null ? {} : { facets: wanted }), ...changed };
  return Object.keys(after).length === 0 ? null : JSON.stringify(after);
}

/** The facets in the rare fields of a job. A text of the user's has its quotes escaped here, so most JSON need not be read. */
export function facetsIn(extra: string | null): Facets | null {
  return extra?.includes('"facets":') === true ? (JSON.parse(extra) as Extra).facets! : null;
}

/** What the rare fields of a job say of its steps; null if it never had one. (A facet may have this name.) */
export function stepsIn(extra: string | null): StepsFacts | null {
  return extra?.includes('"steps":') === true ? ((JSON.parse(extra) as Extra).steps ?? null) : null;
}

export function parentIn(extra: string | null): Parent | null {
  return extra?.includes('"parent":') === true ? ((JSON.parse(extra) as Extra).parent ?? null) : null;
}

/** The limit key in the rare fields of a job. */
export function limitKeyIn(extra: string): string {
  return readExtra(extra).limitKey!;
}

/** How many units of a rate the claim of a job with this fence takes. */
export function costIn(extra: string | null, fence: number): number {
  if (extra === null || !(extra.includes('"cost":') || extra.includes('"steps":'))) return 1;
  const { cost = 1, steps } = JSON.parse(extra) as Extra;
  return steps?.suspendedAt === fence ? 0 : cost;
}

const ONLY_KEY = '{"limitKey":"';

/** Most jobs with rare fields have only a limit key, without escapes: that needs no parser, which would take half a microsecond. */
function readExtra(text: string): Extra {
  const end = text.length - 2;
  if (text.startsWith(ONLY_KEY) && text.indexOf('"', ONLY_KEY.length) === end && !text.includes("\\")) {
    return { limitKey: text.slice(ONLY_KEY.length, end) };
  }
  return JSON.parse(text) as Extra;
}

const NO_EXTRA: Extra = {};
const NO_TAGS: readonly string[] = [];

const SUMMARY = [
  "seq",
  "id",
  "lane",
  "queue",
  "state",
  "priority",
  "run_at",
  "attempt",
  "retry_count",
  "lost_count",
  "snoozes",
  "fence",
  "worker",
  "max_retries",
  "max_lost",
  "retry_delay",
  "timeout",
  "key",
  "key_ttl",
  "extra",
  "created_at",
  "updated_at",
  "started_at",
  "ended_at",
  "run_ms",
  "error",
  "progress",
] as const;

const FULL = [...SUMMARY, "payload", "result", "rank"] as const;

/** Columns of a job without payload and result, and of a whole job, as the readers below expect them. */
export const SUMMARY_COLUMNS: string = selected(SUMMARY);
export const JOB_COLUMNS: string = selected(FULL);
/** Those of a whole job, if the statement reads other tables too: `j` is the job. Further columns may follow. */
export const JOB_COLUMN_COUNT: number = FULL.length;
export const JOINED_JOB_COLUMNS: string = selected(FULL.map((column) => `j.${column}`));

function selected(columns: readonly string[]): string {
  return columns.map((column) => (column === "id" || column === "j.id" ? idColumn(column) : column)).join(", ");
}

const AT = Object.fromEntries(FULL.map((name, index) => [name, index])) as Record<(typeof FULL)[number], number>;

export const seqOf = (row: Row): number => row[AT.seq] as number;
export const rankOf = (row: Row): number => row[AT.rank] as number;
export const queueIdOf = (row: Row): number => row[AT.queue] as number;
export const laneOf = (row: Row): number => row[AT.lane] as number;
export const priorityOf = (row: Row): number => row[AT.priority] as number;
export const costOf = (row: Row): number => costIn(row[AT.extra] as string | null, row[AT.fence] as number);

/** What a search adds after the columns of a summary. `isFound` is null if the payload must still be searched. */
export function searchedOf(row: Row): { payloadBytes: number; isFound: boolean | null } {
  const [payloadBytes, isFound] = row.slice(SUMMARY.length) as [number, number | null];
  return { payloadBytes, isFound: isFound === null ? null : isFound === 1 };
}

/** Names that a row has only numbers for. */
export interface Names {
  readonly queue: string;
  readonly type: string;
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

export function readJob(row: Row, names: Names): Mutable<JobRecord> {
  const record = readSummary(row, names) as Mutable<JobRecord>;
  record.error = readError(row[AT.error] as string | null);
  record.payload = row[AT.payload] as string;
  record.result = row[AT.result] as string | null;
  return record;
}

/** The job after its claim; the row is from just before. */
export function readClaimed(row: Row, names: Names, claim: ClaimFacts): LeasedRecord {
  const job = readJob(row, names) as Mutable<LeasedRecord>;
  job.status = "running";
  job.fence++;
  job.attempt++;
  job.progress = null;
  job.startedAt = claim.now;
  job.updatedAt = claim.now;
  job.workerId = claim.workerId;
  job.leaseUntil = claim.leaseUntil;
  job.deadLetters = claim.deadLetters;
  return job;
}

/** What a claim writes into a job, and whether its queue keeps dead letters. */
export interface ClaimFacts {
  readonly now: number;
  readonly leaseUntil: number;
  readonly workerId: string;
  readonly deadLetters: boolean;
}

export function readSummary(row: Row, names: Names): JobSummaryRecord {
  const extra = row[AT.extra] === null ? NO_EXTRA : readExtra(row[AT.extra] as string);
  return {
    id: hexToId(row[AT.id] as string),
    type: names.type,
    queue: names.queue,
    priority: row[AT.priority] as number,
    status: statusOf(row[AT.state] as number),
    maxRetries: row[AT.max_retries] as number,
    retryCount: row[AT.retry_count] as number,
    maxLost: (row[AT.max_lost] as number | null) ?? usualMaxLost(row[AT.max_retries] as number),
    lostCount: row[AT.lost_count] as number,
    attempt: row[AT.attempt] as number,
    snoozes: row[AT.snoozes] as number,
    retryDelayMs: row[AT.retry_delay] as number,
    backoff: extra.backoff ?? USUAL_JOB.backoff,
    timeoutMs: row[AT.timeout] as number,
    error: withoutStack(readError(row[AT.error] as string | null)),
    progress: row[AT.progress] === null ? null : (JSON.parse(row[AT.progress] as string) as Progress),
    idempotencyKey: row[AT.key] as string | null,
    keyTtlMs: (row[AT.key_ttl] as number | null) ?? 0,
    webhookUrl: extra.webhookUrl ?? null,
    tags: extra.tags ?? NO_TAGS,
    meta: extra.meta ?? null,
    facets: extra.facets ?? null,
    limitKey: extra.limitKey ?? null,
    cost: extra.cost ?? 1,
    startWithinMs: extra.startWithinMs ?? null,
    hasSteps: extra.steps !== undefined,
    parent: extra.parent ?? null,
    workerId: row[AT.worker] as string | null,
    fence: row[AT.fence] as number,
    createdAt: row[AT.created_at] as number,
    updatedAt: row[AT.updated_at] as number,
    runAt: row[AT.run_at] as number,
    startedAt: row[AT.started_at] as number | null,
    completedAt: row[AT.ended_at] as number | null,
    runMs: row[AT.run_ms] as number | null,
  };
}

export const ATTEMPT_COLUMNS = "number, worker, started_at, ended_at, run_ms, outcome, error";

export function readAttempt(row: Row): Attempt {
  return {
    number: row[0] as number,
    workerId: row[1] as string | null,
    startedAt: row[2] as number,
    endedAt: row[3] as number,
    durationMs: row[4] as number | null,
    outcome: row[5] as Attempt["outcome"],
    error: readError(row[6] as string | null),
  };
}

export const STEP_COLUMNS = "name, kind, state, until, started_at, ended_at, attempt, ended_by, detail, value";

export function stepValues(step: StepRecord): (string | number | null)[] {
  const { name, kind, state, until, startedAt, endedAt, attempt, by, detail, value } = step;
  return [name, STEP_KIND[kind], STEP_STATE[state], until, startedAt, endedAt, attempt, by, detail, value];
}

export function readStep(row: Row): StepRecord {
  return {
    name: row[0] as string,
    kind: stepKindOf(row[1] as number),
    state: stepStateOf(row[2] as number),
    until: row[3] as number | null,
    startedAt: row[4] as number,
    endedAt: row[5] as number | null,
    attempt: row[6] as number,
    by: row[7] as string | null,
    detail: row[8] as string | null,
    value: row[9] as string | null,
  };
}

export const LOG_COLUMNS = "number, at, attempt, text";

export function readLogLine(row: Row): LogLine {
  return { number: row[0] as number, at: row[1] as number, attempt: row[2] as number, text: row[3] as string };
}
