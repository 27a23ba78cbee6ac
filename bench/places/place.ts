/** Somewhere that is empty when it is given out, and gone after it is closed. */
export interface Place {
  /** What connect() is given; peers read from it where they have to go. */
  readonly url: string;
  /** What is stored here now, in bytes. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Where places come from: a folder, or a server. */
export interface Site {
  /** One line about what it is, for those who read the figures. */
  readonly about: string;
  fresh(): Promise<Place>;
  close(): Promise<void>;
}

/** Does something on a fresh place, and closes it whatever happens. */
export async function onFresh<Answer>(site: Site, run: (place: Place) => Promise<Answer>): Promise<Answer> {
  const place = await site.fresh();
  try {
    return await run(place);
  } finally {
    await place.close();
  }
}
