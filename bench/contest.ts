/**
 * Measures all contenders in turn, round after round, and takes the best round of each: other load on the machine only ever slows a round,
 * and affects all of them alike. The first round also warms them up.
 */
import type { Beside, Figure, Measured, Unit } from "./report.ts";

/** One round on a fresh place. Returns a number for each name of the contest. */
export type Run = () => Promise<readonly number[]>;

/** What ours is compared with. */
export interface Contender {
  readonly name: string;
  readonly run: Run;
  /** The required ratio of ours to this one, for the first name of the contest. */
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
}

/** What is measured, and how often. */
export interface Contest {
  readonly engine: string;
  /** Names of the numbers of a run. */
  readonly what: readonly string[];
  readonly unit: Unit;
  readonly ours: Run;
  readonly others: readonly Contender[];
  readonly rounds: number;
}

const LONGEST_RUN_MS = 120_000;

/** Measures, prints progress, and returns a figure for each name and each of the others. */
export async function contest({ engine, what, unit, ours, others, rounds }: Contest): Promise<Figure[]> {
  const started = performance.now();
  const entrants = [new Entrant("ours", ours), ...others.map(({ name, run }) => new Entrant(name, run))];
  for (let round = 0; round < rounds; round++) {
    for (const entrant of inTurn(entrants, round)) await entrant.compete();
  }
  const [us, ...them] = entrants as [Entrant, ...Entrant[]];
  if (us.failure !== null) throw us.failure;
  print(engine, what[0]!, entrants, unit, started);
  return what.flatMap((name, index): Figure[] => {
    const figure = { engine, what: name, unit, ours: us.measured(index, unit) };
    const lines = them.flatMap((other, place) => {
      const beside = other.beside(index, unit);
      if (beside === null) return [];
      const { atLeast, atMost } = index === 0 ? others[place]! : {};
      return { ...figure, beside, atLeast, atMost };
    });
    return lines.length === 0 ? [figure] : lines;
  });
}

/** Rotates the order, so that nobody always runs after the same one. */
function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const from = round % items.length;
  return [...items.slice(from), ...items.slice(0, from)];
}

class Entrant {
  readonly name: string;
  readonly #run: Run;
  readonly #rounds: (readonly number[])[] = [];
  failure: Error | null = null;

  constructor(name: string, run: Run) {
    this.name = name;
    this.#run = run;
  }

  /** After a failure it does not run again. */
  async compete(): Promise<void> {
    if (this.failure !== null) return;
    try {
      this.#rounds.push(await withinTime(this.#run()));
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  measured(index: number, unit: Unit): Measured {
    const values = this.#rounds.map((round) => round[index]!);
    const sorted = values.toSorted((a, b) => (unit === "jobs/s" ? b - a : a - b));
    return { best: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, rounds: values };
  }

  /** Null if it has no such number. */
  beside(index: number, unit: Unit): Beside | null {
    const { name, failure } = this;
    if (failure !== null) return { name, failure: failure.message.split("\n")[0]! };
    return this.#rounds[0]![index] === undefined ? null : { name, ...this.measured(index, unit) };
  }
}

async function withinTime<Answer>(run: Promise<Answer>): Promise<Answer> {
  const timer = Promise.withResolvers<never>();
  const handle = setTimeout(() => timer.reject(new Error(`did not end within ${LONGEST_RUN_MS / 1000} s`)), LONGEST_RUN_MS);
  try {
    return await Promise.race([run, timer.promise]);
  } finally {
    clearTimeout(handle);
  }
}

function print(engine: string, what: string, entrants: readonly Entrant[], unit: Unit, started: number): void {
  const results = entrants.map((entrant) => {
    const result = entrant.beside(0, unit)!;
    return `${entrant.name} ${"failure" in result ? `failed (${result.failure})` : roughly(result.best)}`;
  });
  process.stderr.write(`${engine}: ${what}: ${results.join(", ")} ${unit} (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}

function roughly(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
