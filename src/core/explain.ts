/** WHY A JOB IS NOT RUNNING: the reasons, in words for people, from the job, its queue and the workers. */
import { count, counted } from "./counted.ts";
import { isTerminal, type JobSummaryRecord, type Status } from "./job.ts";
import { isInternalQueue } from "./internal.ts";
import { kindOfQueue } from "./queue-kind.ts";
import type { WorkerEntry } from "./worker-entry.ts";

/** All codes of reasons. The list is closed. */
export const REASON_CODES = [
  "paused",
  "no_worker",
  "no_free_slot",
  "due_later",
  "overdue",
  "blocked",
  "position",
  "running",
  "ended",
] as const;

/** What keeps a job from running. `message` is for people: the reason, and what to do about it. */
export type Reason =
  /** No job of its queue starts until somebody resumes it. */
  | (Told<"paused"> & { readonly queue: string })
  /** No live worker takes this type from this queue, or those that do have stopped claiming. */
  | (Told<"no_worker"> & { readonly queue: string; readonly type: string })
  /** All slots of the workers that take it are in use. */
  | (Told<"no_free_slot"> & { readonly workers: number; readonly slots: number })
  /** It is not due yet. */
  | (Told<"due_later"> & { readonly at: number })
  /** It is due, but no process has made it pending. */
  | (Told<"overdue"> & { readonly at: number })
  /** It waits for something other than time or a worker. */
  | Told<"blocked">
  | (Told<"position"> & { readonly ahead: number; readonly aheadIsCapped: boolean })
  | (Told<"running"> & { readonly workerId: string | null; readonly startedAt: number | null })
  /** It does not run again unless somebody acts. */
  | (Told<"ended"> & { readonly status: Status; readonly at: number | null });

interface Told<Code extends (typeof REASON_CODES)[number]> {
  readonly code: Code;
  readonly message: string;
}

/** Why a job is not running, the most important reason first. There is always at least one. */
export interface Explanation {
  readonly reasons: readonly Reason[];
}

/** The facts for an explanation. Those that do not matter for the job's status may have any value. */
export interface ExplainFacts {
  readonly job: JobSummaryRecord;
  readonly now: number;
  readonly paused: boolean;
  readonly workers: readonly WorkerEntry[];
  /** How many jobs go before it, counted up to MOST_AHEAD. */
  readonly ahead: number;
}

/** How far the jobs before it are counted. */
export const MOST_AHEAD = 10_000;
/** Upkeep makes a due job pending within a second; after this long it is overdue. */
const PROMPT_MS = 2000;
const MAX_ERROR_LENGTH = 200;

export function explain(facts: ExplainFacts): Reason[] {
  const { job } = facts;
  if (isTerminal(job.status)) return [ended(job)];
  if (job.status === "running") return [running(facts)];
  const obstacles = [...paused(facts), ...noWorker(facts)];
  // Busy workers matter only for a job that could start now: they may be free once the obstacle is gone.
  if (job.status === "blocked") return [BLOCKED, ...obstacles];
  if (job.status !== "pending") return [time(facts), ...obstacles];
  return obstacles.length > 0 ? [...obstacles, position(facts, false)] : [...noFreeSlot(facts), position(facts, true)];
}

/** Whether a worker takes jobs from this queue. */
export function servesQueue({ queues }: Pick<WorkerEntry, "queues">, queue: string): boolean {
  return queues.includes(queue) || queues.includes(kindOfQueue(queue));
}

/** Whether a worker takes jobs of this type from this queue. */
export function serves(worker: WorkerEntry, { queue, type }: Pick<JobSummaryRecord, "queue" | "type">): boolean {
  return servesQueue(worker, queue) && (worker.types === "*" || worker.types.includes(type));
}

/** Whether a live worker would claim such a job. The one rule, for `explain` and for what needs attention. */
export function isServed(job: Pick<JobSummaryRecord, "queue" | "type">, workers: readonly WorkerEntry[]): boolean {
  return workers.some((worker) => serves(worker, job) && isClaiming(worker));
}

/** The types that compete with a job: all types of the workers that take it. */
export function typesBeside(job: Pick<JobSummaryRecord, "queue" | "type">, workers: readonly WorkerEntry[]): readonly string[] | "*" {
  const types = workers.filter((worker) => serves(worker, job)).map((worker) => worker.types);
  if (types.includes("*")) return "*";
  return [...new Set([job.type, ...types.flat()])];
}

function paused({ paused, job: { queue } }: ExplainFacts): Reason[] {
  if (!paused) return [];
  return [{ code: "paused", message: `queue ${queue} is paused: its jobs start when somebody resumes it`, queue }];
}

function noWorker({ job, workers }: ExplainFacts): Reason[] {
  if (isServed(job, workers)) return [];
  const serving = workers.filter((worker) => serves(worker, job));
  const { queue, type } = job;
  const jobs = `jobs of type ${type} from queue ${queue}`;
  return [{ code: "no_worker", message: serving.length === 0 ? nobodyServes(jobs, job) : nobodyClaims(jobs, serving), queue, type }];
}

function nobodyServes(jobs: string, { queue }: JobSummaryRecord): string {
  const remedy = isInternalQueue(queue)
    ? "every server does: start one with millrace server or millrace start"
    : "start one that does, or check that its handlers spell both names the same way";
  return `no live worker handles ${jobs}: ${remedy}`;
}

function nobodyClaims(jobs: string, serving: readonly WorkerEntry[]): string {
  const every = `every worker that handles ${jobs}`;
  const isStopping = serving.map(({ state }) => state === "stopping");
  if (!isStopping.includes(false)) return `${every} is shutting down: start another`;
  const stopped = "has stopped claiming because its handlers ignored their abort";
  return `${every} ${isStopping.includes(true) ? `is shutting down or ${stopped}: start another` : `${stopped}: restart it`}`;
}

function noFreeSlot({ job, workers }: ExplainFacts): Reason[] {
  const claiming = workers.filter((worker) => serves(worker, job) && isClaiming(worker));
  if (claiming.some(({ runningCount, slots }) => runningCount < slots)) return [];
  const slots = claiming.reduce((sum, worker) => sum + worker.slots, 0);
  const whose = claiming.length === 1 ? "the worker that handles such jobs" : `the ${claiming.length} workers that handle such jobs`;
  const message = `${slots === 1 ? "the one slot" : `all ${slots} slots`} of ${whose} ${slots === 1 ? "is" : "are"} in use: it starts when one is free; more workers or a higher concurrency start it sooner`;
  return [{ code: "no_free_slot", message, workers: claiming.length, slots }];
}

/** A worker that is shutting down takes no more jobs. Neither does one that abandoned as many handlers as it has slots. */
function isClaiming({ state, slots, abandoned }: WorkerEntry): boolean {
  return state !== "stopping" && abandoned < slots;
}

function time({ job, now, workers }: ExplainFacts): Reason {
  const at = job.runAt;
  const when = inWords(at);
  if (now - at > PROMPT_MS) {
    const remedy = workers.length === 0 ? "and none seems to be running" : "so look for upkeep errors in their logs";
    const message = `it was due at ${when}, but is still not pending: every process with a worker or a server makes due jobs pending, ${remedy}`;
    return { code: "overdue", message, at };
  }
  const message = job.status === "retrying" ? `${setbackInWords(job)} ${when}` : `it is due at ${when}`;
  return { code: "due_later", message, at };
}

const BLOCKED: Reason = {
  code: "blocked",
  message: "it waits for something else to happen first, and no worker takes it until then: cancel it if that will not happen",
};

function setbackInWords(job: JobSummaryRecord): string {
  if (job.error?.kind === "lost") {
    return `attempt ${job.attempt} was lost${becauseOf(job)}, loss ${job.lostCount} of ${job.maxLost} allowed; it runs again at`;
  }
  return `attempt ${job.attempt} failed${becauseOf(job)}; retry ${job.retryCount} of ${job.maxRetries} is due at`;
}

/** `startsNext`: only the jobs before it keep it from starting. */
function position({ ahead }: ExplainFacts, startsNext: boolean): Reason {
  const aheadIsCapped = ahead >= MOST_AHEAD;
  const first = startsNext ? "it is next in line" : "no other job goes before it";
  const about = ahead === 0 ? first : `about ${counted(ahead, "job goes", "jobs go")} before it`;
  const message = aheadIsCapped ? `at least ${count(MOST_AHEAD)} jobs go before it` : about;
  return { code: "position", message, ahead, aheadIsCapped };
}

function running({ job: { workerId, startedAt, attempt }, workers }: ExplainFacts): Reason {
  const runs = startedAt === null ? "is running it" : `has been running it since ${inWords(startedAt)}`;
  const isKnown = workers.some(({ id }) => id === workerId);
  const warning = isKnown ? "" : "; no live worker has this id: if it is gone, its lease runs out soon and the attempt counts as lost";
  return { code: "running", message: `worker ${workerId} ${runs}, attempt ${attempt}${warning}`, workerId, startedAt };
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
      return `it was cancelled${at}: retry it to run it`;
    default:
      return `it failed for good${at}, attempt ${job.attempt}${becauseOf(job)}: retry it to run it again, or delete it`;
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
