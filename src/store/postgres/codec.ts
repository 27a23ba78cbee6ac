/** Rows <-> values, in both directions. Rows are arrays: objects with thirty columns cost more than parsing them. */
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
import { counterOf, countsTimes } from "../../core/counters.ts";
import type { Facets } from "../../core/facets.ts";
import type { Transition } from "../../core/lifecycle.ts";
import type { Parent } from "../../core/steps.ts";
import { counterMetric, LARGEST_FENCE, STATE, statusOf } from "../numbers.ts";
import type { Claim, Lease, LeasedRecord } from "../store.ts";
import { encodeError, readError, withoutStack } from "../stored-error.ts";

export type Row = (string | number | boolean | null)[];

// ── Texts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const MARK = "\u0001";

/** PostgreSQL cannot store U+0000 or a lone surrogate. A text with one is stored as JSON after a mark. */
export function encodeText(text: string): string {
  return text.includes("\u0000") || text.startsWith(MARK) || !text.isWellFormed() ? MARK + JSON.stringify(text) : text;
}

export function decodeText(text: string): string {
  return text.startsWith(MARK) ? (JSON.parse(text.slice(1)) as string) : text;
}

/** Arrays are sent as text in the server's own notation: every driver that a caller may use passes on a text. */
export function numbers(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? "null").join(",")}}`;
}

export function texts(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "null" : `"${value.replace(/["\\]/g, "\\$&")}"`)).join(",")}}`;
}

/** Ids need no quotes. */
export const ids = (values: readonly string[]): string => `{${values.join(",")}}`;

// ── Jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Rare fields share one JSON column, which is null for most jobs. */
interface Extra {
  /** It is a flow: a trigger looks for the name of this field (see flow-tables.ts). */
  flow?: true;
  meta?: string;
  webhookUrl?: string;
  /** Only if it is not exponential. */
  backoff?: string;
  /** As encodeText writes it, because the server reads it. */
  limitKey?: string;
  /** Only if it is not 1. */
  cost?: number;
  startWithinMs?: number;
  /** The step as encodeText writes it, because the server reads it. */
  parent?: Parent;
  /** The life of a job that has steps. Only the server writes it, and always first: see functions/step-marks.ts. */
  steps?: number;
}

export function encodeExtra(
  job: Pick<NewJob, "meta" | "webhookUrl" | "backoff" | "limitKey" | "cost" | "startWithinMs" | "parent" | "flow">,
): string | null {
  const waitsAsUsual = job.backoff === USUAL_JOB.backoff;
  const { parent = null, startWithinMs = null, flow } = job;
  if (
    job.meta === null &&
    job.webhookUrl === null &&
    waitsAsUsual &&
    job.limitKey === null &&
    job.cost === 1 &&
    startWithinMs === null &&
    parent === null &&
    flow === undefined
  )
    return null;
  const extra: Extra = {};
  if (flow !== undefined) extra.flow = true;
  if (job.meta !== null) extra.meta = job.meta;
  if (job.webhookUrl !== null) extra.webhookUrl = job.webhookUrl;
  if (!waitsAsUsual) extra.backoff = job.backoff;
  if (job.limitKey !== null) extra.limitKey = encodeText(job.limitKey);
  if (job.cost !== 1) extra.cost = job.cost;
  if (startWithinMs !== null) extra.startWithinMs = startWithinMs;
  if (parent !== null) extra.parent = { ...parent, step: encodeText(parent.step) };
  return JSON.stringify(extra);
}

/** A column with the rare fields of each job; null if none has any. */
export function extrasColumn(jobs: readonly NewJob[]): string | null {
  const extras = jobs.map(encodeExtra);
  return extras.every((extra) => extra === null) ? null : texts(extras);
}

export function encodeTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : texts(tags.map(encodeText));
}

export function encodeFacets(facets: Facets | null | undefined): string | null {
  return facets === null || facets === undefined ? null : JSON.stringify(facets);
}

/** A column with the facets of each job; null if none has any. */
export function facetsColumn(jobs: readonly Pick<NewJob, "facets">[]): string | null {
  return jobs.every(({ facets }) => facets === null) ? null : texts(jobs.map(({ facets }) => encodeFacets(facets)));
}

const NO_EXTRA: Extra = {};
const NO_TAGS: readonly string[] = [];

/** Columns of a job without payload and result: from `job j` and its row `s` in the table of its state. */
const SUMMARY = {
  id: "j.id",
  lane: "j.lane",
  state: "s.state",
  run_at: "s.run_at",
  attempt: "s.attempt",
  retry_count: "s.retry_count",
  lost_count: "s.lost_count",
  snoozes: "s.snoozes",
  fence: "s.fence",
  worker: "s.worker",
  max_retries: "j.max_retries",
  max_lost: "j.max_lost",
  retry_delay: "j.retry_delay",
  timeout: "j.timeout",
  key: "j.key",
  key_ttl: "j.key_ttl",
  tags: "array_to_json(j.tags)::text",
  extra: "j.extra",
  facets: "j.facets",
  created_at: "j.created_at",
  updated_at: "s.updated_at",
  started_at: "s.started_at",
  ended_at: "s.ended_at",
  run_ms: "s.run_ms",
  error: "s.error",
  progress: "s.progress",
} as const;

const FULL = { ...SUMMARY, payload: "j.payload", result: "s.result", lease_until: "s.lease_until" } as const;

export const SUMMARY_COLUMNS: string = Object.values(SUMMARY).join(", ");
export const JOB_COLUMNS: string = Object.values(FULL).join(", ");

/** The columns of a whole job, with some of them changed. */
export function jobColumnsWith(changes: Partial<Record<keyof typeof FULL, string>>): string {
  return Object.entries(FULL)
    .map(([name, text]) => changes[name as keyof typeof FULL] ?? text)
    .join(", ");
}

const SQL_TYPES: Readonly<Record<keyof typeof FULL, string>> = {
  id: "uuid",
  lane: "int",
  state: "smallint",
  run_at: "bigint",
  attempt: "int",
  retry_count: "smallint",
  lost_count: "smallint",
  snoozes: "smallint",
  fence: "int",
  worker: "text",
  max_retries: "smallint",
  max_lost: "smallint",
  retry_delay: "bigint",
  timeout: "bigint",
  key: "text",
  key_ttl: "bigint",
  tags: "text",
  extra: "text",
  facets: "text",
  created_at: "bigint",
  updated_at: "bigint",
  started_at: "bigint",
  ended_at: "bigint",
  run_ms: "float8",
  error: "text",
  progress: "text",
  payload: "text",
  result: "text",
  lease_until: "bigint",
};

/** The same columns as a function's return type. */
export const SUMMARY_RETURNS: string = returns(SUMMARY);
export const JOB_RETURNS: string = returns(FULL);
/** What a function that returns whole jobs calls their columns. */
export const JOB_RETURNED: string = Object.keys(FULL)
  .map((name) => `out_${name}`)
  .join(", ");

function returns(columns: object): string {
  return Object.keys(columns)
    .map((name) => `out_${name} ${SQL_TYPES[name as keyof typeof FULL]}`)
    .join(", ");
}

const AT = Object.fromEntries(Object.keys(FULL).map((name, index) => [name, index])) as Record<keyof typeof FULL, number>;

export const laneOf = (row: Row, from = 0): number => row[from + AT.lane] as number;

export const runAtOf = (row: Row, from = 0): number | null => row[from + AT.run_at] as number | null;

export const attemptOf = (row: Row, from = 0): number | null => row[from + AT.attempt] as number | null;

const NO_FENCE = -1;

/** A fence that the server's integers cannot hold fails a whole call. */
export function encodeFence({ fence }: Lease): number {
  return fence > LARGEST_FENCE ? NO_FENCE : fence;
}

/** Names that a row has only a number for. */
export interface Names {
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
}

/** Reads a whole job from the columns that begin at `from`. */
export function readJob(row: Row, names: Names, from = 0): JobRecord {
  const record = readSummary(row, names, from) as { -readonly [K in keyof JobRecord]: JobRecord[K] };
  record.error = readError(row[from + AT.error] as string | null);
  record.payload = row[from + AT.payload] as string;
  record.result = row[from + AT.result] as string | null;
  return record;
}

/** Reads a claimed job. What its claim tells, and what most jobs have, is null, unless the claim was repeated (see functions/exchange.ts). */
export function readGranted(row: Row, names: Names, deadLetters: boolean, { workerId, leaseMs }: Claim, from = 0): LeasedRecord {
  const claimedAt = row[from + AT.started_at] as number;
  row[from + AT.state] ??= STATE.running;
  row[from + AT.worker] ??= encodeText(workerId);
  row[from + AT.updated_at] ??= claimedAt;
  row[from + AT.lease_until] ??= claimedAt + leaseMs;
  row[from + AT.run_at] ??= row[from + AT.created_at]!;
  row[from + AT.attempt] ??= 1;
  row[from + AT.fence] ??= row[from + AT.attempt]!;
  row[from + AT.retry_count] ??= 0;
  row[from + AT.lost_count] ??= 0;
  row[from + AT.snoozes] ??= 0;
  const record = readJob(row, names, from) as { -readonly [K in keyof LeasedRecord]: LeasedRecord[K] };
  record.leaseUntil = row[from + AT.lease_until] as number;
  record.deadLetters = deadLetters;
  return record;
}

export function readSummary(row: Row, names: Names, from = 0): JobSummaryRecord {
  const extra = row[from + AT.extra] === null ? NO_EXTRA : (JSON.parse(row[from + AT.extra] as string) as Extra);
  const key = row[from + AT.key] as string | null;
  const facets = row[from + AT.facets] as string | null;
  const worker = row[from + AT.worker] as string | null;
  const progress = row[from + AT.progress] as string | null;
  return {
    id: row[from + AT.id] as string,
    type: names.type,
    queue: names.queue,
    priority: names.priority,
    status: statusOf(row[from + AT.state] as number),
    maxRetries: row[from + AT.max_retries] as number,
    retryCount: row[from + AT.retry_count] as number,
    maxLost: (row[from + AT.max_lost] as number | null) ?? usualMaxLost(row[from + AT.max_retries] as number),
    lostCount: row[from + AT.lost_count] as number,
    attempt: row[from + AT.attempt] as number,
    snoozes: row[from + AT.snoozes] as number,
    retryDelayMs: row[from + AT.retry_delay] as number,
    backoff: extra.backoff ?? USUAL_JOB.backoff,
    timeoutMs: row[from + AT.timeout] as number,
    error: withoutStack(readError(row[from + AT.error] as string | null)),
    progress: progress === null ? null : (JSON.parse(progress) as Progress),
    idempotencyKey: key === null ? null : decodeText(key),
    keyTtlMs: (row[from + AT.key_ttl] as number | null) ?? 0,
    webhookUrl: extra.webhookUrl ?? null,
    tags: readTags(row[from + AT.tags] as string | null),
    meta: extra.meta ?? null,
    facets: facets === null ? null : (JSON.parse(facets) as Facets),
    limitKey: extra.limitKey === undefined ? null : decodeText(extra.limitKey),
    cost: extra.cost ?? 1,
    startWithinMs: extra.startWithinMs ?? null,
    hasSteps: extra.steps !== undefined,
    parent: extra.parent === undefined ? null : { ...extra.parent, step: decodeText(extra.parent.step) },
    workerId: worker === null ? null : decodeText(worker),
    fence: row[from + AT.fence] as number,
    createdAt: row[from + AT.created_at] as number,
    updatedAt: row[from + AT.updated_at] as number,
    runAt: row[from + AT.run_at] as number,
    startedAt: row[from + AT.started_at] as number | null,
    completedAt: row[from + AT.ended_at] as number | null,
    runMs: row[from + AT.run_ms] as number | null,
  };
}

function readTags(text: string | null): readonly string[] {
  return text === null ? NO_TAGS : (JSON.parse(text) as string[]).map(decodeText);
}

export function readAttempt(row: Row): Attempt {
  return {
    number: row[0] as number,
    workerId: row[1] === null ? null : decodeText(row[1] as string),
    startedAt: row[2] as number,
    endedAt: row[3] as number | null,
    durationMs: row[4] as number | null,
    outcome: row[5] as Attempt["outcome"],
    error: readError(row[6] as string | null),
  };
}

export const LOG_COLUMNS = "number, at, attempt, text";

export function readLogLine(row: Row): LogLine {
  return { number: row[0] as number, at: row[1] as number, attempt: row[2] as number, text: decodeText(row[3] as string) };
}

/** A transition as TRANSITION in functions/snippets.ts reads it. */
export function encodeTransition(transition: Transition): object {
  const counter = counterOf(transition.to);
  return {
    to_state: STATE[transition.to],
    bump: transition.bumpFence ? 1 : 0,
    give_back: transition.giveBackAttempt ? 1 : 0,
    reset: transition.retries === "reset",
    retry: transition.retries === "add" ? 1 : 0,
    reset_losses: transition.losses === "reset",
    loss: transition.losses === "add" ? 1 : 0,
    snooze: transition.countSnooze ? 1 : 0,
    delay: transition.delayMs === null ? null : Math.round(transition.delayMs),
    keep_result: transition.result === undefined,
    new_result: transition.result ?? null,
    keep_error: transition.error === undefined,
    new_error: encodeError(transition.error),
    error_if_running: transition.errorOnlyIfRunning,
    ends: transition.endsAttempt,
    new_run_ms: transition.runMs,
    counter: counter === null ? null : counterMetric(counter),
    timed: countsTimes(transition),
  };
}
