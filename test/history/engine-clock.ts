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

  /** When the engine showed this time, by the history's clock; null before the first reading. */
  whenItWas(engine: number): number | null {
    const reading = this.#readings.findLast((each) => each.engine <= engine) ?? this.#readings[0];
    return reading === undefined ? null : reading.at + (engine - reading.engine);
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
