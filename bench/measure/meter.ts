/** How long something runs before it is timed: code is compiled, connections are opened, caches are filled. */
export function warmUpMs(seconds: number): number {
  return Math.min(1000, (seconds * 1000) / 3);
}

/** Counts what ends, from the first end after the warm-up until `seconds` later. */
export class Meter {
  readonly #warmUntil: number;
  readonly #ms: number;
  #from: number | null = null;
  #last = 0;
  #count = 0;

  constructor(seconds: number) {
    this.#ms = seconds * 1000;
    this.#warmUntil = performance.now() + warmUpMs(seconds);
  }

  /** Returns false when the time is up. */
  add(count: number): boolean {
    const now = performance.now();
    if (this.#from === null) {
      if (now >= this.#warmUntil) this.#from = now;
      return true;
    }
    this.#count += count;
    this.#last = now;
    return now - this.#from < this.#ms;
  }

  get perSecond(): number {
    return (this.#count * 1000) / (this.#last - this.#from!);
  }
}
