import { type Trouble, TROUBLE_KINDS } from "../core/trouble.ts";
import type { Family } from "./exposition.ts";
import { Counter, Histogram } from "./instruments.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { LeaseVerb, LeaseWatcher, SeenClaim, SeenFacts, SeenReport } from "./lease-watch.ts";
import type { QueueLabels } from "./queue-labels.ts";

/** From a millisecond to half an hour: handlers differ that much. */
const JOB_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** Delayed and retried jobs can take days. */
const TOTAL_SECONDS = [...JOB_SECONDS, 7200, 21_600, 86_400];

const VERBS: readonly LeaseVerb[] = ["settle", "extend", "note"];
/** A worker over HTTP may report without facts about the job. */
const UNKNOWN = "(unknown)";

/** Work through this process, by its own workers or by others over HTTP. Add these up over processes. */
export class JobFigures implements LeaseWatcher {
  readonly #queues: QueueLabels;
  readonly #claims = new Counter({ name: "millrace_claims_total", help: "Jobs claimed through this process.", labels: ["queue"] });
  readonly #putOff = new Counter({
    name: "millrace_claims_put_off_total",
    help: "Claims that had to leave a job for later because of a rate or a held limit key.",
  });
  readonly #attempts = new Counter({
    name: "millrace_attempts_total",
    help: "Attempts reported through this process, by outcome.",
    labels: ["queue", "outcome"],
  });
  readonly #wait = new Histogram(
    {
      name: "millrace_wait_seconds",
      help: "How long attempts that completed or failed had waited, from when the job was due until its handler was called.",
      labels: ["queue"],
    },
    JOB_SECONDS,
  );
  readonly #run = new Histogram(
    { name: "millrace_run_seconds", help: "Run time of attempts that completed or failed.", labels: ["queue"] },
    JOB_SECONDS,
  );
  readonly #total = new Histogram(
    {
      name: "millrace_enqueue_to_completion_seconds",
      help: "How long completed jobs took from enqueue to completion: delays, waits, retries and runs.",
      labels: ["queue"],
    },
    TOTAL_SECONDS,
  );
  /** When claimed jobs were enqueued and started. Reports do not have this, but a worker gives back the same facts object. */
  readonly #claimed = new WeakMap<SeenFacts, { readonly createdAt: number; readonly dueAt: number; readonly startedAt: number }>();
  readonly #contended = new Counter(
    {
      name: "millrace_store_contended_total",
      help: "Calls to the store that were repeated because another process held a lock, by reason.",
      labels: ["reason"],
    },
    [["lock"]],
  );
  readonly #refused = new Counter(
    {
      name: "millrace_stale_writes_refused_total",
      help: "Writes of workers that were refused because their lease had ended or passed to another worker.",
      labels: ["verb"],
    },
    VERBS.map((verb) => [verb]),
  );
  readonly #troubles = new Counter(
    { name: "millrace_troubles_total", help: "Troubles that a person should know about; the log has each of them.", labels: ["kind"] },
    TROUBLE_KINDS.map((kind) => [kind]),
  );

  constructor(queues: QueueLabels) {
    this.#queues = queues;
  }

  claimed(claims: readonly SeenClaim[]): void {
    for (const { job, facts } of claims) {
      const { createdAt, scheduledAt, startedAt } = job;
      if (startedAt !== null) this.#claimed.set(facts, { createdAt, dueAt: scheduledAt ?? createdAt, startedAt });
      this.#claims.add(1, this.#queues.labelOf(job.queue));
    }
  }

  putOff(): void {
    this.#putOff.add(1);
  }

  reported(reports: readonly SeenReport[], answers: readonly LeaseAnswer[]): void {
    reports.forEach(({ outcome, facts, heldMs = 0 }, index) => {
      if (answers[index] !== "ok") return;
      const queue = facts === undefined ? UNKNOWN : this.#queues.labelOf(facts.queue);
      this.#attempts.add(1, queue, outcome.kind);
      if (!("runMs" in outcome)) return;
      this.#run.observe(outcome.runMs / 1000, queue);
      const times = facts === undefined ? undefined : this.#claimed.get(facts);
      if (times === undefined) return;
      // The times are the store's, and the durations were measured by the worker: no two clocks are compared.
      const startedAt = times.startedAt + heldMs;
      this.#wait.observe(Math.max(0, startedAt - times.dueAt) / 1000, queue);
      if (outcome.kind === "completed") this.#total.observe((startedAt - times.createdAt + outcome.runMs) / 1000, queue);
    });
  }

  refused(verb: LeaseVerb, count: number): void {
    this.#refused.add(count, verb);
  }

  contended(reason: "lock"): void {
    this.#contended.add(1, reason);
  }

  trouble({ kind }: Trouble): void {
    this.#troubles.add(1, kind);
  }

  families(): Family[] {
    return [
      this.#claims,
      this.#putOff,
      this.#attempts,
      this.#wait,
      this.#run,
      this.#total,
      this.#contended,
      this.#refused,
      this.#troubles,
    ].map((figure) => figure.family());
  }
}
