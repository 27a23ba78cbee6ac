import type { Duration } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";
import { readGrace } from "../core/work-limits.ts";

/** A client, a worker or a server: what can shut down gracefully. */
export type Stoppable =
  | { stop(options?: { readonly grace?: Duration | undefined }): Promise<unknown> }
  | { close(options?: { readonly grace?: Duration | undefined }): Promise<unknown> };

/** How a process ends on a signal. */
export interface StopOnSignalsOptions {
  /** Passed on to `stop` or `close`. */
  readonly grace?: Duration | undefined;
  /** The process; tests pass another. */
  readonly process?: SignalSource | undefined;
}

/** The part of a process that this needs. */
export interface SignalSource {
  on(signal: "SIGTERM" | "SIGINT", listener: () => void): unknown;
  off(signal: "SIGTERM" | "SIGINT", listener: () => void): unknown;
  exit(code: number): void;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const OPTION_NAMES = ["grace", "process"];

/**
 * Shuts down gracefully on SIGTERM or SIGINT. You can call it for several things: the first signal closes all of them, and the process exits when
 * the last has closed, with 0 (1 if any failed). A second signal exits at once with 1. Returns a function that removes this thing again.
 */
export function stopOnSignals(stoppable: Stoppable, options: StopOnSignalsOptions = {}): () => void {
  const close = closerOf(stoppable, options);
  const source = options.process ?? process;
  let exit = exits.get(source);
  if (exit === undefined) exits.set(source, (exit = new GracefulExit(source)));
  return exit.add(close);
}

type Close = () => Promise<unknown>;

/** One for each process: with one for each thing, the first to close would end the process before the others. */
const exits = new WeakMap<SignalSource, GracefulExit>();

class GracefulExit {
  readonly #source: SignalSource;
  readonly #closes = new Set<Close>();
  #isStopping = false;
  #unfinished = 0;
  #code = 0;

  constructor(source: SignalSource) {
    this.#source = source;
  }

  add(close: Close): () => void {
    // Added while the process is stopping: it ends with the rest.
    if (this.#isStopping) this.#close(close);
    else if (this.#closes.size === 0) for (const signal of SIGNALS) this.#source.on(signal, this.#onSignal);
    this.#closes.add(close);
    return () => this.#remove(close);
  }

  /** While stopping, it still listens for the second signal. */
  #remove(close: Close): void {
    if (!this.#closes.delete(close) || this.#closes.size > 0 || this.#isStopping) return;
    for (const signal of SIGNALS) this.#source.off(signal, this.#onSignal);
  }

  readonly #onSignal = (): void => {
    if (this.#isStopping) return this.#source.exit(1);
    this.#isStopping = true;
    for (const close of this.#closes) this.#close(close);
  };

  #close(close: Close): void {
    this.#unfinished++;
    void close()
      .catch((error: unknown) => {
        this.#code = 1;
        console.error("millrace: could not shut down cleanly:", error instanceof MillraceError ? error.message : error);
      })
      .then(() => {
        if (--this.#unfinished === 0) this.#source.exit(this.#code);
      });
  }
}

/** Checks the arguments now: on a signal it would be too late. */
function closerOf(stoppable: Stoppable, options: StopOnSignalsOptions): Close {
  const { stop, close } = (stoppable ?? {}) as { readonly stop?: unknown; readonly close?: unknown };
  if (typeof stop !== "function" && typeof close !== "function") {
    throw invalid("stoppable", "a client, a worker, or anything else with a stop or close function", stoppable);
  }
  readFields(options, "the options of stopOnSignals", OPTION_NAMES);
  const { grace } = options;
  if (grace !== undefined) readGrace(grace);
  const passedOn = grace === undefined ? {} : { grace };
  const end = (typeof stop === "function" ? stop : close) as (options: StopOnSignalsOptions) => Promise<unknown>;
  return async () => end.call(stoppable, passedOn);
}
