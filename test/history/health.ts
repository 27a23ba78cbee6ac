import type { History, WorkerLife } from "./history.ts";
import type { Sighting } from "./story.ts";

/** A stretch of time, by the history's clock. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Pulses and probes are written ten times a second. When the next one is later than this, the process or the store stood still, or the machine
 * had no time for them: nobody can be blamed for what did not happen meanwhile, and that time does not count.
 */
const LONGEST_SILENCE_MS = 300;
/** So long after a fault of its own, or of the store, a worker is left to recover, if it was not seen to make progress sooner. */
const RECOVERY_MS = 15_000;

/** Whether a fault was done to this incarnation, to all of its process, or to everybody. */
export function concerns({ who }: Pick<Sighting<"fault">, "who">, by: string): boolean {
  return who === null || who === by || by.startsWith(`${who}.`);
}

/** From when to when a fault went on. */
export function spanOf({ at, from = at, until = at }: Pick<Sighting<"fault">, "at" | "from" | "until">): Span {
  return { from, to: Math.max(at, until) };
}

/**
 * WHEN A WORKER WAS HEALTHY: its loop turned, the store took the writes of others, and no fault of its own nor of the store went on. After such
 * a fault it is healthy again from its first progress on, or when its time to recover is over. What strangers do to rows makes nobody unhealthy.
 *
 * A history without pulses and probes has no healthy time: there is nothing to be said.
 */
export class Health {
  readonly #history: History;
  readonly #answering: readonly Span[];
  readonly #known = new Map<string, readonly Span[]>();

  constructor(history: History) {
    this.#history = history;
    this.#answering = unbroken(history.probes);
  }

  /** `progress`: when the worker was seen to start or end a job, in order. */
  of(life: WorkerLife, progress: readonly number[]): readonly Span[] {
    const known = this.#known.get(life.worker) ?? this.#healthy(life, progress);
    this.#known.set(life.worker, known);
    return known;
  }

  #healthy({ up, stopping, stopped, killed }: WorkerLife, progress: readonly number[]): readonly Span[] {
    const ends = [stopping, stopped, killed, this.#history.dumped].flatMap((end) => (end === null ? [] : [end.at]));
    const alive = overlaps(unbroken(this.#history.pulses.get(up.by) ?? []), this.#answering);
    const life = overlaps(alive, [{ from: up.at, to: Math.min(Infinity, ...ends) }]);
    const faults = this.#history.faults.filter((fault) => concerns(fault, up.by)).map(spanOf);
    return without(
      life,
      [{ from: up.at, to: up.at }, ...faults].map(({ from, to }) => ({ from, to: recoveredAt(to, progress) })),
    );
  }
}

function recoveredAt(to: number, progress: readonly number[]): number {
  return Math.min(to + RECOVERY_MS, progress.find((at) => at > to) ?? Infinity);
}

/** The stretches in which one sign of life followed the other. */
function unbroken(times: readonly number[]): Span[] {
  const spans: { from: number; to: number }[] = [];
  for (const at of times) {
    const last = spans.at(-1);
    if (last !== undefined && at - last.to <= LONGEST_SILENCE_MS) last.to = at;
    else spans.push({ from: at, to: at });
  }
  return spans;
}

/** What two lists of stretches have in common. Each is in order, and its stretches do not meet. */
export function overlaps(some: readonly Span[], others: readonly Span[]): Span[] {
  const both: Span[] = [];
  for (let one = 0, other = 0; one < some.length && other < others.length;) {
    const from = Math.max(some[one]!.from, others[other]!.from);
    const to = Math.min(some[one]!.to, others[other]!.to);
    if (to > from) both.push({ from, to });
    if (some[one]!.to < others[other]!.to) one++;
    else other++;
  }
  return both;
}

/** What is left of the stretches when others are taken out. */
function without(spans: readonly Span[], taken: readonly Span[]): Span[] {
  let left = [...spans];
  for (const { from, to } of taken) {
    left = left.flatMap((span) => {
      if (to <= span.from || from >= span.to) return [span];
      return [
        { from: span.from, to: from },
        { from: to, to: span.to },
      ].filter((piece) => piece.to > piece.from);
    });
  }
  return left;
}
