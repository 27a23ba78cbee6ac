/**
 * WHAT A HANDLER MAY THROW to say what should follow, instead of the usual retry.
 *
 * They are known by a registered symbol, not by their class: an application may hold two copies of this package (one of its own, one of a
 * library that brings handlers along), and a Discard of the other copy must not become an ordinary failure.
 */
import { type Duration, durationWithin, formatDuration, MAX_DELAY_MS } from "./duration.ts";
import { readDuration } from "./read-fields.ts";

const CONTROL: unique symbol = Symbol.for("millrace.control");

/** The attempt failed and the next one comes after `delay`, whatever the job's retry curve says. Costs a retry like any failure. */
export class RetryAfter extends Error {
  override readonly name = "RetryAfter";
  readonly [CONTROL] = "retry-after";
  readonly delayMs: number;

  constructor(delay: Duration, message?: string) {
    super(message ?? `asked to be tried again after ${formatDuration(readDelay(delay))}`);
    this.delayMs = readDelay(delay);
  }
}

/** The job can never succeed: it goes to the dead letters at once, whatever retries remain. */
export class Discard extends Error {
  override readonly name: string = "Discard";
  readonly [CONTROL] = "discard";

  // oxlint-disable-next-line no-useless-constructor -- unlike the message of any error, the reason must be given
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
  }
}

/** Not now: the job runs again after `delay` (at least 1 s), and this attempt is not counted. At most 1,000 times a job. */
export class Snooze extends Error {
  override readonly name = "Snooze";
  readonly [CONTROL] = "snooze";
  readonly delayMs: number;

  constructor(delay: Duration) {
    super(`asked to be run again after ${formatDuration(readDelay(delay))}`);
    this.delayMs = readDelay(delay);
  }
}

export type Control =
  | { readonly kind: "retry-after"; readonly delayMs: number }
  | { readonly kind: "discard" }
  | { readonly kind: "snooze"; readonly delayMs: number };

/** What a thrown value asks for; null when it asks for nothing and is an ordinary failure. Never throws, whatever was thrown. */
export function controlOf(thrown: unknown): Control | null {
  try {
    if (typeof thrown !== "object" || thrown === null) return null;
    const kind = (thrown as { [CONTROL]?: unknown })[CONTROL];
    if (kind === "discard") return { kind };
    if (kind !== "retry-after" && kind !== "snooze") return null;
    // Another copy's class made it, perhaps of another version: its delay is checked like any input.
    const delayMs = durationWithin((thrown as { delayMs?: unknown }).delayMs, 0, MAX_DELAY_MS);
    return delayMs === undefined ? null : { kind, delayMs };
  } catch {
    return null; // a Proxy or a getter that throws
  }
}

function readDelay(delay: unknown): number {
  return readDuration(delay, "delay", 'a time of at most 10 years, in milliseconds or as "30s", "5m", "2h", "1d"', MAX_DELAY_MS);
}
