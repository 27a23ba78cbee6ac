/** Where time comes from. Everything that waits or measures takes one of these, so that tests can turn time by hand. */
export interface Clock {
  /** Milliseconds since the epoch. May step back when somebody sets the machine's clock. */
  now(): number;
  /** Milliseconds that only ever go forward, from an arbitrary start. */
  monotonic(): number;
  /** Calls back once after `ms`. Longer than a JavaScript timer can be is allowed. */
  setTimer(callback: () => void, ms: number): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Beyond this a JavaScript timer overflows and fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, ms) {
    let handle: NodeJS.Timeout;
    const arm = (left: number): void => {
      handle =
        left > LONGEST_TIMER_MS
          ? setTimeout(() => arm(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
          : setTimeout(callback, Math.max(0, left));
    };
    arm(ms);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms`, or at once when `signal` aborts: the caller looks at the signal to tell which. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = clock.setTimer(wake, ms);
    signal?.addEventListener("abort", wake);
  });
}

/** What the work answers, or null after `ms`: then it goes on by itself, and a failure that comes later is nobody's. */
export async function atMost<Answer>(clock: Clock, ms: number, work: Promise<Answer>): Promise<Answer | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = clock.setTimer(() => resolve(null), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.cancel();
  }
}
