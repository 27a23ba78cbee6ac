/** What a trouble is about. */
export const TROUBLE_KINDS = [
  "abandoned", // so many handlers ignored their abort that a worker stopped claiming
  "server", // the store works, but its server is not set up as it should be
  "setting", // a setting does not have the effect that it seems to have
  "store", // a worker cannot reach the store; it keeps trying
  "claim", // claimed jobs could not be started; they will be seen as lost
  "report", // an outcome could not be reported: not yet, or not at all, and then the job will be seen as lost
  "backoff", // a backoff function failed, and the stored curve was used
  "thread", // leases are renewed from the main loop, because the thread for it died
  "upkeep", // a duty of upkeep failed; it keeps trying
] as const;

/** Something that a person should know and that no call can tell. */
export interface Trouble {
  readonly kind: (typeof TROUBLE_KINDS)[number];
  /** One line: what is wrong and what to do. */
  readonly message: string;
  readonly error?: unknown;
}

export type OnTrouble = (trouble: Trouble) => void;
