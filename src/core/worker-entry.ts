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
}
