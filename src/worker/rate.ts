/** Counts what happened in the last minute, by the second. */
export class Rate {
  readonly #counts: number[] = Array.from({ length: 60 }, () => 0);
  #second = 0;

  add(count: number, nowMs: number): void {
    const second = this.#forgetUntil(nowMs);
    this.#counts[second % 60]! += count;
  }

  perMinute(nowMs: number): number {
    this.#forgetUntil(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #forgetUntil(nowMs: number): number {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(60, Math.max(0, second - this.#second));
    for (let back = 0; back < passed; back++) this.#counts[(second - back) % 60] = 0;
    this.#second = Math.max(this.#second, second);
    return this.#second;
  }
}
