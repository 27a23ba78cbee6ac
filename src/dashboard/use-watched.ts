import { useSyncExternalStore } from "react";
import type { Watched } from "./watched.ts";

/** The current value; renders again when it changes. */
export function useWatched<Value>(watched: Watched<Value>): Value {
  return useSyncExternalStore(watched.subscribe, watched.get);
}
