/** A store that is empty when it is opened and removed when it is closed. */
export interface Place {
  /** The URL for connect(); peers parse it. */
  readonly url: string;
  /** The size of the stored data. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Makes places: in a folder, or on a server. */
export interface Site {
  /** One line for the report. */
  readonly about: string;
  fresh(): Promise<Place>;
  close(): Promise<void>;
}

/** Uses a fresh place, and always closes it. */
export async function onFresh<Answer>(site: Site, run: (place: Place) => Promise<Answer>): Promise<Answer> {
  const place = await site.fresh();
  try {
    return await run(place);
  } finally {
    await place.close();
  }
}
