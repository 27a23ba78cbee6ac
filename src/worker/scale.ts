/** How long slots must have been unused before they are removed. */
export const SHRINK_AFTER_MS: number = 2 * 60_000;

/** How many slots were in use, and when this was last so. */
interface Use {
  readonly running: number;
  readonly at: number;
}

/** THE NUMBER OF SLOTS. Doubles when a full claim took the last free slot. Shrinks to the most in use in the last two minutes. */
export class Scale {
  readonly #min: number;
  readonly #max: number;
  #slots: number;
  /** Sorted by falling use and rising time: a use that a greater one followed does not matter any more. So the first is the greatest. */
  readonly #uses: Use[] = [];

  constructor(min: number, max: number) {
    this.#min = min;
    this.#max = max;
    this.#slots = min;
  }

  get slots(): number {
    return this.#slots;
  }

  /** When to call `look` again, so that unused slots are removed. */
  get lookAgainMs(): number {
    return this.#min === this.#max ? Infinity : SHRINK_AFTER_MS / 4;
  }

  /** Call this when a claim was answered. `full`: it got all that it asked for. */
  claimed(full: boolean, running: number, now: number): void {
    if (this.#min === this.#max) return;
    this.#note(running, now);
    if (!full || running < this.#slots || this.#slots === this.#max) return;
    this.#slots = Math.min(this.#max, this.#slots * 2);
    // New slots stay for at least two minutes.
    this.#note(this.#slots, now);
  }

  /** Call this now and then, so that slots are removed even if nothing happens. */
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
