import type { AttemptError, Status } from "../core/job.ts";
import type { LeaseAnswer, LostLease } from "../core/lease.ts";
import { type Outcome, settle } from "../core/lifecycle.ts";
import type { LeaseWatcher, SeenClaim, SeenFacts, SeenReport } from "./lease-watch.ts";
import type { Logger } from "./log.ts";
import { safeText } from "./safe-text.ts";

const MAX_ERROR_LENGTH = 1000;

/** A log line for each step of a job: claimed at `debug`, completed at `info`, failed with a retry at `warn`, failed for good at `error`. */
export class JobLines implements LeaseWatcher {
  readonly #logger: Logger;
  /** The worker that claimed a job. Reports do not have it, but a worker gives back the same facts object. */
  readonly #workers = new WeakMap<SeenFacts, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  claimed(claims: readonly SeenClaim[]): void {
    const isWritten = this.#isWritten("debug");
    for (const { job, fence, facts } of claims) {
      if (job.workerId !== null) this.#workers.set(facts, job.workerId);
      if (!isWritten) continue;
      const { id, type, queue, workerId, attempt, retryCount } = job;
      this.#logger.debug({ job_id: id, type, queue, worker_id: workerId, fence, attempt, retry_count: retryCount }, "job claimed");
    }
  }

  reported(reports: readonly SeenReport[], answers: readonly LeaseAnswer[]): void {
    reports.forEach((report, index) => this.#reported(report, answers[index]));
  }

  /** Lost leases: one line for each, whatever the new status of the job. */
  lost(leases: readonly LostLease[]): void {
    for (const { id, type, queue, workerId, fence, attempt, retryCount, lostCount, to } of leases) {
      const fields = {
        job_id: id,
        type,
        queue,
        worker_id: workerId,
        fence,
        attempt,
        retry_count: retryCount,
        lost_count: lostCount,
        status: to,
      };
      this.#logger.warn(fields, "lease lost: its worker died or was cut off");
    }
  }

  #reported(report: SeenReport, answer: LeaseAnswer | undefined): void {
    const { outcome } = report;
    if (answer === "stale")
      return this.#logger.warn(this.#fields(report), "late report refused: the lease ended or passed to another worker");
    // It will be reported again.
    if (answer === "locked") return;
    if (answer === "cancelled") return this.#logger.info(this.#fields(report), "job was cancelled while it ran");
    switch (outcome.kind) {
      case "completed":
        if (this.#isWritten("info")) this.#logger.info(this.#fields(report), "job completed");
        return;
      case "snooze":
        return this.#logger.debug(this.#fields(report), "job snoozed");
      case "hold":
        return this.#logger.debug(this.#fields(report), "job held back with its limit key");
      case "suspend": {
        const steps = outcome.waits.map(({ name }) => safeText(name, MAX_ERROR_LENGTH));
        return this.#logger.debug({ ...this.#fields(report), steps }, "job suspended");
      }
      case "release":
        return this.#logger.info(this.#fields(report), "job released unfinished");
      case "failed":
      case "discard":
      case "lost":
        return this.#failed(report);
    }
  }

  #failed(report: SeenReport): void {
    const fields = this.#fields(report);
    switch (nextOf(report)) {
      case "retrying":
        return this.#logger.warn(fields, "job failed and will be retried");
      case null:
        return this.#logger.warn(fields, "attempt failed");
      default:
        return this.#logger.error(fields, "job failed for good");
    }
  }

  #fields({ id, fence, outcome, facts }: SeenReport): Record<string, unknown> {
    const error = "error" in outcome ? errorOf(outcome.error) : undefined;
    return {
      job_id: id,
      ...(facts === undefined ? {} : { type: facts.type, queue: facts.queue, worker_id: this.#workers.get(facts) ?? null }),
      fence,
      ...(facts === undefined ? {} : { retry_count: facts.retryCount }),
      ...("runMs" in outcome ? { duration_ms: outcome.runMs } : {}),
      ...(error === undefined ? {} : { error }),
    };
  }

  #isWritten(level: "debug" | "info"): boolean {
    return this.#logger.isLevelEnabled?.(level) ?? true;
  }
}

/** The status that follows, by the same rules as in the store; null if too little is known. Randomness only changes its time. */
function nextOf({ outcome, facts }: { readonly outcome: Outcome; readonly facts?: SeenFacts | undefined }): Status | null {
  return facts === undefined ? null : settle(facts, outcome, facts, 0).to;
}

function errorOf({ name, message, kind }: AttemptError): Record<string, unknown> {
  return { name: safeText(name, MAX_ERROR_LENGTH), message: safeText(message, MAX_ERROR_LENGTH), kind };
}
