/**
 * WHAT A HANDLER CAN THROW to choose what follows, instead of the usual retry.
 *
 * A registered symbol identifies them, not their class. An application may hold two copies of this package (its own, and that of a library
 * with handlers), and a Discard of the other copy must not become an ordinary failure.
 */
import { type Duration, durationWithin, formatDuration, MAX_DELAY_MS } from "./duration.ts";
import { readDuration } from "./read-fields.ts";

const CONTROL: unique symbol = Symbol.for("millrace.control");

/** The attempt failed, and the next one starts after `delay` instead of the job's retry delay. Costs a retry like any failure. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly [CONTROL] = "retry-after";
  readonly delayMs: number;

  constructor(delay: Duration, message?: string) {
    super(message ?? `the handler asked for a retry after ${formatDuration(readDelay(delay))}`);
    this.delayMs = readDelay(delay);
  }
}

/** The job can never succeed: it becomes a dead letter at once, even if retries remain. */
export class Discard extends Error {
  override readonly name: string = "Discard";
  readonly [CONTROL] = "discard";

  // oxlint-disable-next-line no-useless-constructor -- the reason is required, unlike the message of an Error
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
  }
}

/** Not now: the job runs again after `delay` (at least 1 s), and this attempt is not counted. A job can snooze up to 1,000 times. */
export class Snooze extends Error {
  override readonly name = "Snooze";
  readonly [CONTROL] = "snooze";
  readonly delayMs: number;

  constructor(delay: Duration) {
    super(`the handler asked to run again after ${formatDuration(readDelay(delay))}`);
    this.delayMs = readDelay(delay);
  }
}

/**
 * Not now, and nothing else of this limit key either, such as a customer for whom a service answered 429: no job of the key starts for `delay` (at least
 * 1 s). The job keeps its place, and this attempt is not counted; it counts as a snooze. For a job without a limit key it is a Snooze.
 */
export class HoldKey extends Error {
  override readonly name = "HoldKey";
  readonly [CONTROL] = "hold";
  readonly delayMs: number;

  constructor(delay: Duration) {
    super(`the handler asked to hold the limit key for ${formatDuration(readDelay(delay))}`);
    this.delayMs = readDelay(delay);
  }
}

export type Control =
  | { readonly kind: "retry-after"; readonly delayMs: number }
  | { readonly kind: "discard" }
  | { readonly kind: "snooze"; readonly delayMs: number }
  | { readonly kind: "hold"; readonly delayMs: number };

/** What a thrown value asks for; null for an ordinary failure. Never throws. */
export function controlOf(thrown: unknown): Control | null {
  try {
    if (typeof thrown !== "object" || thrown === null) return null;
    const kind = (thrown as { [CONTROL]?: unknown })[CONTROL];
    if (kind === "discard") return { kind };
    if (kind !== "retry-after" && kind !== "snooze" && kind !== "hold") return null;
    // Another version of the class may have made it, so its delay is checked like any input.
    const delayMs = durationWithin((thrown as { delayMs?: unknown }).delayMs, 0, MAX_DELAY_MS);
    return delayMs === undefined ? null : { kind, delayMs };
  } catch {
    return null; // a Proxy or a getter that throws
  }
}

function readDelay(delay: unknown): number {
  return readDuration(delay, "delay", 'a time of at most 10 years, in milliseconds or as "30s", "5m", "2h", "1d"', MAX_DELAY_MS);
}
