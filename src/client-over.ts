/** STORE -> CLIENT. Here the rooms of the house are joined: a store, the client over it, workers, and upkeep. */
import type { Announcer } from "./client/announcer.ts";
import type { Client } from "./client/client.ts";
import { createLocalClient, type LocalEnvironment } from "./client/local-client.ts";
import { MillraceError } from "./core/errors.ts";
import type { LostLease } from "./core/lease.ts";
import type { OnTrouble } from "./core/trouble.ts";
import { DEFAULT_DEADLINE_MS } from "./core/work-limits.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { Store } from "./store/store.ts";
import type { RestsMs } from "./upkeep/duty.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";
import { outgoingChecks } from "./webhook/outgoing-checks.ts";
import { beatDeadlineMs } from "./worker/renewal/beat-times.ts";
import { localRenewer, type Renewer, type RenewerFactory } from "./worker/renewal/heartbeat.ts";
import { ThreadRenewer, type ThreadRenewerOptions } from "./worker/renewal/thread-renewer.ts";
import { warn } from "./worker/trouble.ts";
import { startWorker, type WorkerClient } from "./worker/worker.ts";

/** Beside its options: what a client is joined with here, and what only tests set. */
export interface ClientOverOptions extends Omit<LocalEnvironment, "deadlineMs" | "startWorker" | "startUpkeep" | "releaseWorkers"> {
  /** Given where the store can be opened a second time: leases are then renewed from a thread. */
  readonly url?: string | undefined;
  /** How long a call may wait for the store. Default 10 s. */
  readonly deadlineMs?: number | undefined;
  /** Told of leases that this process took from their holders. */
  readonly onLost?: ((lost: readonly LostLease[]) => void) | undefined;
  /** How long upkeep and idle workers rest at most, where that shall differ from the usual. */
  readonly restsMs?: Partial<RestsMs> | undefined;
  readonly pollMs?: number | undefined;
}

/** A client over an open store, with workers and upkeep in this process. */
export function clientOver(store: Store, options: ClientOverOptions): Client {
  const { clock, random, fillRandom, deadlineMs = DEFAULT_DEADLINE_MS, restsMs } = options;
  const onTrouble = options.onTrouble ?? warn;
  const renewers = new Set<Renewer>();
  const threads = new Map<number, ThreadRenewer>();

  /**
   * A thread with its own connection keeps the leases of a process whose loop is blocked. A store in this process can have none; and a
   * thread cannot go by a clock of the caller's own, which may differ from the system's.
   */
  function renewerFor({ leases }: WorkerClient): RenewerFactory {
    const { url } = options;
    if (url === undefined || !store.shareable || clock !== systemClock) return localRenewer(leases, clock);
    return (renewerOptions) => threadFor(renewerOptions.leaseMs, { url, deadlineMs, leases, clock }).forWorker(renewerOptions);
  }

  /** One for all workers with leases of this length, which says how long its calls may wait; nearly always there is but one length. */
  function threadFor(leaseMs: number, threadOptions: ThreadRenewerOptions): ThreadRenewer {
    let thread = threads.get(leaseMs);
    if (thread === undefined) {
      thread = new ThreadRenewer({ ...threadOptions, deadlineMs: Math.min(deadlineMs, beatDeadlineMs(leaseMs)) });
      threads.set(leaseMs, thread);
    }
    return thread;
  }

  return createLocalClient(store, {
    ...options,
    deadlineMs,
    onTrouble,
    ...outgoingChecks(options.webhookAllow),
    releaseWorkers: async () => void (await Promise.all(Array.from(threads.values(), (thread) => thread.close()))),
    startWorker: (client, handlers, workOptions, ending) =>
      startWorker(client, handlers, workOptions, {
        clock,
        random,
        fillRandom,
        inFlight: store.inFlight,
        pollMs: options.pollMs,
        renewer: listed(renewers, renewerFor(client)),
        onTrouble,
        ...ending,
      }),
    startUpkeep: (announcer: Announcer): Upkeep =>
      startUpkeep(store, {
        clock,
        random,
        announce: announcer,
        restsMs,
        onLost: options.onLost,
        metricsRetentionDays: options.metricsRetentionDays,
        beforeReclaim: async () => void (await Promise.all([...renewers].map((renewer) => renewer.beatNow()))),
        onTrouble: upkeepTrouble(clock, onTrouble),
      }),
  });
}

/** Keeps a list of the renewers that beat, so that upkeep can ask them for a beat before it takes a lease of this process for lost. */
function listed(renewers: Set<Renewer>, make: RenewerFactory): RenewerFactory {
  return (options) => {
    const renewer = make({ ...options, onStopped: () => renewers.delete(renewer) });
    renewers.add(renewer);
    return renewer;
  };
}

const TELL_AGAIN_MS = 60_000;

/** A store that is away fails every duty every second: once a minute is enough to know. */
function upkeepTrouble(clock: Clock, onTrouble: OnTrouble): (duty: string, error: unknown) => void {
  const toldAt = new Map<string, number>();
  return (duty, error) => {
    if (error instanceof MillraceError && error.code === "closed") return;
    const now = clock.monotonic();
    if (now - (toldAt.get(duty) ?? -Infinity) < TELL_AGAIN_MS) return;
    toldAt.set(duty, now);
    const reason = error instanceof Error ? error.message : String(error);
    onTrouble({ kind: "upkeep", message: `upkeep could not ${duty} and keeps trying: ${reason}`, error });
  };
}
