import type { Line } from "../history/line.ts";
import type { Effect } from "./nemesis.ts";

/** What is told of a run. */
export interface Figures {
  readonly lines: number;
  readonly jobs: number;
  /** Those of them that have steps. */
  readonly durable: number;
  /** Flows, and how many of them ended. */
  readonly flows: number;
  readonly endedFlows: number;
  /** How often which fault took effect. */
  readonly faults: ReadonlyMap<string, number>;
  /** Reports, renewals and notes under a lease that was another's by then, or nobody's. */
  readonly staleRefused: number;
  /** Handlers that had begun, were lost, and so were begun again. */
  readonly duplicateStarts: number;
  /** From the end of a fault to the next job that was completed. */
  readonly recovery: { readonly p50: number; readonly p99: number; readonly most: number } | null;
}

/** Counts what a history tells. */
export function figuresOf(history: Iterable<Line>, effects: readonly Effect[]): Figures {
  const tally = new Tally();
  for (const line of history) tally.add(line);
  return tally.figures(effects);
}

class Tally {
  #lines = 0;
  #jobs = 0;
  #durable = 0;
  #flows = 0;
  #endedFlows = 0;
  #staleRefused = 0;
  readonly #started = new Set<string>();
  readonly #lost = new Set<string>();
  /** Settlements that are under way, by process and call. */
  readonly #settling = new Map<string, { readonly name: string; readonly outcome: string }>();
  /** When jobs were completed, in order. */
  readonly #completedAt: number[] = [];

  add(line: Line): void {
    this.#lines++;
    if ("is" in line) {
      if (line.is === "start") this.#started.add(nameOf(line));
      if (line.is === "stored-flow") {
        this.#flows++;
        if (line.head.status !== "running") this.#endedFlows++;
      }
      if (line.is === "stored-job") {
        this.#jobs++;
        if (line.steps !== undefined) this.#durable++;
      }
      return;
    }
    const call = `${line.by} ${line.op}`;
    if (line.phase === "invoke") {
      if (line.do === "settle") this.#settling.set(call, { name: nameOf(line.ask), outcome: line.ask.outcome });
      return;
    }
    if ("answer" in line.answer && line.answer.answer === "stale" && line.phase === "fail" && line.do !== "tick") this.#staleRefused++;
    const settled = this.#settling.get(call);
    this.#settling.delete(call);
    if (settled === undefined || line.phase !== "ok") return;
    if (settled.outcome === "completed") this.#completedAt.push(line.at);
    if (settled.outcome === "lost") this.#lost.add(settled.name);
  }

  figures(effects: readonly Effect[]): Figures {
    const faults = new Map<string, number>();
    for (const { what } of effects) faults.set(what, (faults.get(what) ?? 0) + 1);
    return {
      lines: this.#lines,
      jobs: this.#jobs,
      durable: this.#durable,
      flows: this.#flows,
      endedFlows: this.#endedFlows,
      faults,
      staleRefused: this.#staleRefused,
      duplicateStarts: [...this.#lost].filter((name) => this.#started.has(name)).length,
      recovery: recoveryOf(effects, this.#completedAt),
    };
  }
}

function nameOf({ job, fence }: { readonly job: string; readonly fence: number }): string {
  return `${job} ${fence}`;
}

function recoveryOf(effects: readonly Effect[], completedAt: readonly number[]): Figures["recovery"] {
  const times = effects.flatMap(({ endedAt }) => {
    const next = completedAt.find((at) => at >= endedAt);
    return next === undefined ? [] : [next - endedAt];
  });
  if (times.length === 0) return null;
  times.sort((a, b) => a - b);
  const share = (part: number): number => times[Math.ceil(part * times.length) - 1]!;
  return { p50: share(0.5), p99: share(0.99), most: share(1) };
}
