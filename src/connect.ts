/** URL -> Client. Here the rooms of the house are joined: a store, the client over it, workers, and upkeep. */
import type { Announcer } from "./client/announcer.ts";
import type { Client } from "./client/client.ts";
import { createLocalClient } from "./client/local-client.ts";
import { readOptions } from "./client/refusals.ts";
import { type Duration, MAX_DELAY_MS, parseDuration } from "./core/duration.ts";
import { invalid, MillraceError } from "./core/errors.ts";
import type { JobOptions } from "./core/job.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { ThreadRenewer } from "./thread-renewer.ts";
import type { Rhythm } from "./upkeep/duty.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";
import { localRenewer, type Renewer, type RenewerFactory } from "./worker/heartbeat.ts";
import { type Trouble as WorkerTrouble, warn } from "./worker/trouble.ts";
import { startWorker } from "./worker/worker.ts";

/** Something that a person should know and that no call can tell: `message` is one line, with what to do. */
export interface Trouble {
  readonly kind: WorkerTrouble["kind"] | "upkeep";
  readonly message: string;
  readonly error?: unknown;
}

/** What connect can be told. */
export interface ConnectOptions {
  /** What holds for jobs of which neither the call nor the definition says anything. */
  readonly defaults?: JobOptions;
  /** Refuse types that no definition used here and no live worker knows. Default false. */
  readonly strictTypes?: boolean;
  /** Where time comes from. Default: the system's clock. */
  readonly clock?: Clock;
  /** How long a call may wait for the store before it fails with `store_unavailable`. Default 10 s. */
  readonly deadline?: Duration;
  /** Told what a person should know. Default: a line on the console. */
  readonly onTrouble?: (trouble: Trouble) => void;
}

/** The store that is meant when nothing is said. */
const DEFAULT_URL = "sqlite:millrace.db";

/** Opens a store and gives the client over it: `memory:` or `sqlite:path.db`. */
export async function connect(url: string = DEFAULT_URL, options: ConnectOptions = {}): Promise<Client> {
  readOptions(options, "the options of connect", ["defaults", "strictTypes", "clock", "deadline", "onTrouble"]);
  if (typeof url !== "string") throw invalid("url", "a text such as sqlite:app.db or memory:", url);
  if (/^https?:/i.test(url))
    throw new MillraceError("invalid_input", "url is that of a server, and this version has no remote client yet", { field: "url" });
  const clock = options.clock ?? systemClock;
  const store = await openStore(url, { clock, deadlineMs: readDeadline(options.deadline) });
  const { defaults, strictTypes, onTrouble } = options;
  try {
    return clientOver(store, { url, clock, random: Math.random, defaults, strictTypes, onTrouble });
  } catch (error) {
    await store.close();
    throw error;
  }
}

export interface ClientOverOptions {
  /** Given where the store can be opened a second time: leases are then renewed from a thread. */
  readonly url?: string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly defaults?: JobOptions | undefined;
  readonly strictTypes?: boolean | undefined;
  readonly onTrouble?: ((trouble: Trouble) => void) | undefined;
  readonly alwaysUpkeep?: boolean | undefined;
  /** How long upkeep and idle workers rest at most, where that shall differ from the usual. */
  readonly rhythm?: Partial<Rhythm> | undefined;
  readonly pollMs?: number | undefined;
}

/** A client over an open store, with workers and upkeep in this process. */
export function clientOver(store: Store, options: ClientOverOptions): Client {
  const { clock, random, defaults, strictTypes, alwaysUpkeep, rhythm } = options;
  const onTrouble = options.onTrouble ?? ((trouble: Trouble) => warn(trouble as WorkerTrouble));
  const renewers = new Set<Renewer>();
  let thread: ThreadRenewer | null = null;

  /** A thread with its own connection keeps the leases of a process whose loop is blocked; a store in this process can have none. */
  function renewerFor(client: Client): RenewerFactory {
    const { url } = options;
    if (url === undefined || !store.shareable) return localRenewer(client.leases, clock);
    thread ??= new ThreadRenewer({ url, leases: client.leases, clock });
    return thread.forWorker;
  }

  return createLocalClient(store, {
    clock,
    random,
    defaults,
    strictTypes,
    alwaysUpkeep,
    releaseWorkers: async () => thread?.close(),
    startWorker: (client, handlers, workOptions) =>
      startWorker(client, handlers, workOptions, {
        clock,
        random,
        inFlight: store.inFlight,
        pollMs: options.pollMs,
        renewer: remembered(renewers, renewerFor(client)),
        onTrouble,
      }),
    startUpkeep: (announcer: Announcer): Upkeep =>
      startUpkeep(store, {
        clock,
        random,
        announce: announcer,
        rhythm,
        beforeReclaim: async () => void (await Promise.all([...renewers].map((renewer) => renewer.beatNow()))),
        onTrouble: upkeepTrouble(clock, onTrouble),
      }),
  });
}

/** Keeps the renewers that beat, so that upkeep can ask them for a beat before it takes a lease of this process for lost. */
function remembered(renewers: Set<Renewer>, make: RenewerFactory): RenewerFactory {
  return (options) => {
    const renewer = make(options);
    const stop = renewer.stop.bind(renewer);
    renewer.stop = () => {
      renewers.delete(renewer);
      return stop();
    };
    renewers.add(renewer);
    return renewer;
  };
}

const TELL_AGAIN_MS = 60_000;

/** A store that is away fails every duty every second: once a minute is enough to know. */
function upkeepTrouble(clock: Clock, onTrouble: (trouble: Trouble) => void): (duty: string, error: unknown) => void {
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

function readDeadline(deadline: unknown): number | undefined {
  if (deadline === undefined) return undefined;
  const ms = parseDuration(deadline);
  if (ms === null || ms === 0 || ms > MAX_DELAY_MS) throw invalid("deadline", 'a time in milliseconds or as "10s"', deadline);
  return ms;
}
