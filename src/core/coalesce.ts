/**
 * COALESCING: of a key, at most one job waits. What is enqueued again meanwhile is merged into it.
 *
 * What is known of a key is kept like a flow (flow.ts): an internal job that waits, with a head beside it. Its idempotency key makes one of two
 * first calls the first. The jobs of the key have it as their parent, so that their ends are told to it.
 *
 *   job        the job that waits or runs
 *   followUp   what was enqueued while that one ran. It is blocked until that one has ended
 *   window     of a throttle, once no job is left: when the next one may start
 */
import { type Duration, durationWithin, MAX_DELAY_MS } from "./duration.ts";
import { invalid, MillraceError } from "./errors.ts";
import { INTERNAL_TYPES } from "./internal.ts";
import { isTerminal, type JobRecord } from "./job.ts";
import { type Move, OPEN } from "./lifecycle.ts";
import { readFields } from "./read-fields.ts";
import { readText } from "./read-text.ts";

export const KEY_TYPE: string = `${INTERNAL_TYPES}key`;

const MAX_COALESCE_KEY_BYTES = 255;
export const COALESCE_KEY_RULE = `a text of 1 to ${MAX_COALESCE_KEY_BYTES} bytes`;

export const KEEPS = ["last", "first"] as const;
export const WHILE_RUNNING = ["again", "skip", "cancel"] as const;

/** How jobs of one key become one. */
export interface CoalesceOptions {
  /** Unique in its queue: at most 255 bytes. At most one job of the key waits. */
  readonly key: string;
  /** Debounce: the job starts when nothing was enqueued for so long. */
  readonly quiet?: Duration | undefined;
  /** With `quiet`: the longest wait from the first call on. Default: 10 × quiet. */
  readonly longest?: Duration | undefined;
  /** Throttle: one start in this time. The first is at once, the last of the others at its end. */
  readonly every?: Duration | undefined;
  /** What a repeat does to the job that waits. `last` (default): it gets the payload, priority, tags, meta and webhook of the repeat. `first`: nothing. */
  readonly keep?: (typeof KEEPS)[number] | undefined;
  /**
   * What a repeat does once the job has started. `again` (default): one more job follows when it has ended, with the latest payload. `skip`: nothing.
   * `cancel`: the job is cancelled, and the other one follows.
   */
  readonly whileRunning?: (typeof WHILE_RUNNING)[number] | undefined;
}

export interface Coalesce {
  readonly key: string;
  readonly quietMs: number | null;
  readonly longestMs: number;
  readonly everyMs: number | null;
  readonly keep: (typeof KEEPS)[number];
  readonly whileRunning: (typeof WHILE_RUNNING)[number];
}

/** What became of a call. `merged`: the job that waits has its payload. `skipped`: nothing changed. */
export type CoalesceOutcome = "created" | "merged" | "skipped";

export const COALESCE_FIELDS = ["key", "quiet", "longest", "every", "keep", "whileRunning"] as const satisfies (keyof CoalesceOptions)[];

/** Reads how to coalesce. Throws `invalid_input`. */
export function readCoalesce(input: unknown): Coalesce {
  const given = readFields(input, "coalesce", COALESCE_FIELDS, "coalesce.");
  const key = readText(given.key, MAX_COALESCE_KEY_BYTES);
  if (key === undefined) throw invalid("coalesce.key", COALESCE_KEY_RULE, given.key);
  const [quietMs, longest, everyMs] = (["quiet", "longest", "every"] as const).map((name) => readTime(given[name], name)) as [
    number | null,
    number | null,
    number | null,
  ];
  if (quietMs !== null && everyMs !== null)
    throw contradiction("every", "quiet and every cannot be combined: a key is either debounced or throttled");
  if (longest !== null && quietMs === null) throw contradiction("longest", "longest bounds quiet, which is not there");
  if (longest !== null && longest < quietMs!)
    throw contradiction("longest", "longest is shorter than quiet: the job would never be quiet for so long");
  const { keep = "last", whileRunning = "again" } = given;
  if (!KEEPS.includes(keep as never)) throw invalid("coalesce.keep", KEEPS.join(" or "), keep);
  if (!WHILE_RUNNING.includes(whileRunning as never)) throw invalid("coalesce.whileRunning", WHILE_RUNNING.join(", "), whileRunning);
  return {
    key,
    quietMs,
    longestMs: longest ?? 10 * (quietMs ?? 0),
    everyMs,
    keep: keep as Coalesce["keep"],
    whileRunning: whileRunning as Coalesce["whileRunning"],
  };
}

function readTime(input: unknown, name: string): number | null {
  if (input === undefined || input === null) return null;
  const ms = durationWithin(input, 1, MAX_DELAY_MS);
  if (ms === undefined) throw invalid(`coalesce.${name}`, 'a time of 1 ms to 10 years, such as "5s"', input);
  return ms;
}

function contradiction(name: string, message: string): MillraceError {
  return new MillraceError("invalid_input", `coalesce: ${message}`, { field: `coalesce.${name}` });
}

export interface KeyHead {
  readonly type: string;
  readonly job: string | null;
  /** When the first call for that job was made; null: when the key was made. */
  readonly since: number | null;
  readonly followUp: string | null;
  /** When it was named. Its job is stored right after that, or its caller is gone. */
  readonly followUpAt: number;
  /** When the follow-up is due, if its calls said so; null: once the present job has ended. */
  readonly followUpDue: number | null;
  readonly everyMs: number | null;
  /** Of a throttle without a job: when the next one may start. */
  readonly windowEnd: number | null;
  /** Nothing is left: the key is being removed. */
  readonly isOver: boolean;
}

export function newKeyHead(type: string, job: string, { everyMs }: Coalesce): KeyHead {
  return { type, job, since: null, followUp: null, followUpAt: 0, followUpDue: null, everyMs, windowEnd: null, isOver: false };
}

/** The job of a key waits, or has ended: `completed` while only the window of a throttle is left, `cancelled` if nothing is. */
export function keyMove(to: "blocked" | "completed" | "cancelled"): Move {
  const from = (["blocked", "completed"] as const).filter((one) => one !== to);
  return { from, transition: { ...OPEN.transition, to, delayMs: null }, leavesHeld: true };
}

/** After this time without its job, whoever named a follow-up is gone: no call of a store takes so long. */
export const FOLLOW_UP_COMES_MS = 60_000;

/** When a debounced job is due now. */
export function quietUntil({ quietMs, longestMs }: Coalesce, since: number, now: number): number {
  return Math.min(now + quietMs!, since + longestMs);
}

/** What a repeat meets. */
export type Met = "gone" | "ended" | "waits" | "started";

export function metOf(job: Pick<JobRecord, "status" | "fence"> | null): Met {
  if (job === null) return "gone";
  if (isTerminal(job.status)) return "ended";
  return job.fence === 0 && (job.status === "pending" || job.status === "scheduled") ? "waits" : "started";
}
