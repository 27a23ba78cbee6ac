/**
 * When has everything come to rest that one event caused? When no microtask and no `setImmediate` waits. Microtasks run out before the next
 * immediate; immediates are counted here, for as long as a simulation runs.
 */
const real = globalThis.setImmediate;

let waiting = 0;

function counted<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): NodeJS.Immediate {
  waiting++;
  return real(() => {
    waiting--;
    callback(...args);
  });
}

/** Counts immediates while `run` goes on. */
export async function countingImmediates<Answer>(run: () => Promise<Answer>): Promise<Answer> {
  globalThis.setImmediate = Object.assign(counted, { __promisify__: real.__promisify__ });
  try {
    return await run();
  } finally {
    globalThis.setImmediate = real;
  }
}

/** Resolves when nothing is left to do before time goes on. */
export async function calm(): Promise<void> {
  for (;;) {
    await new Promise<void>((resolve) => void real(resolve));
    if (waiting === 0) return;
  }
}
