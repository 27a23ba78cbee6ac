import type { Sighting } from "./story.ts";

/** The engine's time at moments of the history, from readings of it. Between two readings it goes on like any clock. */
export class EngineClock {
  readonly #readings: { readonly at: number; readonly engine: number }[] = [];
  #errorMs = 0;

  read({ at, engine, withinMs }: Sighting<"clock">): void {
    this.#readings.push({ at, engine });
    this.#errorMs = Math.max(this.#errorMs, withinMs);
  }

  /** How far it may be off. */
  get errorMs(): number {
    return this.#errorMs;
  }

  /** Null before the first reading. */
  at(at: number): number | null {
    const reading = this.#latest(at);
    return reading === undefined ? null : reading.engine + (at - reading.at);
  }

  /** Readings come in order. */
  #latest(at: number): { readonly at: number; readonly engine: number } | undefined {
    let low = 0;
    let high = this.#readings.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#readings[middle]!.at <= at) low = middle + 1;
      else high = middle;
    }
    return this.#readings[low - 1];
  }
}
