/** What a trouble is about. */
export const TROUBLE_KINDS = [
  "abandoned", // a worker stopped claiming because too many handlers ignored their abort
  "request", // a request failed; its answer has only the request_id
  "server", // the store works, but its server is not set up as it should be
  "setting", // a setting does not have the effect that it seems to have
  "store", // the store cannot be reached; the process keeps trying
  "claim", // claimed jobs could not be started; they will count as lost
  "report", // an outcome could not be reported yet, or not at all: then the attempt will count as lost
  "backoff", // a backoff function failed, so the job's retry delay was used
  "dead", // a job failed for good; told by workers whose process has no log of its own
  "listener", // a listener of an event threw or rejected; the job and the worker go on
  "thread", // leases are renewed on the main thread, because the renewal thread died
  "audit", // a change was made, but could not be written to the audit
  "upkeep", // an upkeep duty failed; it keeps trying
] as const;

/** Something that a person should know and that no call can return. */
export interface Trouble {
  readonly kind: (typeof TROUBLE_KINDS)[number];
  /** One line: what is wrong and what to do. */
  readonly message: string;
  readonly error?: unknown;
}

export type OnTrouble = (trouble: Trouble) => void;
