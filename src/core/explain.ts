/** WHY A JOB IS NOT RUNNING: from what is known of it, its queue and the workers, the reasons, in words for people. */
import { isTerminal, type JobSummaryRecord, type Status } from "./job.ts";
import { isInternalQueue } from "./internal.ts";
import { kindOfQueue } from "./queue-kind.ts";
import type { WorkerEntry } from "./worker-entry.ts";

/** Every code that a reason can have. The list is closed. */
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

/** What keeps a job from running. `message` is for people: what is, and what to do about it. */
export type Reason =
  /** No job of its queue starts until somebody resumes it. */
  | (Told<"paused"> & { readonly queue: string })
  /** No live worker takes its type from its queue, or those that would have stopped claiming. */
  | (Told<"no_worker"> & { readonly queue: string; readonly type: string })
  /** The workers that take it have their hands full. */
  | (Told<"no_free_slot"> & { readonly workers: number; readonly slots: number })
  /** Its time has not come. */
  | (Told<"due_later"> & { readonly at: number })
  /** Its time has come, and nobody made it ready. */
  | (Told<"overdue"> & { readonly at: number })
  /** It waits for something other than time or a worker. */
  | Told<"blocked">
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
  const obstacles = [...paused(facts), ...noWorker(facts)];
  // Who is busy now may be free when its time comes, and when what keeps all of its kind from starting is gone.
  if (job.status === "blocked") return [BLOCKED, ...obstacles];
  if (job.status !== "pending") return [time(facts), ...obstacles];
  return obstacles.length > 0 ? [...obstacles, position(facts, false)] : [...noFreeSlot(facts), position(facts, true)];
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

function noWorker({ job, workers }: ExplainFacts): Reason[] {
  const serving = workers.filter((worker) => serves(worker, job));
  if (serving.some(isClaiming)) return [];
  const { queue, type } = job;
  const jobs = `jobs of type ${type} from queue ${queue}`;
  return [{ code: "no_worker", message: serving.length === 0 ? nobodyServes(jobs, job) : nobodyClaims(jobs, serving), queue, type }];
}

function nobodyServes(jobs: string, { queue }: JobSummaryRecord): string {
  const remedy = isInternalQueue(queue)
    ? "every server does: start one with millrace server or millrace start"
    : "start one that does, or check that its handlers spell both names the same way";
  return `no live worker takes ${jobs}: ${remedy}`;
}

function nobodyClaims(jobs: string, serving: readonly WorkerEntry[]): string {
  const every = `every worker that takes ${jobs}`;
  const isStopping = serving.map(({ state }) => state === "stopping");
  if (!isStopping.includes(false)) return `${every} is shutting down: start another`;
  const stopped = "has stopped claiming because its handlers ignored their abort";
  return `${every} ${isStopping.includes(true) ? `is shutting down or ${stopped}: start another` : `${stopped}: restart it`}`;
}

function noFreeSlot({ job, workers }: ExplainFacts): Reason[] {
  const claiming = workers.filter((worker) => serves(worker, job) && isClaiming(worker));
  if (claiming.some(({ runningCount, slots }) => runningCount < slots)) return [];
  const slots = claiming.reduce((sum, worker) => sum + worker.slots, 0);
  const whose = claiming.length === 1 ? "the worker that takes such jobs" : `the ${claiming.length} workers that take such jobs`;
  const message = `${slots === 1 ? "the one slot" : `all ${slots} slots`} of ${whose} ${slots === 1 ? "is" : "are"} taken: it starts when one is free; more workers or a higher concurrency start it sooner`;
  return [{ code: "no_free_slot", message, workers: claiming.length, slots }];
}

/** One that is shutting down takes no more jobs, nor does one that gave up as many handlers as it has slots, whatever is free. */
function isClaiming({ state, slots, abandoned }: WorkerEntry): boolean {
  return state !== "stopping" && abandoned < slots;
}

function time({ job, now, workers }: ExplainFacts): Reason {
  const at = job.runAt;
  const when = inWords(at);
  if (now - at > PROMPT_MS) {
    const whoShould = "every process that runs a worker or a server makes due jobs ready";
    const why = workers.length === 0 ? "and none seems to be there" : "so look for upkeep in their logs";
    const message = `it was due at ${when}, and nobody has made it ready since: ${whoShould}, ${why}`;
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
    return `attempt ${job.attempt} was lost${becauseOf(job)}, ${job.lostCount} of ${job.maxLost} times allowed; it runs again at`;
  }
  return `attempt ${job.attempt} failed${becauseOf(job)}; retry ${job.retryCount} of ${job.maxRetries} is due at`;
}

/** `startsNext`: nothing but the jobs before it keeps it from being taken. */
function position({ ahead }: ExplainFacts, startsNext: boolean): Reason {
  const aheadIsCapped = ahead >= MOST_AHEAD;
  const message = aheadIsCapped
    ? `more than ${MOST_AHEAD.toLocaleString("en-US")} jobs go before it`
    : ahead === 0
      ? startsNext
        ? "it is the next that is taken"
        : "no other job goes before it"
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
