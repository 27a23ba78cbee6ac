/** THE CLIENT OVER A STORE. Each method calls one of the files beside; here is what they share, and how the client closes. */
import type { ClientOptions } from "../core/client-options.ts";
import { type Duration, MAX_DELAY_MS } from "../core/duration.ts";
import { orByDefinition } from "../core/job-definition.ts";
import { readJobDefaults } from "../core/job-options.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { readGrace } from "../core/work-limits.ts";
import type { Clock } from "../lib/clock.ts";
import { idMakerOf } from "../lib/id.ts";
import type { Store } from "../store/store.ts";
import { type Announcer, createAnnouncer } from "./announcer.ts";
import {
  type Client,
  type EnqueuedJob,
  type EnqueueOptions,
  type Handlers,
  type JobDefinition,
  type JobInput,
  type Leases,
  MARKS,
  type Marks,
  type PlainClient,
  type WorkerHandle,
  type WorkOptions,
  type WorkerClient,
} from "./client.ts";
import { auditWriter, listAudit } from "./audit.ts";
import { createBulk } from "./bulk.ts";
import { BulkWorker } from "./bulk-worker.ts";
import { bulkHandler } from "./bulk-handler.ts";
import { CloseDeadline } from "./close-deadline.ts";
import { countJobs } from "./count.ts";
import { createDeadLetters } from "./dead.ts";
import { countFacetValues } from "./facet-values.ts";
import { type CheckWebhookUrl, Enqueuer, type PayloadChecks } from "./enqueue.ts";
import { openEvents } from "./events.ts";
import { explainJob } from "./explain.ts";
import { readJobFilter } from "./filter.ts";
import { createFlow, memberAdder } from "./create-flow.ts";
import { createFlows } from "./flows.ts";
import { gatheringFor } from "./gathering.ts";
import { listHandledTypes } from "./handled-types.ts";
import { createLimits } from "./limits.ts";
import { typesOf } from "./handler-types.ts";
import { readHistory, readTypes } from "./history.ts";
import { KnownTypes } from "./known-types.ts";
import { Manager } from "./manage.ts";
import { DeclaredSettings } from "./declared-settings.ts";
import { QueueBounds } from "./queue-bounds.ts";
import { configureQueue, listQueues, readQueueDetails, setPaused } from "./queues.ts";
import { clientClosed, readOptions } from "./refusals.ts";
import { createSchedules } from "./schedules.ts";
import { signalLinks } from "../core/signal-links.ts";
import { listSteps, sendSignal } from "./signals.ts";
import { ServedQueues } from "./served-queues.ts";
import { readStats } from "./stats.ts";
import { readAttention } from "./attention.ts";
import { waitForEnd } from "./wait.ts";
import { createLeases } from "./work.ts";
import { listFormerWorkers, listWorkers } from "./workers.ts";

/** How long to wait before an unreachable store is asked again about a bulk operation. */
const LOOK_AGAIN_MS = 1000;

/** What ends within this time of each other is one end, in which the store has its time once. */
const ONE_END_MS = 5000;

/** The options of the caller, and what the client needs besides. */
export interface LocalEnvironment extends ClientOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** The source of the random bytes in ids. Default: the system. */
  readonly fillRandom?: ((bytes: Uint8Array) => void) | undefined;
  /** Wraps the leases, for figures and logs. */
  readonly watchLeases?: ((leases: Leases) => Leases) | undefined;
  readonly deadlineMs: number;
  readonly payloadChecks?: PayloadChecks | undefined;
  /** Refuses webhook URLs that nothing will be sent to. */
  readonly checkWebhookUrl?: CheckWebhookUrl | undefined;
  readonly startWorker: (client: WorkerClient, handlers: Handlers, options: WorkOptions | undefined, ending: WorkerEnding) => WorkerHandle;
  /** Starts upkeep, which runs until it is stopped. Called with the first worker. */
  readonly startUpkeep: (announcer: Announcer) => { stop(): Promise<void> };
  /** Frees what the workers share; called when all of them have stopped. Must not wait for the store. */
  readonly releaseWorkers?: (() => Promise<void>) | undefined;
  /** Run bulk operations all the time, not only those that began here: this process works for others. */
  readonly worksBulk?: boolean | undefined;
}

/** What a client and its workers tell each other when a worker stops. */
export interface WorkerEnding {
  /** Called once the worker has stopped for any reason. `waitedMs`: how long it waited for the store and for nothing else. */
  readonly onStopped: (waitedMs: number) => void;
  /** How long the store has just made other workers wait at their end. */
  readonly waitedMs: () => number;
}

/** Makes a client that owns the store. */
export function createLocalClient(store: Store, env: LocalEnvironment): PlainClient {
  const { clock, random } = env;
  const now = (): number => clock.now();
  const announcer = createAnnouncer(store, clock);
  const defaults = readJobDefaults(env.defaults, now());
  const knownTypes = env.strictTypes ? new KnownTypes(store, clock) : null;
  const bounds = env.queueCapacity === undefined ? null : boundsOf(store, env.queueCapacity, env.onTrouble);
  const ending = new AbortController();
  const gathering = gatheringFor(store, clock, env.deadlineMs);
  const parts = {
    store,
    clock,
    random,
    announcer,
    actor: env.actor,
    writeAudit: auditWriter(store, env.onTrouble),
    defaults,
    knownTypes,
    bounds,
    gathering,
    declared: new DeclaredSettings(store, clock),
    payloadChecks: env.payloadChecks ?? new Map(),
    checkWebhookUrl: env.checkWebhookUrl ?? (() => {}),
    createId: idMakerOf(clock, env.fillRandom),
    servedQueues: new ServedQueues(store, clock),
    now,
    closing: ending.signal,
  };

  const enqueuer = new Enqueuer(parts);
  const flowMaking = { ...parts, enqueuer };
  const manager = new Manager(parts);
  const workers = new Set<WorkerHandle>();
  let upkeep = env.upkeep ? env.startUpkeep(announcer) : null;
  const closeDeadline = new CloseDeadline(clock);
  /** How long a worker that stopped had waited for the store, and when that was. */
  let lastWait = { ms: 0, at: -Infinity };
  let isClosing = false;
  let closed: Promise<void> | null = null;

  /** Refuses calls once the client is closed. */
  function whileOpen<Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>): (...args: Args) => Promise<Answer> {
    return async (...args) => {
      ending.signal.throwIfAborted();
      return call(...args);
    };
  }

  function enqueue(kind: string | JobDefinition<unknown>, payload?: unknown, options?: EnqueueOptions): Promise<EnqueuedJob> {
    return ending.signal.aborted ? Promise.reject(clientClosed()) : enqueuer.enqueue(kind, payload, options);
  }

  function work(handlers: Handlers, options?: WorkOptions): WorkerHandle {
    if (isClosing) throw clientClosed();
    const worker = env.startWorker({ leases, get, flows }, handlers, options, {
      onStopped: (waitedMs) => workerStopped(worker, waitedMs),
      waitedMs: waitedForStore,
    });
    workers.add(worker);
    for (const type of typesOf(handlers)) knownTypes?.add(type);
    upkeep ??= env.startUpkeep(announcer);
    return worker;
  }

  /** How long the store has just made workers wait at their end. What ends now waits only for the rest of its time. */
  function waitedForStore(): number {
    return clock.monotonic() - lastWait.at < ONE_END_MS ? lastWait.ms : 0;
  }

  /** Upkeep ends with the last worker: its timers must not keep an otherwise idle process alive. */
  function workerStopped(worker: WorkerHandle, waitedMs: number): void {
    workers.delete(worker);
    if (waitedMs >= waitedForStore()) lastWait = { ms: waitedMs, at: clock.monotonic() };
    if (workers.size > 0 || isClosing || env.upkeep) return;
    void upkeep?.stop();
    upkeep = null;
  }

  /** Handlers that finish within the grace period can still call the client; after that, calls are refused. */
  async function shutDown(stopOptions: { readonly grace?: Duration }): Promise<void> {
    const stopped = await Promise.allSettled([...workers].map((worker) => worker.stop(stopOptions)));
    closeDeadline.begin(waitedForStore());
    ending.abort(clientClosed());
    await closeDeadline.waitFor(Promise.all([enqueuer.whenIdle(), manager.whenIdle()]));
    // The grace period was for the user's calls.
    closeDeadline.endAfter(0);
    await Promise.all([closeDeadline.waitFor(upkeep?.stop()), env.releaseWorkers?.()]);
    await closeDeadline.waitFor(announcer.flush());
    try {
      await store.close(closeDeadline.over);
    } finally {
      closeDeadline.stop();
    }
    for (const end of stopped) if (end.status === "rejected") throw end.reason;
  }

  /** A second call with a shorter grace period closes the client sooner. */
  async function close(options?: { readonly grace?: Duration }): Promise<void> {
    const { grace } = readOptions(options, "the options of close", ["grace"]);
    const stopOptions = grace === undefined ? {} : { grace: readGrace(grace) };
    closeDeadline.endAfter(stopOptions.grace);
    if (isClosing && grace !== undefined) for (const worker of workers) void worker.stop(stopOptions).catch(() => {});
    isClosing = true;
    await (closed ??= shutDown(stopOptions));
  }

  const workParts = {
    ...parts,
    enqueuer,
    signalLinks: env.signals === undefined ? null : signalLinks(env.signals, now),
  };
  const plainLeases = createLeases(workParts);
  const leases = guardLeases(env.watchLeases?.(plainLeases) ?? plainLeases, whileOpen, ending.signal);
  const get = whileOpen((id: string) => manager.get(id));

  const flows = guardAll(createFlows({ ...parts, get: (id) => manager.get(id), add: memberAdder(flowMaking) }), whileOpen);
  const bulkWorker = new BulkWorker({
    handler: bulkHandler({ ...parts, leases }),
    work,
    whenEnded: (id) => waitForEnd({ ...parts, get: (job) => manager.get(job) }, id, { timeout: MAX_DELAY_MS }),
    pause: () => new Promise((resolve) => void clock.setTimer(resolve, LOOK_AGAIN_MS)),
  });
  if (env.worksBulk) bulkWorker.keep();

  const client: PlainClient = {
    enqueue: enqueue as Client["enqueue"],
    enqueueMany: whileOpen(async (jobs: readonly JobInput[], options: unknown) =>
      enqueuer.enqueueMany(jobs, readOptions(options, "the options of enqueueMany", ["tx"]).tx),
    ) as Client["enqueueMany"],
    flow: whileOpen((members: unknown, options?: unknown) => createFlow(flowMaking, members, options)),
    flows,
    get: orByDefinition(get),
    list: whileOpen((query) => manager.list(query)),
    count: whileOpen((filter) => countJobs(store, readJobFilter(filter))),
    facets: whileOpen((field, filter) => countFacetValues(store, field, filter)),
    attempts: whileOpen((id) => manager.attempts(id)),
    changes: whileOpen((id) => manager.changes(id)),
    explain: whileOpen((id) => explainJob(store, id)),
    steps: whileOpen((id) => listSteps(store, id)),
    logs: whileOpen((id, page) => manager.logs(id, page)),
    wait: orByDefinition(whileOpen((id, options?: unknown) => waitForEnd({ ...parts, get: (job) => manager.get(job) }, id, options))),
    signal: whileOpen((id, name, payload, options) => sendSignal(parts, id, name, payload, options)),
    cancel: whileOpen((id, options) => manager.cancel(id, options)),
    retry: whileOpen((id, options) => manager.retry(id, options)),
    remove: whileOpen((id, options) => manager.remove(id, options)),
    audit: whileOpen((query) => listAudit(store, query)),
    stats: whileOpen(() => readStats(store)),
    attention: whileOpen(() => readAttention(store)),
    history: whileOpen((query) => readHistory(parts, query)),
    queues: whileOpen((options) => listQueues(store, options)),
    queue: whileOpen((name) => readQueueDetails(store, name)),
    queueTypes: whileOpen((queue, query) => readTypes(parts, queue, query)),
    configure: whileOpen((queue, settings, options) => configureQueue(parts, queue, settings, options)),
    pause: whileOpen((queue, options) => setPaused(parts, queue, true, options)),
    resume: whileOpen((queue, options) => setPaused(parts, queue, false, options)),
    dead: guardAll(createDeadLetters(parts), whileOpen),
    bulk: guardAll(createBulk({ ...parts, workUntilEnd: (id) => bulkWorker.workUntilEnd(id) }), whileOpen),
    schedules: guardAll(createSchedules(parts), whileOpen),
    limits: guardAll(createLimits(parts), whileOpen),
    workers: whileOpen((options) => listWorkers(store, options)),
    types: whileOpen((options) => listHandledTypes(store, options)),
    formerWorkers: whileOpen((options) => listFormerWorkers(store, options)),
    events: (options) => {
      ending.signal.throwIfAborted();
      return openEvents(parts, options);
    },
    work,
    leases,
    close,
    [MARKS]: guardAll(
      { mark: (name, ttlMs) => store.mark(name, ttlMs), marked: (names) => store.marked(names) } satisfies Marks,
      whileOpen,
    ),
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

type Guard = <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) => (...args: Args) => Promise<Answer>;

/** The same verbs, refused once the client is closed. */
function guardAll<Verbs extends object>(verbs: Verbs, guard: Guard): Verbs {
  return Object.fromEntries(Object.entries(verbs).map(([name, call]) => [name, guard(call as Parameters<Guard>[0])])) as Verbs;
}

function guardLeases(leases: Leases, guard: Guard, ending: AbortSignal): Leases {
  return {
    ...guardAll(leases, guard),
    watch: (listener) => {
      ending.throwIfAborted();
      return leases.watch(listener);
    },
  };
}

function boundsOf(store: Store, capacity: number, onTrouble: OnTrouble | undefined): QueueBounds {
  const queues = {
    queues: async () => (await store.queues()).map(({ name, settings }) => ({ name, capacity: settings.capacity })),
    setCapacity: (queue: string, own: number) => store.configure(queue, { capacity: own }),
  };
  return new QueueBounds(capacity, queues, (message) => onTrouble?.({ kind: "setting", message }));
}
