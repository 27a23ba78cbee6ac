/** Adds up how many jobs have each value of a facet, from several places. */
export class FacetTally {
  readonly #counts = new Map<string, number>();
  #without = 0;

  /** A null value: jobs without this facet. */
  add(value: string | null, count: number): void {
    if (value === null) this.#without += count;
    else this.#counts.set(value, (this.#counts.get(value) ?? 0) + count);
  }

  /** The values that most jobs have, and whether there are more. */
  top(limit: number): { values: { value: string; count: number }[]; without: number; hasMore: boolean } {
    const all = Array.from(this.#counts, ([value, count]) => ({ value, count }));
    const sorted = all.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    return { values: sorted.slice(0, limit), without: this.#without, hasMore: all.length > limit };
  }
}
