/** The invariants that are checked, and what each says in short. Those that are promises of the product and have no number are words. */
export const INVARIANTS = {
  I1: "no accepted job is lost",
  I2: "no job that nobody sent, and none other than it was sent",
  I3: "one live lease a job",
  I4: "a stale fence changes nothing, and a repeat is no error",
  I5: "an end is final, and stored as it was reported",
  I6: "attempts are counted and bounded",
  I7: "a retry waits as long as it should",
  I8: "nothing starts before its time",
  I9: "the higher priority goes first",
  I10: "first in, first out",
  I11: "a head start is bounded, so nothing starves",
  I12: "one living job a key",
  I13: "one job a tick, and every tick",
  I14: "what enters the dead letters is there, or was taken out",
  I15: "counters equal what there is, and totals never fall",
  I16: "a cancelled job does not start, and its handler is told",
  I17: "a full queue takes nothing",
  I18: "no worker holds more leases than it has slots",
  I20: "what is due starts, and what ran out is reclaimed",
  I24: "a stop takes nothing new, leaves nothing behind, and ends in time",
  step: "a step whose result is stored never runs again, and every attempt sees the same",
  signal: "one signal of a name counts, or the timeout, and every attempt sees the same",
  call: "a called job is there once, and its caller goes on with its end and not before",
  members: "a member of a flow runs after what it waits for, and completes once",
  flow: "a flow is stored whole or not at all, ends or says what it waits for, and counts what its jobs say",
  children: "a cancelled job cancels those that it called",
  notice: "what jobs tell each other arrives",
  limit: "no limit is exceeded, and a held key starts nothing",
  turns: "no key starts more than its share while another waits",
  pause: "a paused queue gives nothing",
  progress: "a healthy worker with pending jobs makes progress every second",
  unseen: "no attempt is lost that no handler saw, unless its process died",
} as const;

export type Invariant = keyof typeof INVARIANTS;

/** A promise that was broken, and the lines of the history that show it. */
export interface Violation {
  readonly invariant: Invariant;
  readonly job: string | null;
  readonly says: string;
  /** Numbers of lines, from 1, in the order of the merged history. */
  readonly lines: readonly number[];
}

export type Report = (invariant: Invariant, job: string | null, says: string, lines: readonly (number | null | undefined)[]) => void;

/** Gathers violations. There may be very many of one kind: so many of each invariant are kept. */
export class Violations {
  readonly #most: number;
  readonly #found: Violation[] = [];
  readonly #counts = new Map<Invariant, number>();

  constructor(mostOfEach = 100) {
    this.#most = mostOfEach;
  }

  get found(): readonly Violation[] {
    return this.#found;
  }

  readonly report: Report = (invariant, job, says, lines) => {
    const count = (this.#counts.get(invariant) ?? 0) + 1;
    this.#counts.set(invariant, count);
    if (count > this.#most) return;
    const present = lines.filter((line): line is number => line !== null && line !== undefined);
    this.#found.push({ invariant, job, says, lines: [...new Set(present)].sort((a, b) => a - b) });
  };
}

/** As a person should read it; `textOf` gives the text of a line. */
export function describeViolation({ invariant, job, says, lines }: Violation, textOf: (line: number) => string | undefined): string {
  const head = `${invariant} (${INVARIANTS[invariant]})${job === null ? "" : `, job ${job}`}: ${says}`;
  return [head, ...lines.map((line) => `  ${line}: ${textOf(line) ?? "?"}`)].join("\n");
}
