/** FAILED REQUESTS, as troubles: a mounted server has no log, and its answer has only the request_id. */
import { messageOf } from "../core/errors.ts";
import { safeLine } from "../core/safe-line.ts";
import type { OnTrouble } from "../core/trouble.ts";
import type { Clock } from "../lib/clock.ts";
import type { RequestFacts } from "./answerer.ts";

/** With a store that is down, every request fails for the same cause: one line in this time is enough. */
const TELL_AGAIN_MS = 10_000;
/** How many causes are remembered. */
const MAX_CAUSES = 100;

/** Tells of requests that failed by no fault of the caller. Each line has the request_id of its answer. */
export function tellFaults(onTrouble: OnTrouble, clock: Clock): (facts: RequestFacts) => void {
  const toldAt = new Map<string, number>();
  return ({ requestId, method, route, status, error }) => {
    if (error === undefined) return;
    const why = messageOf(error);
    const now = clock.monotonic();
    if (now - (toldAt.get(why) ?? -Infinity) < TELL_AGAIN_MS) return;
    if (toldAt.size >= MAX_CAUSES) toldAt.clear();
    toldAt.set(why, now);
    const request = route === null ? method : `${method} ${route}`;
    onTrouble({ kind: "request", message: safeLine(`${request} was answered with ${status} (request_id ${requestId}): ${why}`), error });
  };
}
