import { closeSync, openSync, writeSync } from "node:fs";
import type { Answered, Asked, Line, Phase, Seen, Sight, Verb } from "./line.ts";

/** A call that was begun, and can be ended once. */
export interface Begun<V extends Verb> {
  end(phase: Phase, answer: Answered[V]): void;
}

export interface RecorderOptions {
  /** One incarnation of one process. */
  readonly by: string;
  /** Milliseconds of the clock that all processes of the run share. */
  readonly now: () => number;
  readonly write: (line: Line) => void;
}

/** Writes the lines of one process. */
export class Recorder {
  readonly by: string;
  readonly #options: RecorderOptions;
  #ops = 0;

  constructor(options: RecorderOptions) {
    this.by = options.by;
    this.#options = options;
  }

  /** The time that is written with a line. */
  now(): number {
    return this.#options.now();
  }

  begin<V extends Verb>(verb: V, ask: Asked[V]): Begun<V> {
    const { by, now, write } = this.#options;
    const op = ++this.#ops;
    write({ at: now(), by, op, phase: "invoke", do: verb, ask } as Line);
    return { end: (phase, answer) => write({ at: now(), by, op, phase, do: verb, answer } as Line) };
  }

  see<S extends Sight>(sight: S, seen: Seen[S]): void {
    const { by, now, write } = this.#options;
    write({ at: now(), by, is: sight, ...seen } as Line);
  }
}

/** Milliseconds of the machine's monotonic clock, which all processes on it share. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * A recorder of a real process. Each line is one write to the end of a file of this process alone: what was written before a kill stays, and
 * no line is torn by another's.
 */
export function recordToFile(path: string, by: string): { readonly recorder: Recorder; readonly close: () => void } {
  const file = openSync(path, "a");
  const recorder = new Recorder({ by, now: machineNow, write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`) });
  return { recorder, close: () => closeSync(file) };
}
