import { onTestFinished } from "vitest";
import { until } from "./until.ts";

/** How many faults a test waits for. */
export const FAULTS = Number(process.env["MILLRACE_TEST_FAULTS"] ?? 5);

export interface Nemesis {
  /** Resolves when the faults have taken effect so often. */
  effects(count: number): Promise<void>;
  /** Ends it; tells how often faults took effect. May be called twice. */
  stop(): Promise<number>;
}

/** Does harm again and again, with pauses, until it is stopped, at the latest with the test. `harm` tells how often it took effect. */
export function keepHarming(harm: () => Promise<number> | number, pauseMs: () => number): Nemesis {
  const over = new AbortController();
  let effects = 0;
  let rest: () => void = () => {};
  const going = (async () => {
    while (!over.signal.aborted) {
      effects += await harm();
      if (over.signal.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs());
        rest = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  })();
  // A failure of it is told by `stop`; until then nobody is there to hear it.
  going.catch(() => over.abort());
  const stop = async (): Promise<number> => {
    over.abort();
    rest();
    await going;
    return effects;
  };
  onTestFinished(async () => void (await stop()));
  return {
    effects: async (count) => {
      await until(() => effects >= count || over.signal.aborted);
      if (effects < count) await going;
    },
    stop,
  };
}

/** A pause of some length between two bounds. */
export function between(leastMs: number, mostMs: number): () => number {
  return () => leastMs + Math.random() * (mostMs - leastMs);
}
