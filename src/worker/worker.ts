/**
 * A WORKER: free slots -> claim -> run -> sleep until woken or due.
 *
 *   idle, busy ─→ stopping ─→ stopped
 *
 * The path of a job through the files:
 *
 *   worker.ts     is woken by a hint, or by a poll once a second because hints may be lost, and wakes the exchanger
 *   exchanger.ts  claims for the free slots and a little ahead, in the same call that reports ended attempts
 *   stock.ts      keeps what was claimed ahead, for a short time
 *   attempts.ts   runs the claimed jobs and renews their leases
 *   attempt.ts    calls the handler and makes an outcome of its result
 *   attempts.ts   writes log lines, frees the slot
 *   exchanger.ts  reports the outcome, and claims for the free slot
 */
import type { Handlers, Hooks, Leases, WorkerClient, WorkerHandle, WorkOptions } from "../client/client.ts";
import { counted } from "../core/counted.ts";
import type { Duration } from "../core/duration.ts";
import { MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { AFTER_GRACE_MS, LAST_CALLS_MS, readGrace } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
import { AttemptEvents } from "./attempt-events.ts";
import type { Attempts } from "./attempts.ts";
import { Exchanger } from "./exchanger.ts";
import { type HandlerTable, readHandlers } from "./handlers.ts";
import type { Renewer, RenewerFactory } from "./renewal/heartbeat.ts";
import { schemaPublisher } from "./publish-schemas.ts";
import { readWorkOptions, type WorkSettings } from "./options.ts";
import { Shutdown } from "./shutdown.ts";
import { guarded, warn } from "./trouble.ts";
import { unservedQueues } from "./unserved-queues.ts";
import { WorkerCard } from "./worker-card.ts";

const POLL_MS = 1000;
/** Hints about leases cause extra beats, but not more often than this. */
const HINTED_BEAT_MS = 50;

export interface WorkerEnv {
  readonly clock: Clock;
  readonly renewer: RenewerFactory;
  /** How many exchanges may be in progress: 1 (the default) if the store runs in this process, 2 if a server works meanwhile. */
  readonly inFlight?: number;
  /** The store is behind a server of ours, so that each exchange is a request. Default false. */
  readonly isRemote?: boolean;
  /** How often an idle worker polls without a hint. Default 1 s. */
  readonly pollMs?: number;
  /** In [0, 1); spreads polls and retries. */
  readonly random?: () => number;
  /** The source of the random bytes in its id. Default: the system. */
  readonly fillRandom?: ((bytes: Uint8Array) => void) | undefined;
  /** Called with what a person should know. Default: a line on the console. */
  readonly onTrouble?: OnTrouble;
  /** Who listens to the jobs of the client. */
  readonly hooks?: Hooks | undefined;
  /** How long the store has just made other workers wait at their end: a worker without a grace period waits only for the rest. Default 0. */
  readonly waitedMs?: () => number;
  /** Called once, when the worker has stopped for any reason. `waitedMs`: how long it waited for the store and for nothing else. */
  readonly onStopped?: (waitedMs: number) => void;
}

/** Starts a worker. Throws `invalid_input` and starts nothing if handlers or options are wrong. */
export function startWorker(client: WorkerClient, handlers: Handlers, options: WorkOptions | undefined, env: WorkerEnv): WorkerHandle {
  const worker = new JobWorker(client, readHandlers(handlers), readWorkOptions(options), env);
  worker.start();
  // The handle has what users may use, and hides the parts.
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
    on: (event, listener) => worker.events.on(event, listener),
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

class JobWorker {
  readonly card: WorkerCard;
  readonly exchanger: Exchanger;
  readonly attempts: Attempts;
  readonly events: AttemptEvents;
  readonly #env: WorkerEnv;
  readonly #leases: Leases;
  readonly #settings: WorkSettings;
  readonly #renewer: Renewer;
  readonly #poll: Loop;
  /** Null if there is nothing to publish. */
  readonly #publishing: Loop | null;
  #hintedBeat: Timer | null = null;
  #hintedBeatAt = -Infinity;
  #unwatch: () => void = () => {};
  #shutdown: Shutdown | null = null;
  #stopped: Promise<void> | null = null;
  #isStopped = false;

  constructor(client: WorkerClient, handlers: HandlerTable, settings: WorkSettings, env: WorkerEnv) {
    const { clock, random = Math.random, inFlight = 1, pollMs = POLL_MS } = env;
    const tellClient = guarded(env.onTrouble ?? warn, clock);
    this.events = new AttemptEvents(env.hooks, tellClient);
    const onTrouble: OnTrouble = (trouble) => {
      tellClient(trouble);
      this.events.tell("trouble", trouble);
    };
    // Not at once: listeners of the worker shall hear it, too.
    queueMicrotask(() => unservedQueues(handlers.queues, [...settings.queues.keys()]).forEach((trouble) => onTrouble(trouble)));
    this.#env = env;
    this.#leases = client.leases;
    this.#settings = settings;
    const { types, schemas } = handlers;
    const served = { queues: [...settings.queues.keys()], types, schemas, version: settings.version };
    this.card = new WorkerCard(clock, served, env.fillRandom);
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
      flows: client.flows,
      renewer: this.#renewer,
      isRemote: env.isRemote === true,
      handlers,
      settings,
      inFlight,
      card: this.card,
      events: this.events,
      onTrouble,
      onClosed: () => void this.stop({ grace: 0 }).catch(() => {}),
    });
    this.attempts = this.exchanger.attempts;
    this.#publishing = schemaPublisher(client.leases, handlers.schemas, clock);
    // With jitter, so that the polls of many workers spread.
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
    this.#publishing?.start();
  }

  #serves(queue: string): boolean {
    const { queues } = this.#settings;
    return queues.has(queue) || queues.has(kindOfQueue(queue));
  }

  /** Not at once: other cancels in this tick belong to the same beat. */
  #beatSoon(): void {
    const { clock } = this.#env;
    if (this.attempts.running.size + this.attempts.stock.size === 0) return;
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
      const storeMs = this.exchanger.hasOutcomes ? AFTER_GRACE_MS : LAST_CALLS_MS;
      const afterGraceMs = hasGrace ? storeMs : Math.max(0, storeMs - (this.#env.waitedMs?.() ?? 0));
      this.#shutdown = new Shutdown(this.#env.clock, this.attempts, afterGraceMs);
      this.events.tell("stopping");
      this.#stopped = this.#stop(this.#shutdown);
    }
    this.#shutdown.endAfter(graceMs);
    await this.#stopped;
  }

  async #stop(shutdown: Shutdown): Promise<void> {
    this.#unwatch();
    void this.#poll.stop();
    void this.#publishing?.stop();
    void this.#renewer.beatNow();
    // If only the answer to a claim is missing, there is no need for the grace period.
    const drained = this.exchanger.drain(() => shutdown.endAfter(0));
    await Promise.race([drained, shutdown.outOfTime]);
    const unreported = this.exchanger.stop();
    this.attempts.stop();
    this.#hintedBeat?.cancel();
    // The grace period was for handlers and their outcomes.
    shutdown.endAfter(0);
    await Promise.race([this.#unregister(), shutdown.outOfTime]);
    shutdown.stop();
    this.#isStopped = true;
    this.#env.onStopped?.(shutdown.waitedMs);
    this.events.tell("stopped");
    if (unreported > 0) throw notReported(unreported);
  }

  /** Removes the worker from the list of workers. If the store is unreachable, its entry expires. */
  async #unregister(): Promise<void> {
    try {
      await this.#renewer.stop();
      await this.#leases.unregister(this.card.id);
    } catch {
      // Nobody is left to try again; the entry expires.
    }
  }
}

function notReported(count: number): MillraceError {
  const why = "the store did not answer in time. These attempts count as lost when their lease runs out";
  return new MillraceError("store_unavailable", `the outcome of ${counted(count, "job")} could not be reported: ${why}`);
}
