/**
 * A WORKER: free slots -> claim -> run -> sleep until woken or due.
 *
 *   idle, busy ─→ stopping ─→ stopped
 *
 * Jobs are claimed only for free slots: a job that waits in a worker burns its lease and is kept from others. A hint or a full claim makes
 * the worker hungry; without any it looks once a second, because hints may be lost. What ended goes out with the claim for the slots that
 * it freed.
 */
import type { ClaimRequest, Client, Handlers, LeasedJob, Leases, Report, WorkerHandle, WorkOptions } from "../client/client.ts";
import type { Duration } from "../core/duration.ts";
import { MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { LAST_WORDS_MS, readGrace } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
import { Crew } from "./crew.ts";
import { MAX_EXCHANGE } from "./exchange-limits.ts";
import { Exchanger } from "./exchanger.ts";
import { type HandlerTable, readHandlers } from "./handlers.ts";
import type { Renewer, RenewerFactory } from "./heartbeat.ts";
import { readWorkOptions, type WorkSettings } from "./options.ts";
import { QueueTurns } from "./queue-turns.ts";
import { Scale } from "./scale.ts";
import { Shutdown } from "./shutdown.ts";
import { guarded, warn } from "./trouble.ts";
import { WorkerCard } from "./worker-card.ts";

const POLL_MS = 1000;
/** Hints about leases make beats come sooner, but not more often than this. */
const HINTED_BEAT_MS = 50;
/** So many reports may wait without a slot, or as many as there are slots: then nothing is claimed until some are answered. */
const MOST_DELAYED = 100;

export interface WorkerEnv {
  readonly clock: Clock;
  readonly renewer: RenewerFactory;
  /** How many exchanges may be under way: 1 (the default) where the store works in this process, 2 where a server works meanwhile. */
  readonly inFlight?: number;
  /** How often an idle worker looks although nothing told it to. Default 1 s. */
  readonly pollMs?: number;
  /** In [0, 1); spreads polls and retries. */
  readonly random?: () => number;
  /** Where the random bytes of its id come from. Default: the system. */
  readonly fillRandom?: ((bytes: Uint8Array) => void) | undefined;
  /** Told what a person should know. By default a line on the console. */
  readonly onTrouble?: OnTrouble;
  /** How long the store may take for the last words of a worker that stops now and has nothing to wait for. Default 1 s. */
  readonly lastWordsMs?: () => number;
  /** Told once, when the worker has stopped, whoever stopped it. `isOutOfTime`: the store did not take its last words in time. */
  readonly onStopped?: (isOutOfTime: boolean) => void;
}

/** What a worker asks of its client. */
export type WorkerClient = Pick<Client, "leases" | "get">;

/** Starts a worker. Throws `invalid_input` and starts nothing when handlers or options are wrong. */
export function startWorker(client: WorkerClient, handlers: Handlers, options: WorkOptions | undefined, env: WorkerEnv): WorkerHandle {
  const worker = new JobWorker(client, readHandlers(handlers), readWorkOptions(options), env);
  worker.start();
  // The handle shows what a user may do, and nothing of what the parts tell each other.
  return {
    id: worker.id,
    stop: (stopOptions) => worker.stop(stopOptions),
    get state() {
      return worker.state;
    },
    get slots() {
      return worker.slots;
    },
    get running() {
      return worker.running;
    },
    get abandoned() {
      return worker.abandoned;
    },
    get healthy() {
      return worker.healthy;
    },
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

class JobWorker {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #pollMs: number;
  readonly #leases: Leases;
  readonly #onTrouble: OnTrouble;
  readonly #lastWordsMs: () => number;
  readonly #onStopped: (isOutOfTime: boolean) => void;
  readonly #handlers: HandlerTable;
  readonly #settings: WorkSettings;
  readonly #card: WorkerCard;
  readonly #turns: QueueTurns;
  readonly #scale: Scale;
  readonly #renewer: Renewer;
  readonly #crew: Crew;
  readonly #exchanger: Exchanger;
  readonly #poll: Loop;
  /** There may be work that was not asked for yet. */
  #hungry = true;
  #claimedAt = -Infinity;
  #toldUnreported = false;
  #hintedBeat: Timer | null = null;
  #hintedBeatAt = -Infinity;
  #unwatch: () => void = () => {};
  #shutdown: Shutdown | null = null;
  #drained: () => void = () => {};
  #stopped: Promise<void> | null = null;
  #isStopped = false;

  constructor(client: WorkerClient, handlers: HandlerTable, settings: WorkSettings, env: WorkerEnv) {
    const { clock, random = Math.random, inFlight = 1, pollMs = POLL_MS } = env;
    const { leases } = client;
    const { leaseMs, settleMs, minSlots, maxSlots } = settings;
    const onTrouble = guarded(env.onTrouble ?? warn, clock);
    this.#onTrouble = onTrouble;
    this.#clock = clock;
    this.#random = random;
    this.#pollMs = pollMs;
    this.#leases = leases;
    this.#lastWordsMs = env.lastWordsMs ?? (() => LAST_WORDS_MS);
    this.#onStopped = env.onStopped ?? (() => {});
    this.#handlers = handlers;
    this.#settings = settings;
    this.#card = new WorkerCard(clock, [...settings.queues.keys()], handlers.types, env.fillRandom);
    this.#turns = new QueueTurns(settings.queues);
    this.#scale = new Scale(minSlots, maxSlots);
    this.#poll = new Loop({ clock, turn: () => this.#look(), onError: () => pollMs });
    this.#exchanger = new Exchanger({ leases, clock, random, inFlight, leaseMs, onTrouble, host: this.#exchangeHost() });
    this.#renewer = env.renewer({
      leaseMs,
      onTrouble,
      entry: () => this.#card.entry(this.state, this.slots, this.#crew),
      onGone: (gone) => this.#crew.gone(gone),
    });
    this.#crew = new Crew({
      clock,
      leases,
      getJob: (id) => client.get(id),
      renewer: this.#renewer,
      handlers,
      leaseMs,
      settleMs,
      slots: () => this.slots,
      onTrouble,
      report: (report, mayWait) => this.#report(report, mayWait),
      freed: () => this.#freed(),
    });
  }

  start(): void {
    this.#unwatch = this.#leases.watch((hint) => {
      if (hint.topic === "lease") this.#beatSoon();
      else if (this.#serves(hint.queue)) this.#wake();
    });
    this.#poll.start();
  }

  get id(): string {
    return this.#card.id;
  }

  get state(): WorkerHandle["state"] {
    if (this.#isStopped) return "stopped";
    if (this.#shutdown !== null) return "stopping";
    return this.running > 0 ? "busy" : "idle";
  }

  get slots(): number {
    return this.#scale.slots;
  }

  get running(): number {
    return this.#crew.running.size;
  }

  get abandoned(): number {
    return this.#crew.abandoned;
  }

  get healthy(): boolean {
    return this.#exchanger.healthy && !this.#crew.isOverrun && !this.#hasTooManyUnreported;
  }

  // ── Work ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #exchangeHost(): ConstructorParameters<typeof Exchanger>[0]["host"] {
    return {
      claim: (reporting, occupied, lanes) => this.#claim(reporting, occupied, lanes),
      answered: (reports, claim, jobs) => this.#answered(reports, claim, jobs),
      givenUp: (reports) => this.#renewer.drop(reports),
      closed: () => void this.stop({ grace: 0 }).catch(() => {}),
      allReported: () => this.#drainedIfSo(),
    };
  }

  #serves(queue: string): boolean {
    const { queues } = this.#settings;
    return queues.has(queue) || queues.has(kindOfQueue(queue));
  }

  #wake(): void {
    this.#hungry = true;
    this.#exchanger.flushSoon();
  }

  /** At every poll, jittered: a hint may have been lost, and slots may have become too many. */
  #look(): number {
    const now = this.#clock.monotonic();
    this.#scale.look(this.running, now);
    this.#crew.tellIfOverrun();
    this.#tellIfTooManyUnreported();
    if (now - this.#claimedAt >= this.#pollMs / 2) this.#wake();
    return Math.min(this.#pollMs * (0.75 + this.#random() / 2), this.#scale.lookAgainMs);
  }

  /** Ended attempts without a slot that have not been reported yet. */
  get #unreported(): number {
    return this.#exchanger.delayed + this.#crew.leaving;
  }

  get #hasTooManyUnreported(): boolean {
    return this.#unreported >= Math.max(MOST_DELAYED, this.slots);
  }

  /** Says once that nothing is claimed, and once that claims go on. */
  #tellIfTooManyUnreported(): void {
    const told = this.#toldUnreported;
    this.#toldUnreported = this.#hasTooManyUnreported;
    if (told === this.#toldUnreported) return;
    const message = told
      ? `a worker claims jobs again: ${this.#unreported} outcomes are left to report`
      : `a worker stopped claiming: ${this.#unreported} outcomes could not be reported yet. Do transactions that called ctx.complete stay open?`;
    this.#onTrouble({ kind: "report", message });
  }

  /** Whatever is reported, the slots that it frees are claimed for in the same round trip; without a report, only when hungry. */
  #claim(reporting: boolean, occupied: number, lanes: number): Omit<ClaimRequest, "turn" | "again"> | null {
    const free = this.slots - this.running - occupied;
    if (free <= 0 || this.#shutdown !== null || !(this.#hungry || reporting)) return null;
    if (this.#crew.isOverrun || this.#hasTooManyUnreported) return null;
    this.#hungry = false;
    this.#claimedAt = this.#clock.monotonic();
    return {
      workerId: this.id,
      queues: this.#turns.next(),
      types: this.#handlers.types,
      limit: Math.min(Math.ceil(free / lanes), MAX_EXCHANGE),
      leaseMs: this.#settings.leaseMs,
    };
  }

  #answered(reports: readonly Report[], claim: ClaimRequest | null, jobs: readonly LeasedJob[]): void {
    this.#card.ended(reports.length);
    if (reports.length > 0) this.#renewer.drop(reports);
    if (claim === null) return;
    if (jobs.length > 0) this.#take(jobs, claim.limit);
    const isFull = jobs.length >= claim.limit;
    this.#scale.claimed(isFull, this.running, this.#clock.monotonic());
    if (isFull) this.#hungry = true;
  }

  /**
   * Gives back what was on its way when the worker was stopped, and what is more than was asked for: a claim that reached the store after its
   * own repeat brings the jobs of both.
   */
  #take(jobs: readonly LeasedJob[], limit: number): void {
    const most = this.#shutdown === null ? limit : 0;
    this.#crew.take(jobs.length <= most ? jobs : jobs.slice(0, most));
    for (const { job, fence, facts } of jobs.slice(most))
      this.#exchanger.report({ id: job.id, fence, facts, outcome: { kind: "release" } });
  }

  #report(report: Report, mayWait: boolean): void {
    const isClaimedFor = this.#exchanger.report(report, mayWait);
    if (!isClaimedFor) this.#wake();
  }

  #freed(): void {
    this.#wake();
    this.#drainedIfSo();
  }

  /** Not inside the hint itself: what else is cancelled in this tick belongs to the same beat. */
  #beatSoon(): void {
    if (this.running === 0) return;
    this.#hintedBeat ??= this.#clock.setTimer(
      () => {
        this.#hintedBeat = null;
        this.#hintedBeatAt = this.#clock.monotonic();
        void this.#renewer.beatNow();
      },
      Math.max(0, this.#hintedBeatAt + HINTED_BEAT_MS - this.#clock.monotonic()),
    );
  }

  // ── Stop ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async stop(options: { readonly grace?: Duration | undefined } = {}): Promise<void> {
    const { grace } = readFields(options, "the options of stop", ["grace"]);
    const graceMs = grace === undefined ? this.#settings.graceMs : readGrace(grace);
    if (this.#shutdown === null) {
      const steps = {
        abort: () => this.#crew.forEach((attempt) => attempt.abort("shutdown")),
        giveUp: () => this.#crew.forEach((attempt) => attempt.giveUp()),
      };
      const hasGrace = graceMs > 0 && this.running > 0;
      this.#shutdown = new Shutdown(this.#clock, steps, hasGrace ? LAST_WORDS_MS : this.#lastWordsMs());
      this.#stopped = this.#stop(this.#shutdown);
    }
    this.#shutdown.endAfter(graceMs);
    await this.#stopped;
  }

  async #stop(shutdown: Shutdown): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    this.#unwatch();
    void this.#poll.stop();
    void this.#renewer.beatNow();
    this.#drainedIfSo();
    const isOutOfTime = shutdown.outOfTime.then(() => true);
    await Promise.race([drained, isOutOfTime]);
    const unreported = this.#exchanger.stop() + this.#crew.leaving;
    this.#crew.stop();
    this.#hintedBeat?.cancel();
    // The grace was for handlers and their outcomes.
    shutdown.endAfter(0);
    const isLate = await Promise.race([this.#checkOut().then(() => false), isOutOfTime]);
    shutdown.stop();
    this.#isStopped = true;
    this.#onStopped(isLate);
    if (unreported > 0) throw notReported(unreported);
  }

  /**
   * Nothing runs and all is said. An exchange under way counts: it may bring jobs that must be given back. But if there is nothing else to wait
   * for, the grace has no use, and a store that does not answer is waited for as long as after its end.
   */
  #drainedIfSo(): void {
    if (this.running > 0 || this.#crew.leaving > 0) return;
    if (this.#exchanger.isIdle) this.#drained();
    else if (!this.#exchanger.hasReports) this.#shutdown?.endAfter(0);
  }

  /** Takes the worker out of the registry. If the store is away, its entry runs out by itself. */
  async #checkOut(): Promise<void> {
    try {
      await this.#renewer.stop();
      await this.#leases.unregister(this.id);
    } catch {
      // Nobody is left to try again.
    }
  }
}

function notReported(count: number): MillraceError {
  const jobs = count === 1 ? "1 job" : `${count} jobs`;
  const why = "the store did not answer. What was not reported counts as lost when its lease runs out";
  return new MillraceError("store_unavailable", `the outcome of ${jobs} could not be reported before the end: ${why}`);
}
