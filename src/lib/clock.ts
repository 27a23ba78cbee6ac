/** The source of time. Everything that waits or measures takes one, so that tests can control time. */
export interface Clock {
  /** Milliseconds since the epoch. Can go back if somebody sets the machine's clock. */
  now(): number;
  /** Milliseconds that never go back, from an arbitrary start. */
  monotonic(): number;
  /** Calls back once after `ms`, which may be longer than a JavaScript timer allows. */
  setTimer(callback: () => void, ms: number): Timer;
  /** What times a wait for I/O that somebody else does, if this clock stands still meanwhile. */
  readonly forIo?: Timers | undefined;
}

export type Timers = Pick<Clock, "setTimer">;

export interface Timer {
  cancel(): void;
}

/** A longer JavaScript timer overflows and fires at once. */
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

/** Resolves after `ms`, or when `signal` aborts: the caller checks the signal to know which. */
export function sleep(clock: Timers, ms: number, signal?: AbortSignal): Promise<void> {
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

/** The result of the work, or null after `ms`: then the work continues, and its later failure is ignored. */
export async function atMost<Answer>(clock: Clock, ms: number, work: Promise<Answer>): Promise<Answer | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = clock.setTimer(() => resolve(null), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.cancel();
  }
}
