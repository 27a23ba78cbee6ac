/** WHAT CAN BE DONE TO A JOB, and doing it. Only what can succeed in the job's status is offered. */
import { isTerminal, type JobSummary, type Status } from "../core/job.ts";
import { act } from "./act.ts";
import { client } from "./api.ts";
import { ask } from "./ask.ts";
import { counted } from "../core/counted.ts";
import { shortId } from "./format.ts";
import { messageOf } from "./parts/notices.tsx";
import { toast } from "./toasts.ts";
import { Watched } from "./watched.ts";

/** The changes that a job can be asked for. */
export const JOB_ACTIONS = ["retry", "start", "cancel", "delete"] as const;
/** One of them. `start` begins a job now that waits for its time. */
export type JobAction = (typeof JOB_ACTIONS)[number];

const RETRIED: readonly Status[] = ["dead", "failed", "cancelled"];
const STARTED: readonly Status[] = ["scheduled", "retrying"];

/** Whether a job in this status can be asked for it. */
export function isValid(action: JobAction, status: Status): boolean {
  switch (action) {
    case "retry":
      return RETRIED.includes(status);
    case "start":
      return STARTED.includes(status);
    case "cancel":
      return !isTerminal(status);
    case "delete":
      return isTerminal(status);
  }
}

function perform(action: JobAction, id: string): Promise<unknown> {
  switch (action) {
    case "retry":
      return client.retry(id);
    case "start":
      return client.retry(id, { now: true });
    case "cancel":
      return client.cancel(id);
    case "delete":
      return client.remove(id);
  }
}

const DONE: Readonly<Record<JobAction, string>> = {
  retry: "will be run again",
  start: "starts now",
  cancel: "is cancelled",
  delete: "is deleted",
};

/** What the buttons say. */
export const ACTION_WORDS: Readonly<Record<JobAction, string>> = { retry: "Retry", start: "Start now", cancel: "Cancel", delete: "Delete" };

type Target = Pick<JobSummary, "id" | "type" | "status">;

/** Asks where it cannot be taken back, does it, and says so. Answers whether it was done. */
export async function changeJob(action: JobAction, job: Target): Promise<boolean> {
  const what = `${job.type} …${shortId(job.id)}`;
  if (!(await isMeant(action, [job], what))) return false;
  return (
    (await act(
      async () => (await perform(action, job.id), true),
      () => `${what} ${DONE[action]}`,
    )) === true
  );
}

function isMeant(action: JobAction, jobs: readonly Target[], what: string): Promise<boolean> {
  const running = jobs.filter(({ status }) => status === "running").length;
  if (action === "delete") {
    const body = "The job goes with its payload, result, attempts and log. This cannot be undone.";
    return ask({ title: `Delete ${what}?`, body, yes: "Delete", danger: true });
  }
  if (action === "cancel" && running > 0) {
    const body = `${running === 1 ? "It is running" : `${running} of them are running`}: the handler is told to stop, and what it did so far stays done.`;
    return ask({ title: `Cancel ${what}?`, body, yes: "Cancel the work", danger: true });
  }
  return Promise.resolve(true);
}

/** A change of many jobs, on its way. */
export interface Progress {
  readonly action: JobAction;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly stop: () => void;
}

/** The change of many that is on its way, if one is. */
export const progress = new Watched<Progress | null>(null);

const AT_ONCE = 5;

/** Changes all of them that can be, a few at a time, until done or stopped. Answers whether it was begun. */
export async function changeJobs(action: JobAction, jobs: readonly Target[]): Promise<boolean> {
  const able = jobs.filter(({ status }) => isValid(action, status));
  const what = counted(able.length, "job");
  if (able.length === 0 || progress.get() !== null || !(await isMeant(action, able, what))) return false;
  let isStopped = false;
  let done = 0;
  let failed = 0;
  let problem = "";
  const waiting = able.values();
  const tell = (): void => progress.set({ action, total: able.length, done, failed, stop: () => (isStopped = true) });
  const worker = async (): Promise<void> => {
    for (const { id } of waiting) {
      if (isStopped) return;
      try {
        await perform(action, id);
        done++;
      } catch (error) {
        failed++;
        problem = messageOf(error);
      }
      tell();
    }
  };
  tell();
  await act(
    () => Promise.all(Array.from({ length: AT_ONCE }, worker)),
    () => `${counted(done, "job")} ${done === 1 ? DONE[action] : DONE[action].replace(/^is /, "are ").replace(/^starts/, "start")}`,
  );
  if (failed > 0) toast(`${counted(failed, "job")} could not be changed. ${problem}`, { kind: "failed" });
  progress.set(null);
  return true;
}
