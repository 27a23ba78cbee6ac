import type { Duration } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { readFields } from "../core/read-fields.ts";
import { readGrace } from "../core/work-limits.ts";

/** A client, a worker, a server: what can be ended in good order. */
export type Stoppable =
  | { stop(options?: { readonly grace?: Duration | undefined }): Promise<unknown> }
  | { close(options?: { readonly grace?: Duration | undefined }): Promise<unknown> };

/** How a process ends at a signal. */
export interface StopOnSignalsOptions {
  /** Handed on to `stop` or `close`, for those that take it. */
  readonly grace?: Duration | undefined;
  /** The process; another in tests. */
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
 * Ends the process in good order at SIGTERM or SIGINT. May be called for several things: the first signal closes all of them and exits when
 * the last has closed, with 0 (1 if any failed); a second one exits at once with 1. Answers a function that takes this thing back.
 */
export function stopOnSignals(stoppable: Stoppable, options: StopOnSignalsOptions = {}): () => void {
  const close = closerOf(stoppable, options);
  const source = options.process ?? process;
  let exit = exits.get(source);
  if (exit === undefined) exits.set(source, (exit = new OrderlyExit(source)));
  return exit.add(close);
}

type Close = () => Promise<unknown>;

/** One for each process: with one for each thing, the first that had closed would end the process under the others. */
const exits = new WeakMap<SignalSource, OrderlyExit>();

class OrderlyExit {
  readonly #source: SignalSource;
  readonly #closes = new Set<Close>();
  #isStopping = false;
  #unfinished = 0;
  #code = 0;

  constructor(source: SignalSource) {
    this.#source = source;
  }

  add(close: Close): () => void {
    // Started while the process was stopping: it ends with the rest.
    if (this.#isStopping) this.#close(close);
    else if (this.#closes.size === 0) for (const signal of SIGNALS) this.#source.on(signal, this.#onSignal);
    this.#closes.add(close);
    return () => this.#remove(close);
  }

  /** While it stops it goes on listening, for the second signal. */
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
        console.error("millrace: could not stop in good order:", error instanceof MillraceError ? error.message : error);
      })
      .then(() => {
        if (--this.#unfinished === 0) this.#source.exit(this.#code);
      });
  }
}

/** Checks what a user gave; at a signal it would be too late to complain. */
function closerOf(stoppable: Stoppable, options: StopOnSignalsOptions): Close {
  const { stop, close } = (stoppable ?? {}) as { readonly stop?: unknown; readonly close?: unknown };
  if (typeof stop !== "function" && typeof close !== "function") {
    throw invalid("stoppable", "a client, a worker, or anything else with a stop or close function", stoppable);
  }
  readFields(options, "the options of stopOnSignals", OPTION_NAMES);
  const { grace } = options;
  if (grace !== undefined) readGrace(grace);
  const handedOn = grace === undefined ? {} : { grace };
  const end = (typeof stop === "function" ? stop : close) as (options: StopOnSignalsOptions) => Promise<unknown>;
  return async () => end.call(stoppable, handedOn);
}
