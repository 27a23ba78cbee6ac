import type { Client, Context, LeasedJob, Leases } from "../client/client.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";
import { Attempt } from "./attempt.ts";
import { Deadlines } from "./deadlines.ts";
import type { Exchanger } from "./exchanger.ts";
import type { HandlerTable } from "./handlers.ts";
import type { Renewer } from "./renewal/heartbeat.ts";
import type { GoneLease } from "./renewal/lease-book.ts";
import { type JobNotes, NoteWriter } from "./notes.ts";
import type { WorkSettings } from "./options.ts";

export interface AttemptsOptions {
  readonly clock: Clock;
  readonly leases: Leases;
  readonly getJob: Client["get"];
  readonly renewer: Renewer;
  readonly handlers: HandlerTable;
  readonly settings: WorkSettings;
  /** Must not throw. */
  readonly onTrouble: OnTrouble;
}

/** THE RUNNING ATTEMPTS OF A WORKER: starts them, renews their leases, tells them when a lease is gone, reports their outcomes. */
export class Attempts {
  readonly options: AttemptsOptions;
  readonly running = new Set<Attempt>();
  /** How many handlers ignored their abort and still run. */
  abandoned = 0;
  /** How many attempts have ended and freed their slot, but cannot be reported before their notes are written. */
  waitingForNotes = 0;
  readonly deadlines: Deadlines;
  readonly notes: NoteWriter;
  readonly #exchanger: Exchanger;

  constructor(options: AttemptsOptions, exchanger: Exchanger) {
    const { clock, leases } = options;
    this.options = options;
    this.#exchanger = exchanger;
    this.deadlines = new Deadlines(clock, this.running);
    this.notes = new NoteWriter({
      clock,
      write: (notes) => leases.note(notes),
      onGone: ({ job, fence }, why) => this.gone([{ id: job.id, fence, why }]),
    });
  }

  run(jobs: readonly LeasedJob[]): void {
    const { handlers, renewer } = this.options;
    const attempts = jobs.map((lease) => new Attempt(lease, handlers.find(lease.job.type) ?? NO_HANDLER, this));
    // Before any of them runs: the first may block the event loop for longer than a lease.
    renewer.hold(attempts.map((attempt) => attempt.held));
    for (const attempt of attempts) this.running.add(attempt);
    this.#exchanger.noteUse();
    this.#startAll(attempts);
  }

  #startAll(attempts: readonly Attempt[]): void {
    const { clock, settings } = this.options;
    const claimedAt = clock.monotonic();
    let now = claimedAt;
    for (let index = 0; index < attempts.length; index++) {
      attempts[index]!.start(now);
      now = clock.monotonic();
      if (now - claimedAt > settings.leaseMs / 2) return void this.#startLate(attempts.slice(index + 1));
    }
  }

  /** A handler blocked the event loop. The leases of those behind it may be gone, so the store is asked before they start. */
  async #startLate(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return;
    const { renewer } = this.options;
    await renewer.beatNow();
    const left = attempts.filter((attempt) => !attempt.isOver);
    renewer.hold(left.map((attempt) => attempt.held));
    this.#startAll(left);
  }

  /** Ends attempts whose lease is gone. A job that was lost and claimed again by this worker runs under two fences; only one is gone. */
  gone(leases: readonly GoneLease[]): void {
    const reasons = new Map(leases.map((lease) => [`${lease.id} ${lease.fence}`, lease.why]));
    for (const attempt of this.running) {
      const why = reasons.get(`${attempt.lease.job.id} ${attempt.lease.fence}`);
      if (why !== undefined) attempt.gone(why);
    }
  }

  /** Called by an attempt that is over. A null outcome means that there is nothing to report. */
  ended(attempt: Attempt, outcome: Outcome | null): void {
    if (outcome === null || attempt.notes === null) return this.#finish(attempt, outcome);
    if (attempt.mayWait) return void this.#finishAfterNotes(attempt, attempt.notes, outcome);
    // Notes first: after the outcome the lease has ended, and they would be refused. The slot stays in use meanwhile.
    this.notes.touch(attempt.notes);
    void this.notes.write().then(() => this.#finish(attempt, outcome));
  }

  /** The notes may have to wait for the job's row. Neither its slot nor other notes wait with them. */
  async #finishAfterNotes(attempt: Attempt, notes: JobNotes, outcome: Outcome): Promise<void> {
    this.waitingForNotes++;
    this.running.delete(attempt);
    this.#exchanger.noteUse();
    this.#exchanger.freed();
    await this.notes.writeAlone(notes);
    this.waitingForNotes--;
    this.#finish(attempt, outcome);
  }

  #finish(attempt: Attempt, outcome: Outcome | null): void {
    if (this.running.delete(attempt)) this.#exchanger.noteUse();
    // The lease is renewed until the report has arrived.
    if (outcome !== null) return this.#exchanger.report(attempt.reportOf(outcome), attempt.mayWait);
    this.options.renewer.drop([attempt.held]);
    this.#exchanger.freed();
  }

  /** A handler still runs although its attempt is over. */
  handlerAbandoned(): void {
    this.abandoned++;
    this.#exchanger.warnIfOverrun();
  }

  /** An abandoned handler has ended. */
  handlerCameBack(): void {
    this.abandoned--;
    this.#exchanger.warnIfOverrun();
    this.#exchanger.freed();
  }

  /** The worker is shutting down: aborts the handlers. */
  abort(): void {
    for (const attempt of this.running) attempt.abort("shutdown");
  }

  /** The grace period of a shutdown has ended: gives back unfinished jobs. */
  giveUp(): void {
    for (const attempt of this.running) attempt.giveUp();
  }

  /** Frees the timers. Handlers that still run are not stopped. */
  stop(): void {
    this.deadlines.stop();
    this.notes.stop();
  }
}

/** A store returns a type that nobody asked for only by mistake: then the job fails with this message. */
const NO_HANDLER = {
  handler: (_payload: unknown, { job }: Context): never => {
    throw new Error(`this worker has no handler for jobs of type ${job.type}`);
  },
  schema: undefined,
  jsonSchema: null,
  backoff: undefined,
};
