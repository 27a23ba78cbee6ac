import { formatDuration } from "../core/duration.ts";
import { MillraceError } from "../core/errors.ts";
import { type BatcherOptions, WaitingLimit } from "../lib/batcher.ts";
import type { Clock } from "../lib/clock.ts";
import { MAX_BATCH, type Store } from "../store/store.ts";

/** The most calls of a client that may wait for the store. */
const MAX_WAITING = 10_000;

/** How single calls of a client are gathered into batches: what its batchers have in common. */
export type Gathering = Pick<BatcherOptions<unknown, unknown>, "inFlight" | "maxItems" | "waitingLimit" | "patience">;

/** One limit bounds how many calls may wait. A call waits for its batch no longer than a call of the store may take. */
export function gatheringFor({ inFlight }: Pick<Store, "inFlight">, clock: Clock, deadlineMs: number): Gathering {
  return {
    inFlight,
    maxItems: MAX_BATCH,
    waitingLimit: new WaitingLimit(MAX_WAITING, () => unavailable("too many calls are already waiting for the store")),
    patience: {
      ms: deadlineMs,
      now: () => clock.monotonic(),
      tooLong: () => unavailable(`the call waited ${formatDuration(deadlineMs)} behind others, and the store did not answer`),
    },
  };
}

function unavailable(why: string): MillraceError {
  return new MillraceError("store_unavailable", `${why}; try again later`, { retryAfterMs: 1000 });
}
