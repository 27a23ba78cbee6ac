/** WHY A JOB IS NOT RUNNING: the reasons, in words for people, from the job, its queue and the workers. */
import { count, counted } from "./counted.ts";
import { preview } from "./errors.ts";
import { isTerminal, type JobSummaryRecord, type Status } from "./job.ts";
import { isInternalQueue, isInternalWorker } from "./internal.ts";
import { flowOf } from "./flow-parent.ts";
import type { LimitObstacle } from "./limit-obstacles.ts";
import { kindOfQueue } from "./queue-kind.ts";
import type { StepKind } from "./steps.ts";
import type { WorkerEntry } from "./worker-entry.ts";

/** All codes of reasons. The list is closed. */
export const REASON_CODES = [
  "paused",
  "no_worker",
  "key_held",
  "limit_running",
  "limit_rate",
  "no_free_slot",
  "due_later",
  "overdue",
  "blocked",
  "waits_for_signal",
  "waits_for_call",
  "waits_for_members",
  "sleeps",
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
  /** A handler holds its limit key with `HoldKey`. */
  | (Told<"key_held"> & { readonly queue: string; readonly limitKey: string; readonly until: number })
  /** As many jobs run as may: of its limit key, or of its queue if the limit key is null. `holders` are some of these jobs. */
  | (Told<"limit_running"> & {
      readonly queue: string;
      readonly limitKey: string | null;
      readonly limit: number;
      readonly running: number;
      readonly holders: readonly string[];
    })
  /** A rate lets it start later: that of its limit key, or of its queue if the limit key is null. */
  | (Told<"limit_rate"> & { readonly queue: string; readonly limitKey: string | null; readonly rate: string; readonly until: number })
  /** All slots of the workers that take it are in use. */
  | (Told<"no_free_slot"> & { readonly workers: number; readonly slots: number })
  /** It is not due yet. */
  | (Told<"due_later"> & { readonly at: number })
  /** It is due, but no process has made it pending. */
  | (Told<"overdue"> & { readonly at: number })
  /** It waits for something other than time or a worker. */
  | Told<"blocked">
  /** Its handler waits for a signal, until the time if it has one. */
  | (Told<"waits_for_signal"> & { readonly step: string; readonly until: number | null })
  /** Its handler waits for another job. */
  | (Told<"waits_for_call"> & { readonly step: string; readonly jobId: string; readonly type: string })
  /** It waits for other members of its flow. `names` are some of those that have not ended well. */
  | (Told<"waits_for_members"> & { readonly flowId: string; readonly names: readonly string[] })
  /** Its handler sleeps. */
  | (Told<"sleeps"> & { readonly step: string; readonly until: number })
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
  /** Which of its limits keep it from starting. */
  readonly obstacles: readonly LimitObstacle[];
  /** The steps that it waits for. */
  readonly waits: readonly OpenWait[];
  /** Members of its flow that it waits for, and how they stand. */
  readonly members: readonly AwaitedMember[];
}

/** A step that a suspended job waits for. */
export interface OpenWait {
  readonly name: string;
  readonly kind: StepKind;
  readonly until: number | null;
  readonly call: { readonly id: string; readonly type: string } | null;
}

/** A member of a flow that another one waits for: it has not ended, or it ended badly. */
export interface AwaitedMember {
  readonly name: string;
  readonly end: Status | null;
}

/** How far the jobs before it are counted. */
export const MOST_AHEAD = 10_000;
/** Upkeep makes a due job pending within a second; after this long it is overdue. */
const PROMPT_MS = 2000;
/** How many of the members that it waits for are named. */
const MOST_MEMBERS_NAMED = 5;
const MAX_ERROR_LENGTH = 200;
/** How many of the jobs that hold a limit the message names. */
const MOST_HOLDERS_NAMED = 3;
/** How many of the workers that handle a type in other queues the message names. */
const MOST_WORKERS_NAMED = 3;

export function explain(facts: ExplainFacts): Reason[] {
  const { job } = facts;
  if (isTerminal(job.status)) return [ended(job)];
  if (job.status === "running") return [running(facts)];
  const obstacles = [...paused(facts), ...noWorker(facts)];
  // Busy workers matter only for a job that could start now: they may be free once the obstacle is gone.
  const waits = facts.waits.flatMap((wait) => waiting(job, wait) ?? []);
  const flow = flowOf(job);
  if (flow !== null && facts.members.length > 0) waits.push(waitsForMembers(flow.id, facts.members));
  if (job.status === "blocked") return [...(waits.length > 0 ? waits : [BLOCKED]), ...obstacles];
  if (job.status !== "pending") return [...(waits.length > 0 && job.status === "scheduled" ? waits : [time(facts)]), ...obstacles];
  obstacles.push(...facts.obstacles.map((obstacle) => limited(job, obstacle)));
  return obstacles.length > 0 ? [...obstacles, position(facts, false)] : [...noFreeSlot(facts), position(facts, true)];
}

function waitsForMembers(flowId: string, members: readonly AwaitedMember[]): Reason {
  const names = members.slice(0, MOST_MEMBERS_NAMED).map(({ name }) => name);
  const more = members.length > names.length ? ` and ${count(members.length - names.length)} more` : "";
  const listed = members.slice(0, MOST_MEMBERS_NAMED).map(({ name, end }) => `${preview(name)}${end === null ? "" : ` (${end})`}`);
  const advice = members.some(({ end }) => end !== null) ? ". Retry those that ended, or cancel the flow" : "";
  return { code: "waits_for_members", message: `it waits for ${listed.join(", ")}${more} in its flow${advice}`, flowId, names };
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
  return [
    { code: "no_worker", message: serving.length === 0 ? nobodyServes(jobs, job, workers) : nobodyClaims(jobs, serving), queue, type },
  ];
}

function nobodyServes(jobs: string, job: JobSummaryRecord, workers: readonly WorkerEntry[]): string {
  const elsewhere = handledElsewhere(job, workers);
  const remedy = isInternalQueue(job.queue)
    ? "every server does: start one with millrace server or millrace start"
    : elsewhere === null
      ? "start one that does, or check that its handlers spell both names the same way"
      : `${elsewhere}. Add ${job.queue} to the queues of a worker`;
  return `no live worker handles ${jobs}: ${remedy}`;
}

/** Which live workers handle this type in other queues only, and in which; null if there are none, or if a worker serves its queue. */
export function handledElsewhere(job: Pick<JobSummaryRecord, "queue" | "type">, workers: readonly WorkerEntry[]): string | null {
  if (workers.some((worker) => serves(worker, job))) return null;
  const handling = workers.filter((worker) => !isInternalWorker(worker) && (worker.types === "*" || worker.types.includes(job.type)));
  if (handling.length === 0) return null;
  const ids = handling.slice(0, MOST_WORKERS_NAMED).map(({ id }) => id);
  const more = handling.length - ids.length;
  const names = `${handling.length === 1 ? "worker" : "workers"} ${ids.join(", ")}${more === 0 ? "" : ` and ${counted(more, "other")}`}`;
  const queues = [...new Set(handling.flatMap((worker) => worker.queues))].sort();
  const verbs = handling.length === 1 ? (["handles", "serves"] as const) : (["handle", "serve"] as const);
  return `${names} ${verbs[0]} ${job.type}, but ${verbs[1]} only: ${queues.join(", ")}`;
}

function nobodyClaims(jobs: string, serving: readonly WorkerEntry[]): string {
  const every = `every worker that handles ${jobs}`;
  const isStopping = serving.map(({ state }) => state === "stopping");
  if (!isStopping.includes(false)) return `${every} is shutting down: start another`;
  const stopped = "has stopped claiming because its handlers ignored their abort";
  return `${every} ${isStopping.includes(true) ? `is shutting down or ${stopped}: start another` : `${stopped}: restart it`}`;
}

function limited({ queue }: JobSummaryRecord, obstacle: LimitObstacle): Reason {
  const { key: limitKey } = obstacle;
  const whose = limitKey === null ? `queue ${queue}` : `limit key ${preview(limitKey)} in queue ${queue}`;
  switch (obstacle.kind) {
    case "held": {
      const { key, until } = obstacle;
      const message = `${whose} is held until ${inWords(until)}: a handler asked for that with HoldKey`;
      return { code: "key_held", message, queue, limitKey: key, until };
    }
    case "running": {
      const { limit, running, holders } = obstacle;
      const which =
        holders.length === 0
          ? ""
          : ` (${holders.slice(0, MOST_HOLDERS_NAMED).join(", ")}${holders.length > MOST_HOLDERS_NAMED ? ", …" : ""})`;
      const runs = `${counted(running, "job")} of ${whose} ${running === 1 ? "runs" : "run"}${which}`;
      const message = `${runs}, and its limit is ${count(limit)}: it starts when ${whenRoom(limit, running)}`;
      return { code: "limit_running", message, queue, limitKey, limit, running, holders };
    }
    case "rate": {
      const { rate, until } = obstacle;
      const message = `${whose} may start ${rate}, and has used that up: the next start is possible at ${inWords(until)}`;
      return { code: "limit_rate", message, queue, limitKey, rate, until };
    }
  }
}

/** A limit that was lowered lets several end before the next starts. */
function whenRoom(limit: number, running: number): string {
  if (running > limit) return limit === 1 ? "all of them have ended" : `fewer than ${count(limit)} run`;
  return limit === 1 ? "that one ends" : "one of them ends";
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

function waiting({ id }: JobSummaryRecord, { name, kind, until, call }: OpenWait): Reason | null {
  const step = preview(name);
  if (kind === "sleep" && until !== null)
    return { code: "sleeps", message: `its handler sleeps (${step}) until ${inWords(until)}`, step: name, until };
  if (kind === "call" && call !== null) {
    const message = `its handler waits for job ${call.id} of type ${call.type} (${step}): it goes on when that one has ended`;
    return { code: "waits_for_call", message, step: name, jobId: call.id, type: call.type };
  }
  if (kind !== "wait") return null;
  const end = until === null ? "" : `, until ${inWords(until)}`;
  const message = `its handler waits for the signal ${step}${end}: send it with client.signal, or millrace signal ${id} ${asArgument(name)}`;
  return { code: "waits_for_signal", message, step: name, until };
}

/** A name that a shell takes as it is. Another one might do harm there, and is known to the reader. */
function asArgument(name: string): string {
  return /^\w[\w.:-]*$/.test(name) ? name : "<name>";
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
