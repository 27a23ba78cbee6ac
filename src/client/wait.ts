import { MAX_DELAY_MS } from "../core/duration.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import { isTerminal, type Job } from "../core/job.ts";
import { readDuration } from "../core/read-fields.ts";
import { sleep } from "../lib/clock.ts";
import type { ClientParts } from "./announcer.ts";
import { jobNotFound, readId, readOptions } from "./refusals.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
const FIRST_LOOK_MS = 10;
const SLOWEST_LOOK_MS = 500;

export interface WaitParts extends Pick<ClientParts, "clock" | "announcer"> {
  readonly get: (id: string) => Promise<Job | null>;
  /** Aborts when the client closes, with the error for waiting callers. */
  readonly closing: AbortSignal;
}

/**
 * Resolves with the job once it has ended. Signals in this process make it fast. Polling, ever more slowly down to twice a second, makes it
 * certain: the job may end in another process, or the signal may be missed.
 */
export async function waitForEnd(parts: WaitParts, id: string, options: unknown): Promise<Job> {
  const { timeoutMs, signal } = readWaitOptions(options);
  const deadline = parts.clock.monotonic() + timeoutMs;
  const wakeUp = wakeUpOf(parts, readId(id), signal);
  try {
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, SLOWEST_LOOK_MS)) {
      signal?.throwIfAborted();
      parts.closing.throwIfAborted();
      wakeUp.reset();
      const job = await parts.get(id);
      if (job === null) throw jobNotFound(id);
      if (isTerminal(job.status)) return job;
      const left = deadline - parts.clock.monotonic();
      if (left <= 0) throw timedOut(job, timeoutMs);
      await sleep(parts.clock, Math.min(pause, left), wakeUp.signal());
    }
  } finally {
    wakeUp.stop();
  }
}

/** A signal that aborts when there is a reason to look before the pause is over. It is reset before each look, so none is missed. */
function wakeUpOf(parts: WaitParts, id: string, signal: AbortSignal | undefined): { reset(): void; signal(): AbortSignal; stop(): void } {
  let controller = new AbortController();
  const wake = (): void => controller.abort();
  const forget = parts.announcer.onEnd(id, wake);
  signal?.addEventListener("abort", wake);
  parts.closing.addEventListener("abort", wake);
  return {
    reset: () => (controller = new AbortController()),
    signal: () => controller.signal,
    stop: () => {
      forget();
      signal?.removeEventListener("abort", wake);
      parts.closing.removeEventListener("abort", wake);
    },
  };
}

function readWaitOptions(options: unknown): { timeoutMs: number; signal: AbortSignal | undefined } {
  const { timeout = DEFAULT_TIMEOUT_MS, signal } = readOptions(options, "the options of wait", ["timeout", "signal"]);
  const timeoutMs = readDuration(timeout, "timeout", 'a time in milliseconds or as "30s", "5m"', MAX_DELAY_MS);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
  return { timeoutMs, signal };
}

function timedOut(job: Job, timeoutMs: number): MillraceError {
  return new MillraceError("wait_timeout", `job ${job.id} did not end within ${timeoutMs} ms: it is ${job.status}`, {
    jobId: job.id,
    field: "timeout",
  });
}
