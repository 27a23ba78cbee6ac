/** ACTIONS ON JOBS. Only actions that the job's status allows are offered. */
import { createElement, type ReactNode } from "react";
import { Ban, Play, RotateCw, Trash2 } from "lucide-react";
import { isTerminal, type JobSummary, type Status } from "../core/job.ts";
import { RETRY, RUN_NOW } from "../core/lifecycle.ts";
import type { ChangeOptions, RetryOptions } from "../core/manual-change.ts";
import { act } from "./act.ts";
import { client } from "./api.ts";
import { ask } from "./ask.ts";
import { counted } from "../core/counted.ts";
import { shortId } from "./format.ts";
import { messageOf } from "./parts/notices.tsx";
import { TextAndSample } from "./parts/sample-jobs.tsx";
import { toast } from "./toasts.ts";
import { Watched } from "./watched.ts";

export const JOB_ACTIONS = ["retry", "start", "cancel", "delete"] as const;
/** `start` starts a scheduled or retrying job now. */
export type JobAction = (typeof JOB_ACTIONS)[number];

/** Whether the status allows the action. */
export function isValid(action: JobAction, status: Status): boolean {
  switch (action) {
    case "retry":
      return RETRY.from.includes(status);
    case "start":
      return RUN_NOW.from.includes(status);
    case "cancel":
      return !isTerminal(status);
    case "delete":
      return isTerminal(status);
  }
}

/** How a change is made: with `restart`, a retry forgets the steps of the job. */
type HowToChange = ChangeOptions & Pick<RetryOptions, "restart">;

function perform(action: JobAction, id: string, { restart, ...options }: HowToChange): Promise<unknown> {
  switch (action) {
    case "retry":
      return client.retry(id, restart === true ? { ...options, restart } : options);
    case "start":
      return client.retry(id, { ...options, now: true });
    case "cancel":
      return client.cancel(id, options);
    case "delete":
      return client.remove(id, options);
  }
}

const DONE: Readonly<Record<JobAction, string>> = {
  retry: "is queued for retry",
  start: "starts now",
  cancel: "is cancelled",
  delete: "is deleted",
};

export const ACTION_ICONS = { retry: RotateCw, start: Play, cancel: Ban, delete: Trash2 } as const;

/** The labels of the buttons. */
export const ACTION_WORDS: Readonly<Record<JobAction, string>> = { retry: "Retry", start: "Start now", cancel: "Cancel", delete: "Delete" };

type Target = Pick<JobSummary, "id" | "type" | "status" | "error" | "hasSteps">;

/** How many of the jobs a question shows. */
export const SAMPLE = 3;

/** Asks if it cannot be undone, or can be done in two ways; makes the change, and reports it. Returns whether it was made. */
export async function changeJob(action: JobAction, job: Target): Promise<boolean> {
  const what = `${job.type} …${shortId(job.id)}`;
  const options = action === "retry" && job.hasSteps ? await askHowToRetry(what) : await confirm(action, [job], what);
  if (options === null) return false;
  return (
    (await act(
      async () => (await perform(action, job.id, options), true),
      () => `${what} ${options.restart === true ? "starts over" : DONE[action]}`,
    )) === true
  );
}

/** A job with steps need not do all of them again. */
async function askHowToRetry(what: string): Promise<HowToChange | null> {
  let restart = false;
  const options = await ask({
    title: `Retry ${what}?`,
    body: "This job has steps. It can continue where it stopped: finished steps are not run again, failed calls are. Or it can start over: it forgets its steps and signals, and runs them all again.",
    yes: "Continue where it stopped",
    instead: { label: "Start over", onChoose: () => (restart = true) },
  });
  return options === null ? null : { ...options, restart };
}

/** The options of the change; null if the user does not want it. A change that can be undone is made without a question. */
function confirm(action: JobAction, jobs: readonly Target[], what: string): Promise<HowToChange | null> {
  const running = jobs.filter(({ status }) => status === "running").length;
  if (action === "delete") {
    const body = bodyOf("This also deletes payload, result, attempts and log. It cannot be undone.", jobs);
    return ask({ title: `Delete ${what}?`, body, yes: "Delete", danger: true });
  }
  if (action === "cancel" && running > 0) {
    const which = jobs.length === 1 ? "It is running" : counted(running, "of them is running", "of them are running");
    const body = bodyOf(`${which}: the handler is told to stop; what it has done so far is not undone.`, jobs);
    return ask({ title: `Cancel ${what}?`, body, yes: jobs.length === 1 ? "Cancel it" : "Cancel them", no: "Do not cancel", danger: true });
  }
  return Promise.resolve({});
}

function bodyOf(text: string, jobs: readonly Target[]): ReactNode {
  return jobs.length === 1 ? text : createElement(TextAndSample, { text, jobs: jobs.slice(0, SAMPLE) });
}

export interface Progress {
  readonly action: JobAction;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly stop: () => void;
}

/** The change of several jobs that is running, if any. */
export const progress = new Watched<Progress | null>(null);

const AT_ONCE = 5;

/** Changes all jobs whose status allows it, a few at a time, until done or stopped. Returns whether it was started. */
export async function changeJobs(action: JobAction, jobs: readonly Target[]): Promise<boolean> {
  const able = jobs.filter(({ status }) => isValid(action, status));
  const what = counted(able.length, "job");
  if (able.length === 0 || progress.get() !== null) return false;
  const options = await confirm(action, able, what);
  if (options === null) return false;
  let isStopped = false;
  let done = 0;
  let failed = 0;
  let problem = "";
  const waiting = able.values();
  const showProgress = (): void => progress.set({ action, total: able.length, done, failed, stop: () => (isStopped = true) });
  const worker = async (): Promise<void> => {
    for (const { id } of waiting) {
      if (isStopped) return;
      try {
        await perform(action, id, options);
        done++;
      } catch (error) {
        failed++;
        problem = messageOf(error);
      }
      showProgress();
    }
  };
  showProgress();
  await act(
    () => Promise.all(Array.from({ length: AT_ONCE }, worker)),
    () => `${counted(done, "job")} ${done === 1 ? DONE[action] : DONE[action].replace(/^is /, "are ").replace(/^starts/, "start")}`,
  );
  if (failed > 0) toast(`${counted(failed, "job")} could not be changed. ${problem}`, { kind: "failed" });
  progress.set(null);
  return true;
}
