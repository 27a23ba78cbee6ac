import type { Duration } from "../core/duration.ts";

/** A client, a worker, a server: what can be ended in good order. */
export type Stoppable =
  | { stop(options?: { readonly grace?: Duration }): Promise<unknown> }
  | { close(options?: { readonly grace?: Duration }): Promise<unknown> };

/** How a process ends at a signal. */
export interface StopOnSignalsOptions {
  /** Handed on to `stop` or `close`, for those that take it. */
  readonly grace?: Duration;
  /** The process; another in tests. */
  readonly process?: SignalSource;
}

/** The part of a process that this needs. */
export interface SignalSource {
  on(signal: "SIGTERM" | "SIGINT", listener: () => void): unknown;
  off(signal: "SIGTERM" | "SIGINT", listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Ends the process in good order at SIGTERM or SIGINT: the first closes what was given and exits with 0 (1 if that failed), a second one
 * exits at once with 1. Answers a function that undoes it.
 */
export function stopOnSignals(stoppable: Stoppable, options: StopOnSignalsOptions = {}): () => void {
  const source = options.process ?? process;
  let isStopping = false;

  const onSignal = (): void => {
    if (isStopping) return source.exit(1);
    isStopping = true;
    stopInOrder(stoppable, options.grace).then(
      () => source.exit(0),
      (error: unknown) => {
        console.error("millrace: could not stop in good order:", error);
        source.exit(1);
      },
    );
  };

  source.on("SIGTERM", onSignal);
  source.on("SIGINT", onSignal);
  return () => {
    source.off("SIGTERM", onSignal);
    source.off("SIGINT", onSignal);
  };
}

async function stopInOrder(stoppable: Stoppable, grace: Duration | undefined): Promise<void> {
  const options = grace === undefined ? {} : { grace };
  if ("stop" in stoppable) await stoppable.stop(options);
  else await stoppable.close(options);
}
