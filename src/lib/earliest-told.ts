/** THE EARLIEST TIME THAT OTHERS KNOW. They will look then and find all later times themselves, so only an earlier time must be sent. */
export class EarliestTold {
  #at = Number.NEGATIVE_INFINITY;

  /** Whether to tell others about something `inMs` from `now`; if so, assumes that it is done. In milliseconds, `now` monotonic. */
  isNews(inMs: number, now: number): boolean {
    const at = now + inMs;
    if (this.#at > now && at >= this.#at) return false;
    this.#at = at;
    return true;
  }
}
