/** THE SHAPES OF WHAT IS MEASURED, and how two figures compare. */

/** For jobs/s more is better, for the others less. `×` is a ratio. */
export type Unit = "jobs/s" | "ms" | "µs" | "bytes" | "MB" | "×";

/**
 * Who was measured: the code of this checkout, the code of another one (`--against`), ours in another setting, bare statements or a bare server,
 * another queue.
 */
export type Kind = "ours" | "before" | "otherwise" | "bare" | "peer";

/** All rounds of one entrant. */
export interface Measured {
  readonly best: number;
  readonly median: number;
  readonly rounds: readonly number[];
}

/** What an entrant reached, or why it could not be measured. */
export type Result = { readonly name: string; readonly kind: Kind } & (Measured | { readonly failure: string });

/** One number, of ours and of all that it was measured with in turn. */
export interface Figure {
  readonly engine: string;
  readonly scenario: string;
  readonly what: string;
  /** Which of several numbers of the same kind: `10 slots`, `p99`. Null: there is only one. */
  readonly of: string | null;
  readonly unit: Unit;
  readonly ours: { readonly name: string; readonly kind: Kind } & Measured;
  readonly others: readonly Result[];
}

export function measuredFrom(rounds: readonly number[], unit: Unit): Measured {
  const bestFirst = rounds.toSorted((a, b) => (unit === "jobs/s" ? b - a : a - b));
  return { best: bestFirst[0]!, median: bestFirst[Math.floor(bestFirst.length / 2)]!, rounds };
}

/** Ours divided by the other. Null if the other was not measured. */
export function ratioTo(ours: Measured, other: Result, by: "best" | "median"): number | null {
  return "failure" in other || other[by] === 0 ? null : ours[by] / other[by];
}

export function roughly(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}
