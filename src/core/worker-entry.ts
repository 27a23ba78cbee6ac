/** What a worker says about itself in the registry. */
export interface WorkerEntry {
  /** Random for each start of a process: a restarted worker never looks like its former self. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly state: "idle" | "busy" | "stopping";
  readonly slots: number;
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly startedAt: number;
  /** The jobs it runs, at most 100 of them. */
  readonly running: readonly string[];
  readonly runningCount: number;
  /** Attempts ended since it started, and in the last minute. */
  readonly processed: number;
  readonly perMinute: number;
  /** Handlers that ignored their abort and still run. */
  readonly abandoned: number;
}
