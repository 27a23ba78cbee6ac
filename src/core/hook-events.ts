/** THE EVENTS OF HOOKS: what `client.on` and `worker.on` can listen to. The words are those of the event stream, without its `job:`. */
import { closestText } from "./closest-text.ts";
import { invalid, messageOf, MillraceError, preview } from "./errors.ts";
import type { Trouble } from "./trouble.ts";

export const JOB_EVENTS = ["started", "completed", "failed", "dead", "cancelled", "lost", "snoozed", "suspended", "released"] as const;
export const WORKER_EVENTS = [...JOB_EVENTS, "ready", "idle", "stopping", "stopped", "trouble"] as const;

/** Names in other queues, for people who come from there. */
const ELSEWHERE: Readonly<Record<string, (typeof WORKER_EVENTS)[number]>> = {
  active: "started",
  stalled: "lost",
  drained: "idle",
  error: "trouble",
  closing: "stopping",
  closed: "stopped",
};

/** Checks what `on` was given. Throws `invalid_input` that says which events there are. */
export function checkListener(event: unknown, known: readonly string[], listener: unknown): void {
  if (typeof event !== "string" || !known.includes(event)) {
    const message = `event must be one of ${known.join(", ")}; got ${preview(event)}${hintOf(event, known)}`;
    throw new MillraceError("invalid_input", message, { field: "event" });
  }
  if (typeof listener !== "function") throw invalid("listener", "a function", listener);
}

function hintOf(event: unknown, known: readonly string[]): string {
  if (typeof event !== "string") return "";
  if (Object.hasOwn(ELSEWHERE, event)) return `. It is called "${ELSEWHERE[event]}" here`;
  if ((WORKER_EVENTS as readonly string[]).includes(event)) return ". It is an event of a worker: use worker.on";
  const closest = closestText(event, known);
  return closest === null ? "" : `. Did you mean "${closest}"?`;
}

/** The trouble of a listener that threw or rejected. */
export function listenerFailed(event: string, error: unknown): Trouble {
  return { kind: "listener", message: `a listener of "${event}" failed: ${messageOf(error)}`, error };
}
