/**
 * WHAT OTHERS WERE TOLD TO WAIT FOR. Who was told of a time that is still to come will look then, and learn of all later ones by looking: so
 * later ones need not be told.
 */
export class EarliestTold {
  #at = Number.NEGATIVE_INFINITY;

  /** Whether others must be told of something in `inMs` from `now`; if so, they are taken to be told. Both in milliseconds, `now` monotonic. */
  isNews(inMs: number, now: number): boolean {
    const at = now + inMs;
    if (this.#at > now && at >= this.#at) return false;
    this.#at = at;
    return true;
  }
}
