import type { Store } from "../../../src/store/store.ts";

/** Resolves when a store says that there may be work in the queue. */
export function workIn(store: Store, queue: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.watch((hint) => {
      if (hint.topic !== "work" || hint.queue !== queue) return;
      stop();
      resolve();
    });
  });
}
