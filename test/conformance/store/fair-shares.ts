/** Starts of lines that all had jobs and room from `from` on, in the order of claims. */
export interface Shares {
  /** The line of each start. */
  readonly starts: readonly string[];
  readonly weights: Readonly<Record<string, number>>;
}

/**
 * What breaks the promise of fair turns, or null: for two lines that both have jobs and are below their limits,
 * |starts₁ / weight₁ − starts₂ / weight₂| ≤ 1 / weight₁ + 1 / weight₂ over any time. Looks at every window of the starts.
 */
export function unfairness({ starts, weights }: Shares): string | null {
  const lines = Object.keys(weights);
  for (const [index, one] of lines.entries()) {
    for (const other of lines.slice(index + 1)) {
      const [w1, w2] = [weights[one]!, weights[other]!];
      const bound = 1 / w1 + 1 / w2;
      // How far they are apart after each start. The widest window is between the lowest and the highest of these.
      let [apart, lowest, highest] = [0, 0, 0];
      for (const [at, line] of starts.entries()) {
        apart += line === one ? 1 / w1 : line === other ? -1 / w2 : 0;
        lowest = Math.min(lowest, apart);
        highest = Math.max(highest, apart);
        if (highest - lowest > bound + 1e-9) {
          return `${one} (weight ${w1}) and ${other} (weight ${w2}) are ${highest - lowest} apart at start ${at}, at most ${bound} are fair: ${starts.join(" ")}`;
        }
      }
    }
  }
  return null;
}
