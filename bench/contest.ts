/**
 * ROUNDS. All entrants take turns, round after round, each on a fresh place and with its warm-up left out. Other load on the machine only ever
 * slows a round, so the best one tells what the code can do; the median tells what to expect.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Figure, type Kind, type Measured, measuredFrom, type Result, roughly, type Unit } from "./figure.ts";

/** Somebody who is measured. A run returns a number for each name of the contest; fewer if it does not have the others. */
export interface Entrant {
  readonly name: string;
  readonly kind: Kind;
  run(): Promise<readonly number[]>;
}

/** What one of the numbers of a run is. */
export interface NumberName {
  readonly what: string;
  readonly of?: string;
  readonly unit: Unit;
}

/** What is measured. The first entrant is ours. */
export interface Contest {
  readonly engine: string;
  readonly scenario: string;
  readonly numbers: readonly NumberName[];
  readonly entrants: readonly Entrant[];
  readonly rounds: number;
  readonly longestRunMs: number;
  /** Progress, line by line. */
  readonly tell: (line: string) => void;
}

/** Measures, and returns a figure for each number. */
export async function hold({ engine, scenario, numbers, entrants, rounds, longestRunMs, tell }: Contest): Promise<Figure[]> {
  const started = performance.now();
  const scores = entrants.map((entrant) => new Score(entrant));
  for (let round = 0; round < rounds; round++) {
    for (const score of inTurn(scores, round)) await score.addRound(longestRunMs);
  }
  const [ours, ...others] = scores as [Score, ...Score[]];
  const figures = numbers.map(({ what, of = null, unit }, index): Figure => {
    const results = others.flatMap((other) => other.result(index, unit) ?? []);
    return { engine, scenario, what, of, unit, ours: ours.measured(index, unit), others: results };
  });
  for (const figure of figures) tell(progressText(figure));
  tell(`  ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return figures;
}

/** Rotates the order, so that nobody always runs after the same one. */
function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const from = round % items.length;
  return [...items.slice(from), ...items.slice(0, from)];
}

class Score {
  readonly #entrant: Entrant;
  readonly #rounds: (readonly number[])[] = [];
  #failure: Error | null = null;

  constructor(entrant: Entrant) {
    this.#entrant = entrant;
  }

  /** After a failure it does not run again. */
  async addRound(longestMs: number): Promise<void> {
    if (this.#failure !== null) return;
    collectGarbage();
    try {
      this.#rounds.push(await withinTime(this.#entrant.run(), longestMs));
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Ours must not fail. */
  measured(index: number, unit: Unit): Figure["ours"] {
    if (this.#failure !== null) throw this.#failure;
    const { name, kind } = this.#entrant;
    return { name, kind, ...this.#numbersOf(index, unit) };
  }

  /** Null if it has no such number. */
  result(index: number, unit: Unit): Result | null {
    const { name, kind } = this.#entrant;
    if (this.#failure !== null) return { name, kind, failure: this.#failure.message.split("\n")[0]! };
    return this.#rounds[0]![index] === undefined ? null : { name, kind, ...this.#numbersOf(index, unit) };
  }

  #numbersOf(index: number, unit: Unit): Measured {
    return measuredFrom(
      this.#rounds.map((round) => round[index]!),
      unit,
    );
  }
}

/** What the last one left must not be collected while the next one is timed. */
const collectGarbage = ((): (() => void) => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
})();

async function withinTime<Answer>(run: Promise<Answer>, longestMs: number): Promise<Answer> {
  const timer = Promise.withResolvers<never>();
  const handle = setTimeout(() => timer.reject(new Error(`did not end within ${longestMs / 1000} s`)), longestMs);
  try {
    return await Promise.race([run, timer.promise]);
  } finally {
    clearTimeout(handle);
  }
}

function progressText({ engine, what, of, unit, ours, others }: Figure): string {
  const results = [ours, ...others].map((result) =>
    "failure" in result ? `${result.name} failed (${result.failure})` : `${result.name} ${roughly(result.best)}`,
  );
  return `${engine}: ${what}${of === null ? "" : `, ${of}`}: ${results.join(", ")} ${unit}`;
}
