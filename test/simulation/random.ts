/**
 * Chance that can be repeated: the same seed gives the same numbers. Everyone who needs chance forks a source of their own by name, so that
 * one more draw here changes nothing there.
 */
export class Random {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = hashOf(seed);
  }

  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** In [0, 1). */
  readonly next = (): number => {
    // mulberry32: small, quick, and good enough to choose faults by.
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** Random bytes, for ids. */
  readonly fill = (bytes: Uint8Array): void => {
    for (let index = 0; index < bytes.length; index++) bytes[index] = Math.floor(this.next() * 256);
  };

  /** A whole number, both ends included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.int(0, items.length - 1)]!;
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const order = items.map((item) => ({ item, at: this.next() }));
    return order.sort((one, other) => one.at - other.at).map(({ item }) => item);
  }

  /** Each with the given chance, in order. */
  some<Item>(items: readonly Item[], probability: number): Item[] {
    return items.filter(() => this.chance(probability));
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  // Neighbouring seeds must not begin alike.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
}
