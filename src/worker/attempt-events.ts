/** WHAT A WORKER TELLS: the end of each attempt, as the store answered it, and what happens to the worker itself. */
import type { HandleMiddleware, HeardJob, Hooks, JobEvents, LeaseAnswer, Listener, Report, WorkerEvents } from "../client/client.ts";
import { messageOf } from "../core/errors.ts";
import { checkListener, listenerFailed, WORKER_EVENTS } from "../core/hook-events.ts";
import { isInternalQueue } from "../core/internal.ts";
import type { Job } from "../core/job.ts";
import { CANCEL, type Outcome, settle, type Transition } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { Emitter } from "../lib/emitter.ts";
import type { Attempt } from "./attempt.ts";
import { JobAborted } from "./job-aborted.ts";

/** For each job it costs one look at who listens. All else is done only if somebody does. */
export class AttemptEvents {
  readonly #hooks: Hooks | undefined;
  readonly #own: Emitter<WorkerEvents>;
  /** Ended attempts that somebody wants to hear of, by the report that the store has not answered yet. */
  readonly #awaited = new WeakMap<Report, Attempt>();
  /** How many there are at most: usually none, and then no report is looked up. */
  #awaitedCount = 0;

  constructor(hooks: Hooks | undefined, onTrouble: OnTrouble) {
    this.#hooks = hooks;
    this.#own = new Emitter(messageOf, (name, error) => onTrouble(listenerFailed(name, error)));
  }

  on<Name extends keyof WorkerEvents>(event: Name, listener: Listener<WorkerEvents[Name]>): () => void {
    checkListener(event, WORKER_EVENTS, listener);
    return this.#own.on(event, listener);
  }

  /** Tells about the worker itself. */
  tell<Name extends Exclude<keyof WorkerEvents, keyof JobEvents>>(event: Name, ...about: WorkerEvents[Name]): void {
    this.#own.emit(event, ...about);
  }

  /** What is around the handler of a job; null if nothing is. */
  around({ queue }: Job): readonly HandleMiddleware[] | null {
    const middleware = this.#hooks?.middleware;
    return middleware === undefined || middleware.length === 0 || isInternalQueue(queue) ? null : middleware;
  }

  started({ lease: { job } }: Attempt): void {
    if (this.#hears("started", job)) this.#emit("started", job);
  }

  /** An attempt has ended and is about to be reported. */
  reporting(report: Report, attempt: Attempt): void {
    for (const event of ENDINGS[report.outcome.kind]) {
      if (!this.#hears(event, attempt.lease.job)) continue;
      this.#awaited.set(report, attempt);
      this.#awaitedCount++;
      return;
    }
  }

  /** The store has answered. Never throws: a thrown value can be a Proxy that throws when it is looked at. */
  answered(reports: readonly Report[], answers: readonly LeaseAnswer[]): void {
    if (this.#awaitedCount === 0) return;
    reports.forEach((report, index) => {
      const attempt = this.#awaited.get(report);
      // A locked job will be reported again.
      if (attempt === undefined || answers[index] === "locked") return;
      this.#awaited.delete(report);
      this.#awaitedCount--;
      try {
        this.#ended(report, attempt, answers[index]!);
      } catch {
        // Nothing is left to tell.
      }
    });
  }

  /** An attempt is over, and there is nothing to report. */
  gone(attempt: Attempt, why: "cancelled" | "lost"): void {
    const { job } = attempt.lease;
    if (!this.#hears(why, job)) return;
    if (why === "lost") this.#emit("lost", job, new JobAborted("lost", 0));
    else this.#emit("cancelled", after(job, CANCEL.transition, null));
  }

  #ended({ outcome, facts }: Report, attempt: Attempt, answer: LeaseAnswer): void {
    if (answer === "cancelled") return this.gone(attempt, "cancelled");
    // After ctx.complete, the handler's own transaction may have ended the lease: then nothing was lost.
    if (answer === "stale") return attempt.mayWait ? undefined : this.gone(attempt, "lost");
    const transition = settle(facts!, outcome, facts!, 0);
    const job = after(attempt.lease.job, transition, outcome);
    switch (transition.to) {
      case "completed":
        return this.#emit("completed", job);
      case "retrying":
        return this.#emit("failed", job, errorOf(attempt.failure, transition));
      case "dead":
      case "failed":
        return this.#emit("dead", job, errorOf(attempt.failure, transition));
      case "scheduled":
      case "blocked":
        return this.#emit(outcome.kind === "suspend" ? "suspended" : "snoozed", job);
      default:
        return this.#emit(outcome.kind === "hold" ? "snoozed" : "released", job);
    }
  }

  #hears(event: keyof JobEvents, { queue }: Job): boolean {
    return (this.#own.hears(event) || this.#hooks?.hears(event) === true) && !isInternalQueue(queue);
  }

  #emit<Name extends keyof JobEvents>(event: Name, ...about: JobEvents[Name]): void {
    this.#own.emit(event, ...(about as WorkerEvents[Name]));
    this.#hooks?.emit(event, ...about);
  }
}

/** Which events an outcome can lead to, by the rules or by the store's answer. */
const ENDINGS: Readonly<Record<Outcome["kind"], readonly (keyof JobEvents)[]>> = {
  completed: ["completed", "cancelled", "lost"],
  failed: ["failed", "dead", "cancelled", "lost"],
  discard: ["dead", "cancelled", "lost"],
  snooze: ["snoozed", "failed", "dead", "cancelled", "lost"],
  hold: ["snoozed", "failed", "dead", "cancelled", "lost"],
  release: ["released", "cancelled", "lost"],
  suspend: ["suspended", "cancelled", "lost"],
  lost: [],
};

/** The job after a transition, by the rules that the store applied. Randomness changes only its due time, which is left out. */
function after(job: Job, transition: Transition, outcome: Outcome | null): HeardJob {
  const { progress: _, updatedAt: __, scheduledAt: ___, completedAt: ____, ...known } = job;
  const { to, bumpFence, giveBackAttempt, retries, result, error, endsAttempt, runMs } = transition;
  return {
    ...known,
    status: to,
    workerId: null,
    fence: job.fence + (bumpFence ? 1 : 0),
    attempt: job.attempt - (giveBackAttempt ? 1 : 0),
    retryCount: job.retryCount + (retries === "add" ? 1 : 0),
    error: error === undefined ? job.error : error,
    result: outcome?.kind === "completed" && typeof result === "string" ? (JSON.parse(result) as unknown) : null,
    durationMs: endsAttempt ? runMs : job.durationMs,
  };
}

/** The very error that was thrown. For what is not an Error, and for a failure that nobody threw, one with the stored text. */
function errorOf(failure: unknown, { error: stored }: Transition): Error {
  if (failure instanceof Error) return failure;
  const error = new Error(stored?.message, failure === undefined ? {} : { cause: failure });
  return Object.assign(error, { name: stored?.name ?? "Error", stack: stored?.stack ?? error.stack });
}
