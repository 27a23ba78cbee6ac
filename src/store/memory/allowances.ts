import { type Spend, type Spent, takeShare } from "../../core/allowance.ts";

/** For each allowance the time at which nothing of it will be in use. */
export class Allowances {
  readonly #freeAt = new Map<string, number>();

  spend(spend: Spend, now: number): Spent {
    const { taken, waitMs, freeAt } = takeShare(this.#freeAt.get(spend.name) ?? now, spend, now);
    this.#freeAt.set(spend.name, freeAt);
    return { taken, waitMs };
  }

  sweep(now: number, limit: number): number {
    const unused = [...this.#freeAt].filter(([, freeAt]) => freeAt <= now).slice(0, limit);
    for (const [name] of unused) this.#freeAt.delete(name);
    return unused.length;
  }
}
