/** Marks, each with the time at which it is over. */
export class Marks {
  readonly #until = new Map<string, number>();

  set(name: string, until: number): void {
    this.#until.set(name, until);
  }

  has(name: string, now: number): boolean {
    return (this.#until.get(name) ?? now) > now;
  }

  sweep(now: number, limit: number): number {
    const over = [...this.#until].filter(([, until]) => until <= now).slice(0, limit);
    for (const [name] of over) this.#until.delete(name);
    return over.length;
  }
}
