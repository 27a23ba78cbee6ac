import { formatDuration } from "../core/duration.ts";
import { MillraceError } from "../core/errors.ts";
import { type BatcherOptions, WaitingLimit } from "../lib/batcher.ts";
import type { Clock } from "../lib/clock.ts";
import { MAX_BATCH, type Store } from "../store/store.ts";

/** The most calls of a client that may wait for the store, whatever they ask for. */
const MAX_WAITING = 10_000;

/** How the single calls of a client are gathered into batches: what all its batchers have in common. */
export type Gathering = Pick<BatcherOptions<unknown, unknown>, "inFlight" | "maxItems" | "waitingLimit" | "patience">;

/** Calls share one limit of how many may wait, and none waits longer for its batch than a call of the store may take. */
export function gatheringFor({ inFlight }: Pick<Store, "inFlight">, clock: Clock, deadlineMs: number): Gathering {
  return {
    inFlight,
    maxItems: MAX_BATCH,
    waitingLimit: new WaitingLimit(MAX_WAITING, () => unavailable("too many calls wait for the store already")),
    patience: {
      ms: deadlineMs,
      now: () => clock.monotonic(),
      tooLong: () => unavailable(`the call waited ${formatDuration(deadlineMs)} for those before it, and the store did not answer`),
    },
  };
}

function unavailable(why: string): MillraceError {
  return new MillraceError("store_unavailable", `${why}; try again later`, { retryAfterMs: 1000 });
}
