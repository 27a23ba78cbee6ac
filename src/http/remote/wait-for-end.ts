import { MAX_DELAY_MS } from "../../core/duration.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import { readDuration, readFields } from "../../core/read-fields.ts";
import type { Clock } from "../../lib/clock.ts";

/** The longest that one request waits for an end. */
const LONG_POLL_MS = 25_000;
const DEFAULT_WAIT_MS = 30_000;

/** What is waited for, and how to ask for it. */
export interface RemoteWait<Answer> {
  /** `job` or `flow`. */
  readonly noun: string;
  readonly id: string;
  /** Asks the server, which waits so long for the end. */
  readonly ask: (waitMs: number, signal: AbortSignal | undefined) => Promise<Answer>;
  readonly statusOf: (answer: Answer) => string;
  readonly hasEnded: (answer: Answer) => boolean;
}

/** Asks the server to wait, again and again, until the end or until the timeout is over. */
export async function waitForRemoteEnd<Answer>(clock: Clock, options: unknown, wait: RemoteWait<Answer>): Promise<Answer> {
  const { timeout = DEFAULT_WAIT_MS, signal } =
    options === undefined ? {} : readFields(options, "the options of wait", ["timeout", "signal"]);
  const timeoutMs = readDuration(timeout, "timeout", 'a time in milliseconds or as "30s", "5m"', MAX_DELAY_MS);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
  const until = clock.monotonic() + timeoutMs;
  for (;;) {
    const waitMs = Math.ceil(Math.min(Math.max(0, until - clock.monotonic()), LONG_POLL_MS));
    const answer = await wait.ask(waitMs, signal);
    if (wait.hasEnded(answer)) return answer;
    if (clock.monotonic() < until) continue;
    throw new MillraceError("wait_timeout", `${wait.noun} ${wait.id} did not end within ${timeoutMs} ms: it is ${wait.statusOf(answer)}`, {
      jobId: wait.id,
      field: "timeout",
    });
  }
}
