import type { Context, LeasedJob, Leases, WorkerClient } from "../client/client.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptEvents } from "./attempt-events.ts";
import { Backoffs } from "./backoffs.ts";
import { Deadlines } from "./deadlines.ts";
import type { Exchanger } from "./exchanger.ts";
import type { HandlerTable } from "./handlers.ts";
import type { Renewer } from "./renewal/heartbeat.ts";
import type { GoneLease } from "./renewal/lease-book.ts";
import { type JobNotes, NoteWriter } from "./notes.ts";
import type { WorkSettings } from "./options.ts";
import { Stock } from "./stock.ts";

/** How long handlers are started in one turn of the event loop. */
const TURN_MS = 5;

export interface AttemptsOptions {
  readonly clock: Clock;
  readonly leases: Leases;
  readonly getJob: WorkerClient["get"];
  readonly flows: WorkerClient["flows"];
  readonly renewer: Renewer;
  /** The store is behind a server of ours. */
  readonly isRemote: boolean;
  readonly handlers: HandlerTable;
  readonly settings: WorkSettings;
  readonly events: AttemptEvents;
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
  /** Claimed, but not started yet. */
  readonly stock: Stock;
  readonly deadlines: Deadlines;
  readonly backoffs: Backoffs;
  readonly notes: NoteWriter;
  readonly #exchanger: Exchanger;
  #turnEndsAt = -Infinity;
  #isNextTurnSet = false;
  #isStartSet = false;
  /** The store is asked whether the leases of those that wait still hold; and when it last was. */
  #isAsking = false;
  #askedAt = -Infinity;

  constructor(options: AttemptsOptions, exchanger: Exchanger) {
    const { clock, leases } = options;
    this.options = options;
    this.#exchanger = exchanger;
    this.backoffs = new Backoffs(options.settings.backoffs, options.onTrouble);
    this.deadlines = new Deadlines(clock, this.running);
    this.stock = new Stock({
      clock,
      aheadMs: options.settings.aheadMs,
      isRemote: options.isRemote,
      slots: () => exchanger.slots,
      running: this.running,
      giveBack: (attempts) => attempts.forEach((attempt) => exchanger.report(attempt.giveBack())),
    });
    this.notes = new NoteWriter({
      clock,
      write: (notes) => leases.note(notes),
      onGone: ({ job, fence }, why) => this.gone([{ id: job.id, fence, why }]),
    });
  }

  /** Those that run, that wait to be started, and that wait to be reported. */
  get count(): number {
    return this.running.size + this.stock.size + this.waitingForNotes;
  }

  /** Takes claimed jobs and starts those that have a slot. `isAhead`: the claim said that they may wait. */
  take(jobs: readonly LeasedJob[], isAhead: boolean): void {
    const { clock, handlers, renewer } = this.options;
    const now = clock.monotonic();
    const attempts = jobs.map((lease) => new Attempt(lease, handlers.find(lease.job.type) ?? NO_HANDLER, this, { takenAt: now, isAhead }));
    // Before any of them runs: the first may block the event loop for longer than a lease.
    renewer.hold(attempts.map((attempt) => attempt.held));
    this.stock.add(attempts);
    this.#startInTurn(now);
    this.stock.keepRest();
  }

  /** Starts those that have a slot, for as long as a turn of the event loop may take. */
  #startInTurn(now: number): void {
    this.#turnEndsAt = now + TURN_MS;
    this.#start();
  }

  #start(): void {
    if (this.#isAsking) return;
    const { clock, settings } = this.options;
    for (let next = this.stock.first; next !== undefined && this.running.size < this.#exchanger.slots; next = this.stock.first) {
      const now = clock.monotonic();
      if (now - Math.max(next.takenAt, this.#askedAt) > settings.leaseMs / 2) return void this.#startLate();
      if (now >= this.#turnEndsAt) return this.#startNextTurn();
      this.stock.remove(next);
      this.stock.started();
      this.running.add(next);
      this.#exchanger.noteUse(now);
      next.start(now);
    }
  }

  /** Lets timers, sockets and the exchange have their turn. */
  #startNextTurn(): void {
    if (this.#isNextTurnSet) return;
    this.#isNextTurnSet = true;
    setImmediate(() => {
      this.#isNextTurnSet = false;
      this.#startInTurn(this.options.clock.monotonic());
    });
  }

  /** Call this when slots became free. After all attempts that end in this microtask, so that a handler of many jobs gets them together. */
  startSoon(): void {
    if (this.#isStartSet || this.stock.size === 0) return;
    this.#isStartSet = true;
    queueMicrotask(() => {
      this.#isStartSet = false;
      this.#start();
    });
  }

  /** A handler blocked the event loop. The leases of those that wait may be gone, so the store is asked before they start. */
  async #startLate(): Promise<void> {
    const { clock, renewer } = this.options;
    this.#isAsking = true;
    await renewer.beatNow();
    this.#isAsking = false;
    this.#askedAt = clock.monotonic();
    renewer.hold(Array.from(this.stock.attempts, (attempt) => attempt.held));
    this.#startInTurn(this.#askedAt);
  }

  /** Ends attempts whose lease is gone. A job that was lost and claimed again by this worker runs under two fences; only one is gone. */
  gone(leases: readonly GoneLease[]): void {
    const reasons = new Map(leases.map((lease) => [`${lease.id} ${lease.fence}`, lease.why]));
    for (const attempt of [...this.running, ...this.stock.attempts]) {
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
    this.#freeSlot(attempt);
    this.#exchanger.freed();
    await this.notes.writeAlone(notes);
    this.waitingForNotes--;
    this.#finish(attempt, outcome);
  }

  #freeSlot(attempt: Attempt): void {
    const now = this.options.clock.monotonic();
    this.running.delete(attempt);
    this.#exchanger.noteUse(now);
    this.stock.ended(attempt, now);
    this.startSoon();
  }

  #finish(attempt: Attempt, outcome: Outcome | null): void {
    if (this.running.has(attempt)) this.#freeSlot(attempt);
    else this.stock.remove(attempt);
    const { events, renewer } = this.options;
    // The lease is renewed until the report has arrived.
    if (outcome !== null) {
      const report = attempt.reportOf(outcome);
      events.reporting(report, attempt);
      return this.#exchanger.report(report, attempt.mayWait);
    }
    events.gone(attempt, attempt.whyGone);
    renewer.drop([attempt.held]);
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
    this.stock.stop();
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
  output: undefined,
  jsonSchema: null,
  backoff: undefined,
};
