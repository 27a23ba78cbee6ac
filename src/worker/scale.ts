/** How long slots must have been of no use before they go. */
export const SHRINK_AFTER_MS: number = 2 * 60_000;

/**
 * HOW MANY SLOTS. Doubles when a claim came back full and took the last free slot, because then work waits. Every two minutes it looks
 * back and keeps only as many as were in use at once in that time. Fixed when min equals max.
 */
export class Scale {
  readonly #min: number;
  readonly #max: number;
  #slots: number;
  #peak = 0;
  #since: number;

  constructor(min: number, max: number, now: number) {
    this.#min = min;
    this.#max = max;
    this.#slots = min;
    this.#since = now;
  }

  get slots(): number {
    return this.#slots;
  }

  /** How soon `look` wants to be called again: slots that may go must be looked after. */
  get lookAgainMs(): number {
    return this.#min === this.#max ? Infinity : SHRINK_AFTER_MS / 4;
  }

  /** A claim was answered. `full`: it got all that it asked for. */
  claimed(full: boolean, running: number): void {
    this.#peak = Math.max(this.#peak, running);
    if (full && running >= this.#slots) this.#slots = Math.min(this.#max, this.#slots * 2);
  }

  /** Now and then, so that slots go also when nothing happens. */
  look(running: number, now: number): void {
    this.#peak = Math.max(this.#peak, running);
    if (now - this.#since < SHRINK_AFTER_MS) return;
    this.#slots = Math.max(this.#min, Math.min(this.#slots, this.#peak));
    this.#peak = running;
    this.#since = now;
  }
}
