/** A store that is empty when it is opened and removed when it is closed. */
export interface Place {
  /** The URL for connect(); peers parse it. */
  readonly url: string;
  /** The size of the stored data, without what the engine would free by itself. */
  bytes(): Promise<number>;
  /** The size of each table and index as it is now, or of the whole store. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** Makes places: in a folder, or on a server. */
export interface Site {
  /** One line for the report. */
  readonly about: string;
  fresh(): Promise<Place>;
  close(): Promise<void>;
}
