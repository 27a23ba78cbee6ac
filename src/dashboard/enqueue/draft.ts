/** A DRAFT OF A JOB: every field as text, as in the form; and the same as the API takes it. */
import { formatDuration } from "../../core/duration.ts";
import { type Issue, MillraceError } from "../../core/errors.ts";
import { type Job, usualMaxLost } from "../../core/job.ts";
import { parseJson } from "../../core/json-source.ts";
import { JsonText, payloadOf, prettyJson } from "../../core/json-text.ts";
import type { EnqueueOptions } from "../api.ts";
import { priorityName } from "../parts/priority.tsx";

/** The fields of the form. Empty means the default. */
export interface EnqueueDraft {
  readonly type: string;
  readonly payload: string;
  readonly queue: string;
  readonly priority: string;
  readonly delay: string;
  readonly runAt: string;
  readonly maxRetries: string;
  readonly maxLost: string;
  readonly retryDelay: string;
  readonly backoff: string;
  readonly timeout: string;
  readonly idempotencyKey: string;
  readonly tags: string;
  readonly limitKey: string;
  readonly cost: string;
  readonly meta: string;
  readonly webhookUrl: string;
}

export const EMPTY_DRAFT: EnqueueDraft = {
  type: "",
  payload: "{}",
  queue: "",
  priority: "",
  delay: "",
  runAt: "",
  maxRetries: "",
  maxLost: "",
  retryDelay: "",
  backoff: "",
  timeout: "",
  idempotencyKey: "",
  tags: "",
  limitKey: "",
  cost: "",
  meta: "",
  webhookUrl: "",
};

/** A draft of a job like this one, without its key, which would return the same job. */
export function draftOf(job: Job): EnqueueDraft {
  return {
    ...EMPTY_DRAFT,
    type: job.type,
    payload: prettyJson(payloadOf(job)),
    queue: job.queue,
    priority: job.priority === 0 ? "" : String(priorityName(job.priority)),
    maxRetries: String(job.maxRetries),
    maxLost: job.maxLost === usualMaxLost(job.maxRetries) ? "" : String(job.maxLost),
    retryDelay: formatDuration(job.retryDelay),
    backoff: job.backoff,
    timeout: formatDuration(job.timeout),
    tags: job.tags.join(", "),
    limitKey: job.limitKey ?? "",
    cost: job.cost === 1 ? "" : String(job.cost),
    meta: job.meta === null ? "" : JSON.stringify(job.meta, null, 2),
    webhookUrl: job.webhookUrl ?? "",
  };
}

/** What is wrong with a field, as far as the page can tell; the server checks the rest. */
export type DraftProblems = Partial<Record<keyof EnqueueDraft, string>>;

/** What the API takes, or what is wrong. */
export type ReadDraft =
  | { readonly ok: true; readonly type: string; readonly payload: unknown; readonly options: EnqueueOptions }
  | { readonly ok: false; readonly problems: DraftProblems };

export function readDraft(draft: EnqueueDraft): ReadDraft {
  const problems: { -readonly [Field in keyof EnqueueDraft]?: string } = {};
  const payload = readJson(draft.payload, (problem) => (problems.payload = problem));
  const meta = draft.meta.trim() === "" ? undefined : readJson(draft.meta, (problem) => (problems.meta = problem))?.value;
  const priority = readPriority(draft.priority);
  const maxRetries = numberIn(draft.maxRetries);
  const maxLost = numberIn(draft.maxLost);
  const cost = numberIn(draft.cost);
  const runAt = draft.runAt === "" ? undefined : new Date(draft.runAt);
  if (draft.type.trim() === "") problems.type = "Type is required.";
  if (maxRetries !== undefined && !Number.isInteger(maxRetries)) problems.maxRetries = "Must be a whole number.";
  if (maxLost !== undefined && !Number.isInteger(maxLost)) problems.maxLost = "Must be a whole number.";
  if (cost !== undefined && !Number.isInteger(cost)) problems.cost = "Must be a whole number.";
  if (typeof priority === "number" && !Number.isInteger(priority)) problems.priority = "Must be a level or a whole number.";
  if (runAt !== undefined && Number.isNaN(runAt.getTime())) problems.runAt = "Must be a date and time.";
  if (runAt !== undefined && draft.delay.trim() !== "") problems.delay = "Set a delay or a time, not both.";
  if (Object.keys(problems).length > 0) return { ok: false, problems };
  const options = {
    queue: text(draft.queue),
    priority,
    delay: text(draft.delay),
    runAt,
    maxRetries,
    maxLost,
    retryDelay: text(draft.retryDelay),
    backoff: text(draft.backoff),
    timeout: text(draft.timeout),
    idempotencyKey: text(draft.idempotencyKey),
    tags: tagsIn(draft.tags),
    limitKey: text(draft.limitKey),
    cost,
    meta: meta as Record<string, unknown> | undefined,
    webhookUrl: text(draft.webhookUrl),
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return { ok: true, type: draft.type.trim(), payload, options: given };
}

function text(value: string): string | undefined {
  return value.trim() === "" ? undefined : value.trim();
}

function numberIn(value: string): number | undefined {
  return value.trim() === "" ? undefined : Number(value);
}

function readPriority(value: string): EnqueueOptions["priority"] {
  if (value.trim() === "") return undefined;
  return /^[a-z]+$/.test(value) ? (value as "high") : Number(value);
}

function tagsIn(value: string): string[] | undefined {
  const tags = value.split(",").flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()]));
  return tags.length === 0 ? undefined : tags;
}

/** The places of a payload that a server refused. */
export function issuesOf(error: unknown): readonly Issue[] {
  return (error instanceof MillraceError ? error.issues : undefined) ?? [];
}

/** JSON with its text, so that numbers are sent as they were written. */
export function readJson(value: string, problem: (text: string) => void): JsonText | undefined {
  try {
    return new JsonText(value.trim(), parseJson(value).value);
  } catch (error) {
    problem(`${error instanceof MillraceError ? "Not accepted" : "Not JSON"}: ${(error as Error).message}`);
    return undefined;
  }
}
