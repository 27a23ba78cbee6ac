/** How long slots must have been of no use before they go. */
export const SHRINK_AFTER_MS: number = 2 * 60_000;

/** So many slots were in use at once, and this was the last time. */
interface Use {
  readonly running: number;
  readonly at: number;
}

/**
 * HOW MANY SLOTS. Doubles when a claim came back full and took the last free slot, because then work waits. Keeps only as many as were in use
 * at once in the last two minutes. Fixed when min equals max.
 */
export class Scale {
  readonly #min: number;
  readonly #max: number;
  #slots: number;
  /** Falling in use and rising in time: what was followed by a greater use is no news any more. So the first is the greatest of the two minutes. */
  readonly #uses: Use[] = [];

  constructor(min: number, max: number) {
    this.#min = min;
    this.#max = max;
    this.#slots = min;
  }

  get slots(): number {
    return this.#slots;
  }

  /** How soon `look` wants to be called again: slots that may go must be looked after. */
  get lookAgainMs(): number {
    return this.#min === this.#max ? Infinity : SHRINK_AFTER_MS / 4;
  }

  /** A claim was answered. `full`: it got all that it asked for. */
  claimed(full: boolean, running: number, now: number): void {
    if (this.#min === this.#max) return;
    this.#note(running, now);
    if (!full || running < this.#slots || this.#slots === this.#max) return;
    this.#slots = Math.min(this.#max, this.#slots * 2);
    // New slots are given their two minutes.
    this.#note(this.#slots, now);
  }

  /** Now and then, so that slots go also when nothing happens. */
  look(running: number, now: number): void {
    if (this.#min === this.#max) return;
    this.#note(running, now);
    while (this.#uses[0]!.at <= now - SHRINK_AFTER_MS) this.#uses.shift();
    this.#slots = Math.max(this.#min, Math.min(this.#slots, this.#uses[0]!.running));
  }

  #note(running: number, at: number): void {
    while (this.#uses.length > 0 && this.#uses.at(-1)!.running <= running) this.#uses.pop();
    this.#uses.push({ running, at });
  }
}
