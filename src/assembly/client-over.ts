/** STORE -> CLIENT: joins a store, its client, workers and upkeep. */
import type { Announcer } from "../client/announcer.ts";
import type { Client, Handlers, PlainClient, WorkerClient } from "../client/client.ts";
import { typesOf } from "../client/handler-types.ts";
import { ClientHooks } from "../client/hooks.ts";
import { ClientMetrics } from "./client-metrics.ts";
import { createLocalClient, type LocalEnvironment } from "../client/local-client.ts";
import { BULK_TYPE } from "../core/bulk.ts";
import { WEBHOOK_TYPE } from "../core/delivery.ts";
import { messageOf, MillraceError } from "../core/errors.ts";
import { HTTP_REQUEST_TYPE } from "../core/internal.ts";
import type { LostLease } from "../core/lease.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { DEFAULT_DEADLINE_MS } from "../core/work-limits.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";
import type { RestsMs } from "../upkeep/duty.ts";
import { startUpkeep, type Upkeep } from "../upkeep/upkeep.ts";
import { outgoingChecks } from "../webhook/outgoing-checks.ts";
import { beatDeadlineMs } from "../worker/renewal/beat-times.ts";
import { localRenewer, type Renewer, type RenewerFactory } from "../worker/renewal/heartbeat.ts";
import { ThreadRenewer, type ThreadRenewerOptions } from "../worker/renewal/thread-renewer.ts";
import { guarded, warn } from "../worker/trouble.ts";
import { startWorker } from "../worker/worker.ts";

/** Options of the client, what it is joined with here, and what only tests set. */
export interface ClientOverOptions extends Omit<LocalEnvironment, "deadlineMs" | "startWorker" | "startUpkeep" | "releaseWorkers"> {
  /** Set if the store can be opened a second time: then a thread renews leases. */
  readonly url?: string | undefined;
  /** How long a call may wait for the store. Default 10 s. */
  readonly deadlineMs?: number | undefined;
  /** Report each job that failed for good as a trouble, because nobody else logs it. */
  readonly tellsDead?: boolean | undefined;
  /** What counts for `metrics`, if it already counts for the store. */
  readonly metrics?: ClientMetrics | undefined;
  /** Called with leases that this process found lost. */
  readonly onLost?: ((lost: readonly LostLease[]) => void) | undefined;
  /** The longest rests of upkeep and idle workers, if they should differ from the defaults. */
  readonly restsMs?: Partial<RestsMs> | undefined;
  readonly pollMs?: number | undefined;
  /** The least time between turns of upkeep caused by hints. */
  readonly hintsApartMs?: number | undefined;
}

/** A client over an open store, with workers and upkeep in this process. */
export function clientOver(store: Store, options: ClientOverOptions): Client {
  const { clock, random, fillRandom, deadlineMs = DEFAULT_DEADLINE_MS, restsMs } = options;
  const metrics = options.metrics ?? new ClientMetrics();
  const onTrouble = metrics.countTroubles(options.onTrouble ?? warn);
  const hooks = new ClientHooks({ onTrouble: guarded(onTrouble, clock), tellsDead: options.tellsDead === true });
  const workerIds = new Set<string>();
  const renewers = new Set<Renewer>();
  const threads = new Map<number, ThreadRenewer>();

  /**
   * A thread with its own connection keeps leases alive while the event loop is blocked. This is not possible for a store in this process, nor
   * with a clock other than the system's, because a thread cannot use it.
   */
  function renewerFor({ leases }: WorkerClient): RenewerFactory {
    const { url } = options;
    if (url === undefined || !store.shareable || clock !== systemClock) return localRenewer(leases, clock);
    return (renewerOptions) => threadFor(renewerOptions.leaseMs, { url, deadlineMs, leases, clock }).forWorker(renewerOptions);
  }

  /** One thread for all workers with the same lease, which decides how long its calls may wait. Usually there is only one. */
  function threadFor(leaseMs: number, threadOptions: ThreadRenewerOptions): ThreadRenewer {
    let thread = threads.get(leaseMs);
    if (thread === undefined) {
      thread = new ThreadRenewer({ ...threadOptions, deadlineMs: Math.min(deadlineMs, beatDeadlineMs(leaseMs)) });
      threads.set(leaseMs, thread);
    }
    return thread;
  }

  function onLost(lost: readonly LostLease[]): void {
    options.onLost?.(lost);
    void hooks.found(lost, client.get, (workerId) => workerIds.has(workerId));
  }

  const client: PlainClient = createLocalClient(store, {
    ...options,
    deadlineMs,
    onTrouble,
    ...outgoingChecks(options.webhookAllow),
    releaseWorkers: async () => void (await Promise.all(Array.from(threads.values(), (thread) => thread.close()))),
    startWorker: (workerClient, handlers, workOptions, ending) => {
      const worker = startWorker(workerClient, handlers, workOptions, {
        clock,
        random,
        fillRandom,
        inFlight: store.inFlight,
        pollMs: options.pollMs,
        renewer: listed(renewers, renewerFor(workerClient)),
        onTrouble: namingWorker(handlers, onTrouble),
        hooks,
        ...ending,
      });
      workerIds.add(worker.id);
      worker.on("stopped", () => workerIds.delete(worker.id));
      return worker;
    },
    startUpkeep: (announcer: Announcer): Upkeep =>
      startUpkeep(store, {
        clock,
        random,
        announce: announcer,
        restsMs,
        hintsApartMs: options.hintsApartMs,
        onLost,
        metricsRetentionDays: options.metricsRetentionDays,
        beforeReclaim: async () => void (await Promise.all([...renewers].map((renewer) => renewer.beatNow()))),
        onTrouble: upkeepTrouble(clock, onTrouble),
      }),
  });
  return hooks.join(client, options.defaults, metrics);
}

/** Lists the active renewers, so that upkeep can ask them to renew before it treats a lease of this process as lost. */
function listed(renewers: Set<Renewer>, make: RenewerFactory): RenewerFactory {
  return (options) => {
    const renewer = make({ ...options, onStopped: () => renewers.delete(renewer) });
    renewers.add(renewer);
    return renewer;
  };
}

const WARN_AGAIN_MS = 60_000;

/** With an unreachable store every duty fails every second: once a minute is enough, and one line for a cause that duties share. */
function upkeepTrouble(clock: Clock, onTrouble: OnTrouble): (duty: string, error: unknown) => void {
  let told: readonly { readonly duty: string; readonly why: string; readonly at: number }[] = [];
  return (duty, error) => {
    if (error instanceof MillraceError && error.code === "closed") return;
    const now = clock.monotonic();
    const why = messageOf(error);
    told = told.filter(({ at }) => now - at < WARN_AGAIN_MS);
    if (told.some((each) => each.duty === duty || each.why === why)) return;
    told = [...told, { duty, why, at: now }];
    const what = error instanceof MillraceError && error.code === "store_unavailable" ? "upkeep" : `the upkeep duty ${duty}`;
    onTrouble({ kind: "upkeep", message: `${what} failed and keeps trying: ${why}`, error });
  };
}

/** Workers that no code of the user started. */
const OWN_WORKERS: ReadonlyMap<string, string> = new Map([
  [WEBHOOK_TYPE, "webhooks"],
  [HTTP_REQUEST_TYPE, HTTP_REQUEST_TYPE],
  [BULK_TYPE, "bulk operations"],
]);

/** Says whose worker has a trouble, if it is one of ours: who started none would look for it in vain. */
function namingWorker(handlers: Handlers, onTrouble: OnTrouble): OnTrouble {
  return (trouble) => {
    // Not before there is a trouble: by then the worker has refused handlers that are none.
    const [type = "", ...others] = typesOf(handlers);
    const work = others.length === 0 ? OWN_WORKERS.get(type) : undefined;
    onTrouble(work === undefined ? trouble : { ...trouble, message: trouble.message.replace(/^a worker /, `the worker for ${work} `) });
  };
}
