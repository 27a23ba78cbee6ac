import { useSyncExternalStore } from "react";

const narrow = matchMedia("(max-width: 639.98px)");

/** Whether the screen is as narrow as a phone. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      return () => narrow.removeEventListener("change", listener);
    },
    () => narrow.matches,
  );
}
