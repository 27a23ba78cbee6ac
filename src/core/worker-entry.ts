import { DAY_MS } from "./time-units.ts";

/** What a worker reports about itself. */
export interface WorkerEntry {
  /** Random for each start, so that a restarted worker has a new id. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly state: "idle" | "busy" | "stopping";
  readonly slots: number;
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly startedAt: number;
  /** The jobs that it runs, at most 100. */
  readonly running: readonly string[];
  readonly runningCount: number;
  /** Attempts ended since it started, and in the last minute. */
  readonly processed: number;
  readonly perMinute: number;
  /** Handlers that ignored their abort and still run. */
  readonly abandoned: number;
  /** How much of its slots was in use, in percent, in each of its last minutes and hours; the last ones have not ended. */
  readonly use?: { readonly minutes: readonly number[]; readonly hours: readonly number[] } | undefined;
  /** The digests of the JSON Schemas that it published, by type. Absent if it has none. */
  readonly schemas?: Readonly<Record<string, string>> | undefined;
  /** The version of the application that it runs; absent if it has none. */
  readonly version?: string | undefined;
}

/** How many minutes and hours of its use a worker reports. */
export const MINUTES_OF_USE = 60;
export const HOURS_OF_USE = 24;

/** What a stored entry says instead of its state once the worker has stopped. No live entry has it. */
export const STOPPED = "stopped";

/** How long a worker that stopped or was lost is remembered, and how many of them a store keeps. */
export const FORMER_WORKERS_MS: number = DAY_MS;
export const MAX_FORMER_WORKERS = 1000;
/** How many of them a client lists. Fewer, because internal ones are among those that a store keeps. */
export const MAX_LISTED_FORMER_WORKERS = 200;

/** A worker that is no longer live, as it last reported. */
export interface FormerWorker extends Omit<WorkerEntry, "state"> {
  readonly heartbeatAt: number;
  /** Whether it stopped by itself, or was not heard of until its entry expired: then its process died or was cut off. */
  readonly end: "stopped" | "lost";
  /** When it stopped, or when its entry expired. */
  readonly endedAt: number;
}

/** Makes a former worker of its stored entry. */
export function formerOf(
  { state, ...entry }: Omit<WorkerEntry, "state"> & { readonly state: string },
  heartbeatAt: number,
  endedAt: number,
): FormerWorker {
  return { ...entry, heartbeatAt, end: state === STOPPED ? "stopped" : "lost", endedAt };
}
