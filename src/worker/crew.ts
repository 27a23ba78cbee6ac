import type { Client, Context, LeasedJob, LeaseRef, LeaseAnswer, Leases, Report } from "../client/client.ts";
import { formatDuration } from "../core/duration.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";
import { beatMsOf } from "./beat-times.ts";
import { CompletionWatch, type CompletionWatchOptions } from "./completion-watch.ts";
import { Deadlines } from "./deadlines.ts";
import { Attempt, type AttemptHost } from "./execute.ts";
import type { HandlerTable } from "./handlers.ts";
import type { Renewer } from "./heartbeat.ts";
import type { GoneLease, HeldLease } from "./lease-book.ts";
import { type JobNotes, NoteWriter } from "./notes.ts";

export interface CrewOptions {
  readonly clock: Clock;
  readonly leases: Pick<Leases, "extend" | "note" | "settleWithin">;
  readonly getJob: Client["get"];
  readonly renewer: Renewer;
  readonly handlers: HandlerTable;
  readonly leaseMs: number;
  readonly settleMs: number;
  /** How many slots there are now: with as many abandoned handlers the crew is overrun. */
  readonly slots: () => number;
  readonly onTrouble: OnTrouble;
  /** An attempt has ended so. Its slot is free already. `mayWait`: a transaction of the handler's own may still hold the job's row. */
  readonly report: (report: Report, mayWait: boolean) => void;
  /** A slot became free without a report, or an abandoned handler came back. */
  readonly freed: () => void;
}

/** So long after its handler should have settled an attempt is still renewed: its outcome is on its way, or the main loop hangs. */
const HANGING_MS = 5000;

/** THE ATTEMPTS OF A WORKER that are under way: started together, kept alive, told what happens to their leases, seen off. */
export class Crew implements AttemptHost {
  readonly running = new Set<Attempt>();
  readonly clock: Clock;
  readonly onTrouble: OnTrouble;
  readonly leaseMs: number;
  readonly settleMs: number;
  readonly #options: CrewOptions;
  readonly #deadlines: Deadlines;
  readonly #notes: NoteWriter;
  #abandoned = 0;
  #leaving = 0;
  #toldOverrun = false;

  constructor(options: CrewOptions) {
    const { clock, leases } = options;
    this.clock = clock;
    this.onTrouble = options.onTrouble;
    this.leaseMs = options.leaseMs;
    this.settleMs = options.settleMs;
    this.#options = options;
    this.#deadlines = new Deadlines(clock, this.running);
    this.#notes = new NoteWriter({
      clock,
      write: (notes) => leases.note(notes),
      onGone: (lease, why) => this.gone([{ ...refOf(lease), why }]),
    });
  }

  /** Ended attempts without a slot that have not been reported yet. */
  get leaving(): number {
    return this.#leaving;
  }

  /** Handlers that ignored their abort and still run. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** So many handlers ignore their abort that more jobs would only add to them. */
  get isOverrun(): boolean {
    return this.#abandoned >= this.#options.slots();
  }

  /** Says once that the crew is overrun. To be called also when slots went. */
  tellIfOverrun(): void {
    const told = this.#toldOverrun;
    this.#toldOverrun = this.isOverrun;
    if (told || !this.isOverrun) return;
    this.onTrouble({
      kind: "abandoned",
      message:
        `a worker stopped claiming: ${this.#abandoned} of its handlers still run ${formatDuration(this.settleMs)} after their abort. ` +
        `Let handlers end when ctx.signal aborts, or restart this process`,
    });
  }

  /** Runs claimed jobs. */
  take(jobs: readonly LeasedJob[]): void {
    const { handlers, renewer } = this.#options;
    const attempts = jobs.map((lease) => new Attempt(lease, handlers.find(lease.job.type) ?? NO_HANDLER, this));
    // Before any of them runs: the first may block the loop for longer than a lease lasts.
    renewer.hold(attempts.map((attempt) => this.#holdOf(attempt)));
    for (const attempt of attempts) this.running.add(attempt);
    this.#startAll(attempts);
  }

  /** Leases that somebody else ended. A job that was lost and claimed again by this same worker runs under two fences: only one is gone. */
  gone(leases: readonly GoneLease[]): void {
    const reasons = new Map(leases.map((lease) => [`${lease.id} ${lease.fence}`, lease.why]));
    this.forEach((attempt) => {
      const why = reasons.get(`${attempt.lease.job.id} ${attempt.lease.fence}`);
      if (why !== undefined) attempt.gone(why);
    });
  }

  forEach(act: (attempt: Attempt) => void): void {
    for (const attempt of this.running) act(attempt);
  }

  /** The renewal ends by itself a little after the timeout: by then the attempt is over, or the main loop hangs and nobody will end it. */
  #holdOf({ lease: { job, fence } }: Attempt): HeldLease {
    return { id: job.id, fence, stopAfterMs: job.timeout > 0 ? job.timeout + this.settleMs + HANGING_MS : null };
  }

  /** Frees the timers. Handlers that still run are left to themselves. */
  stop(): void {
    this.#deadlines.stop();
    this.#notes.stop();
  }

  #startAll(attempts: readonly Attempt[]): void {
    const claimedAt = this.clock.monotonic();
    let now = claimedAt;
    for (let index = 0; index < attempts.length; index++) {
      attempts[index]!.start(now);
      now = this.clock.monotonic();
      if (now - claimedAt > this.#options.leaseMs / 2) return void this.#startLate(attempts.slice(index + 1));
    }
  }

  /** A handler blocked the loop while others waited behind it. Their leases may be gone, so the store is asked before they start. */
  async #startLate(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return;
    await this.#options.renewer.beatNow();
    const left = attempts.filter((attempt) => !attempt.isOver);
    this.#options.renewer.hold(left.map((attempt) => this.#holdOf(attempt)));
    this.#startAll(left);
  }

  // ── What attempts ask for ──────────────────────────────────────────────────────────────────────────────────────────────────────

  watchDeadline(deadlineAt: number): void {
    this.#deadlines.watch(deadlineAt);
  }

  over(attempt: Attempt, outcome: Outcome | null): void {
    if (outcome === null || attempt.notes === null) return this.#leave(attempt, outcome);
    if (attempt.mayWait) return void this.#leaveSlowly(attempt, attempt.notes, outcome);
    // The notes first: once the outcome is written the lease has ended, and they would be refused. The slot stays taken meanwhile.
    this.#notes.touch(attempt.notes);
    void this.#notes.write().then(() => this.#leave(attempt, outcome));
  }

  /** Its notes may have to wait for the job's row: neither its slot nor the notes of others wait with them. */
  async #leaveSlowly(attempt: Attempt, notes: JobNotes, outcome: Outcome): Promise<void> {
    this.#leaving++;
    this.running.delete(attempt);
    this.#options.freed();
    await this.#notes.writeAlone(notes);
    this.#leaving--;
    this.#leave(attempt, outcome);
  }

  #leave(attempt: Attempt, outcome: Outcome | null): void {
    this.running.delete(attempt);
    if (outcome !== null) {
      const { job, fence, facts } = attempt.lease;
      // The lease is renewed until the report has arrived.
      this.#options.report({ id: job.id, fence, facts, outcome }, attempt.mayWait);
      return;
    }
    this.#options.renewer.drop([refOf(attempt.lease)]);
    this.#options.freed();
  }

  handlerAbandoned(): void {
    this.#abandoned++;
    this.tellIfOverrun();
  }

  handlerCameBack(): void {
    this.#abandoned--;
    this.tellIfOverrun();
    this.#options.freed();
  }

  noted(notes: JobNotes): void {
    this.#notes.touch(notes);
  }

  settleWithin(tx: unknown, report: Report): ReturnType<Leases["settleWithin"]> {
    return this.#options.leases.settleWithin(tx, report);
  }

  renew(attempt: Attempt, on: boolean): void {
    if (on) this.#options.renewer.hold([this.#holdOf(attempt)]);
    else this.#options.renewer.drop([refOf(attempt.lease)]);
  }

  /** With the time of a lease on top, so that renewals that begin again then come in time. */
  async extend({ lease }: Attempt, ms: number): Promise<LeaseAnswer> {
    return (await this.#options.leases.extend([refOf(lease)], ms + this.leaseMs))[0]!;
  }

  watchCompletion({ lease }: Attempt, on: Pick<CompletionWatchOptions, "onRolledBack" | "onGone">): CompletionWatch {
    const { leases, leaseMs, getJob } = this.#options;
    return new CompletionWatch({
      clock: this.clock,
      afterMs: beatMsOf(leaseMs),
      extend: async () => (await leases.extend([refOf(lease)], leaseMs))[0]!,
      isCompleted: async () => {
        const job = await getJob(lease.job.id);
        return job?.status === "completed" && job.fence === lease.fence;
      },
      ...on,
    });
  }
}

/** A store may hand out a type that nobody asked for only by mistake: then the job fails with words instead of a crash. */
const NO_HANDLER = {
  handler: (_payload: unknown, { job }: Context): never => {
    throw new Error(`this worker has no handler for jobs of type ${job.type}`);
  },
  schema: undefined,
  backoff: undefined,
};

function refOf({ job, fence }: LeasedJob): LeaseRef {
  return { id: job.id, fence };
}
