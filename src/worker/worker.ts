/**
 * A WORKER: free slots -> claim -> run -> sleep until woken or due.
 *
 *   idle, busy ─→ stopping ─→ stopped
 *
 * The way of a job, one file after the other:
 *
 *   worker.ts     a hint, or once a second a look because hints may be lost, wakes the exchanger
 *   exchanger.ts  claims for the free slots, with the same call that reports what ended
 *   attempts.ts   runs what was claimed and keeps the leases
 *   attempt.ts    calls the handler and makes an outcome of what it did
 *   attempts.ts   writes what was logged, frees the slot
 *   exchanger.ts  reports the outcome, and claims for the slot that it freed
 */
import type { Client, Handlers, Leases, WorkerHandle, WorkOptions } from "../client/client.ts";
import { counted } from "../core/counted.ts";
import type { Duration } from "../core/duration.ts";
import { MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { AFTER_GRACE_MS, readGrace } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
import type { Attempts } from "./attempts.ts";
import { Exchanger } from "./exchanger.ts";
import { type HandlerTable, readHandlers } from "./handlers.ts";
import type { Renewer, RenewerFactory } from "./renewal/heartbeat.ts";
import { readWorkOptions, type WorkSettings } from "./options.ts";
import { Shutdown } from "./shutdown.ts";
import { guarded, warn } from "./trouble.ts";
import { WorkerCard } from "./worker-card.ts";

const POLL_MS = 1000;
/** Hints about leases make beats come sooner, but not more often than this. */
const HINTED_BEAT_MS = 50;

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
  /** How long the store may take to answer a worker that stops now and has nothing else to wait for. Default 1 s. */
  readonly afterGraceMs?: () => number;
  /** Told once, when the worker has stopped, whoever stopped it. `isOutOfTime`: the store did not answer in time. */
  readonly onStopped?: (isOutOfTime: boolean) => void;
}

/** What a worker asks of its client. */
export type WorkerClient = Pick<Client, "leases" | "get">;

/** Starts a worker. Throws `invalid_input` and starts nothing when handlers or options are wrong. */
export function startWorker(client: WorkerClient, handlers: Handlers, options: WorkOptions | undefined, env: WorkerEnv): WorkerHandle {
  const worker = new JobWorker(client, readHandlers(handlers), readWorkOptions(options), env);
  worker.start();
  // The handle shows what a user may do, and nothing of the parts.
  return {
    id: worker.card.id,
    stop: (stopOptions) => worker.stop(stopOptions),
    get state() {
      return worker.state;
    },
    get slots() {
      return worker.exchanger.slots;
    },
    get running() {
      return worker.attempts.running.size;
    },
    get abandoned() {
      return worker.attempts.abandoned;
    },
    get healthy() {
      return worker.exchanger.healthy;
    },
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

class JobWorker {
  readonly card: WorkerCard;
  readonly exchanger: Exchanger;
  readonly attempts: Attempts;
  readonly #env: WorkerEnv;
  readonly #leases: Leases;
  readonly #settings: WorkSettings;
  readonly #renewer: Renewer;
  readonly #poll: Loop;
  #hintedBeat: Timer | null = null;
  #hintedBeatAt = -Infinity;
  #unwatch: () => void = () => {};
  #shutdown: Shutdown | null = null;
  #stopped: Promise<void> | null = null;
  #isStopped = false;

  constructor(client: WorkerClient, handlers: HandlerTable, settings: WorkSettings, env: WorkerEnv) {
    const { clock, random = Math.random, inFlight = 1, pollMs = POLL_MS } = env;
    const onTrouble = guarded(env.onTrouble ?? warn, clock);
    this.#env = env;
    this.#leases = client.leases;
    this.#settings = settings;
    this.card = new WorkerCard(clock, [...settings.queues.keys()], handlers.types, env.fillRandom);
    this.#renewer = env.renewer({
      leaseMs: settings.leaseMs,
      onTrouble,
      entry: () => this.card.entry(this.state, this.exchanger.slots, this.attempts),
      onGone: (gone) => this.attempts.gone(gone),
    });
    this.exchanger = new Exchanger({
      clock,
      random,
      leases: client.leases,
      getJob: (id) => client.get(id),
      renewer: this.#renewer,
      handlers,
      settings,
      inFlight,
      card: this.card,
      onTrouble,
      onClosed: () => void this.stop({ grace: 0 }).catch(() => {}),
    });
    this.attempts = this.exchanger.attempts;
    // Jittered, so that the polls of many workers spread.
    const look = (): number => Math.min(pollMs * (0.75 + random() / 2), this.exchanger.look(pollMs));
    this.#poll = new Loop({ clock, turn: look, onError: () => pollMs });
  }

  get state(): WorkerHandle["state"] {
    if (this.#isStopped) return "stopped";
    if (this.#shutdown !== null) return "stopping";
    return this.attempts.running.size > 0 ? "busy" : "idle";
  }

  start(): void {
    this.#unwatch = this.#leases.watch((hint) => {
      if (hint.topic === "lease") this.#beatSoon();
      else if (this.#serves(hint.queue)) this.exchanger.wake();
    });
    this.#poll.start();
  }

  #serves(queue: string): boolean {
    const { queues } = this.#settings;
    return queues.has(queue) || queues.has(kindOfQueue(queue));
  }

  /** Not inside the hint itself: what else is cancelled in this tick belongs to the same beat. */
  #beatSoon(): void {
    const { clock } = this.#env;
    if (this.attempts.running.size === 0) return;
    this.#hintedBeat ??= clock.setTimer(
      () => {
        this.#hintedBeat = null;
        this.#hintedBeatAt = clock.monotonic();
        void this.#renewer.beatNow();
      },
      Math.max(0, this.#hintedBeatAt + HINTED_BEAT_MS - clock.monotonic()),
    );
  }

  async stop(options: { readonly grace?: Duration | undefined } = {}): Promise<void> {
    const { grace } = readFields(options, "the options of stop", ["grace"]);
    const graceMs = grace === undefined ? this.#settings.graceMs : readGrace(grace);
    if (this.#shutdown === null) {
      const hasGrace = graceMs > 0 && this.attempts.running.size > 0;
      const afterGraceMs = hasGrace ? AFTER_GRACE_MS : this.#env.afterGraceMs?.();
      this.#shutdown = new Shutdown(this.#env.clock, this.attempts, afterGraceMs);
      this.#stopped = this.#stop(this.#shutdown);
    }
    this.#shutdown.endAfter(graceMs);
    await this.#stopped;
  }

  async #stop(shutdown: Shutdown): Promise<void> {
    this.#unwatch();
    void this.#poll.stop();
    void this.#renewer.beatNow();
    // When only the answer to a claim is left to wait for, the grace has no use.
    const drained = this.exchanger.drain(() => shutdown.endAfter(0));
    const isOutOfTime = shutdown.outOfTime.then(() => true);
    await Promise.race([drained, isOutOfTime]);
    const unreported = this.exchanger.stop();
    this.attempts.stop();
    this.#hintedBeat?.cancel();
    // The grace was for handlers and their outcomes.
    shutdown.endAfter(0);
    const isLate = await Promise.race([this.#checkOut().then(() => false), isOutOfTime]);
    shutdown.stop();
    this.#isStopped = true;
    this.#env.onStopped?.(isLate);
    if (unreported > 0) throw notReported(unreported);
  }

  /** Takes the worker out of the registry. If the store is away, its entry runs out by itself. */
  async #checkOut(): Promise<void> {
    try {
      await this.#renewer.stop();
      await this.#leases.unregister(this.card.id);
    } catch {
      // Nobody is left to try again.
    }
  }
}

function notReported(count: number): MillraceError {
  const why = "the store did not answer. What was not reported counts as lost when its lease runs out";
  return new MillraceError("store_unavailable", `the outcome of ${counted(count, "job")} could not be reported before the end: ${why}`);
}
