/** WHY A JOB IS NOT RUNNING: from what is known of it, its queue and the workers, the reasons, in words for people. */
import { isTerminal, type JobSummaryRecord, type Status } from "./job.ts";
import { kindOfQueue } from "./reserved-queues.ts";
import type { WorkerEntry } from "./worker-entry.ts";

/** Every code that a reason can have. The list is closed. */
export const REASON_CODES = ["paused", "no_worker", "no_free_slot", "due_later", "overdue", "position", "running", "ended"] as const;

/** What keeps a job from running. `message` is for people: what is, and what to do about it. */
export type Reason =
  /** No job of its queue starts until somebody resumes it. */
  | (Told<"paused"> & { readonly queue: string })
  /** No live worker takes its type from its queue. */
  | (Told<"no_worker"> & { readonly queue: string; readonly type: string })
  /** The workers that take it have their hands full. */
  | (Told<"no_free_slot"> & { readonly workers: number; readonly slots: number })
  /** Its time has not come. */
  | (Told<"due_later"> & { readonly at: number })
  /** Its time has come, and nobody made it ready. */
  | (Told<"overdue"> & { readonly at: number })
  /** So many go before it. */
  | (Told<"position"> & { readonly ahead: number; readonly aheadIsCapped: boolean })
  | (Told<"running"> & { readonly workerId: string | null; readonly startedAt: number | null })
  /** It will not run again unless somebody acts. */
  | (Told<"ended"> & { readonly status: Status; readonly at: number | null });

interface Told<Code extends (typeof REASON_CODES)[number]> {
  readonly code: Code;
  readonly message: string;
}

/** Why a job is not running, the weightiest reason first; there is always one at least. */
export interface Explanation {
  readonly reasons: readonly Reason[];
}

/** All that is looked at. What does not matter for a job in its status may be left as it is. */
export interface ExplainFacts {
  readonly job: JobSummaryRecord;
  readonly now: number;
  readonly paused: boolean;
  /** Those that are alive. */
  readonly workers: readonly WorkerEntry[];
  /** How many go before it, counted up to MOST_AHEAD. */
  readonly ahead: number;
}

/** Counting what goes before a job ends here. */
export const MOST_AHEAD = 10_000;
/** A job that is due is made ready within a second, where anybody is there to do it. */
const PROMPT_MS = 2000;
const MAX_ERROR_LENGTH = 200;

/** The reasons why a job is not running, or that it is. */
export function explain(facts: ExplainFacts): Reason[] {
  const { job } = facts;
  if (isTerminal(job.status)) return [ended(job)];
  if (job.status === "running") return [running(facts)];
  const obstacles = [...paused(facts), ...wantOfWorkers(facts)];
  return job.status === "pending" ? [...obstacles, position(facts)] : [time(facts), ...obstacles];
}

/** Whether a worker takes jobs of this type from this queue. */
export function serves({ queues, types }: WorkerEntry, { queue, type }: Pick<JobSummaryRecord, "queue" | "type">): boolean {
  return (queues.includes(queue) || queues.includes(kindOfQueue(queue))) && (types === "*" || types.includes(type));
}

/** The types among which a job waits for its turn: those that the workers take that take it. */
export function typesBeside(job: Pick<JobSummaryRecord, "queue" | "type">, workers: readonly WorkerEntry[]): readonly string[] | "*" {
  const types = workers.filter((worker) => serves(worker, job)).map((worker) => worker.types);
  if (types.includes("*")) return "*";
  return [...new Set([job.type, ...types.flat()])];
}

function paused({ paused, job: { queue } }: ExplainFacts): Reason[] {
  if (!paused) return [];
  return [{ code: "paused", message: `queue ${queue} is paused: none of its jobs starts until somebody resumes it`, queue }];
}

function wantOfWorkers({ job, workers }: ExplainFacts): Reason[] {
  const { queue, type } = job;
  const serving = workers.filter((worker) => serves(worker, job));
  const claiming = serving.filter(({ state }) => state !== "stopping");
  if (claiming.length === 0) {
    const message =
      serving.length === 0
        ? `no live worker takes jobs of type ${type} from queue ${queue}: start one that does, or look whether both names are spelt as its handlers have them`
        : `every worker that takes jobs of type ${type} from queue ${queue} is shutting down: start another`;
    return [{ code: "no_worker", message, queue, type }];
  }
  if (claiming.some(hasFreeSlot)) return [];
  const slots = claiming.reduce((sum, worker) => sum + worker.slots, 0);
  const whose = claiming.length === 1 ? "the worker that takes such jobs" : `the ${claiming.length} workers that take such jobs`;
  const message = `${slots === 1 ? "the one slot" : `all ${slots} slots`} of ${whose} ${slots === 1 ? "is" : "are"} taken: it starts when one is free; more workers or a higher concurrency start it sooner`;
  return [{ code: "no_free_slot", message, workers: claiming.length, slots }];
}

/** One that gave up too many handlers takes no more, whatever is free. */
function hasFreeSlot({ slots, runningCount, abandoned }: WorkerEntry): boolean {
  return runningCount < slots && abandoned < slots;
}

function time({ job, now }: ExplainFacts): Reason {
  const at = job.runAt;
  const when = inWords(at);
  if (now - at > PROMPT_MS) {
    const message = `it was due at ${when}, and nobody has made it ready since: due jobs are made ready by every process that runs a worker or a server, and none seems to be there`;
    return { code: "overdue", message, at };
  }
  const message =
    job.status === "retrying"
      ? `attempt ${job.attempt} failed${becauseOf(job)}; retry ${job.retryCount} of ${job.maxRetries} is due at ${when}`
      : `it is due at ${when}`;
  return { code: "due_later", message, at };
}

function position({ ahead }: ExplainFacts): Reason {
  const aheadIsCapped = ahead >= MOST_AHEAD;
  const message = aheadIsCapped
    ? `more than ${MOST_AHEAD.toLocaleString("en-US")} jobs go before it`
    : ahead === 0
      ? "it is the next that is taken"
      : `about ${ahead.toLocaleString("en-US")} ${ahead === 1 ? "job goes" : "jobs go"} before it`;
  return { code: "position", message, ahead, aheadIsCapped };
}

function running({ job: { workerId, startedAt, attempt }, workers }: ExplainFacts): Reason {
  const since = startedAt === null ? "" : ` since ${inWords(startedAt)}`;
  const isKnown = workers.some(({ id }) => id === workerId);
  const doubt = isKnown
    ? ""
    : "; that worker is not among the live ones: if it is gone, its lease runs out soon, and the attempt counts as lost";
  return { code: "running", message: `worker ${workerId} runs it${since}, attempt ${attempt}${doubt}`, workerId, startedAt };
}

function ended(job: JobSummaryRecord): Reason {
  return { code: "ended", message: endedInWords(job), status: job.status, at: job.completedAt };
}

function endedInWords(job: JobSummaryRecord): string {
  const at = job.completedAt === null ? "" : ` at ${inWords(job.completedAt)}`;
  switch (job.status) {
    case "completed":
      return `it completed${at}: nothing is left to run`;
    case "cancelled":
      return `it was cancelled${at}: retry it to run it after all`;
    default:
      return `it failed for good${at}, attempt ${job.attempt}${becauseOf(job)}: retry it to give it a new life, or delete it`;
  }
}

function becauseOf({ error }: JobSummaryRecord): string {
  if (error === null) return "";
  const text = `${error.name}: ${error.message}`.replace(/\s+/g, " ");
  return ` (${text.length > MAX_ERROR_LENGTH ? `${text.slice(0, MAX_ERROR_LENGTH).toWellFormed()}…` : text})`;
}

function inWords(at: number): string {
  return new Date(at).toISOString();
}
