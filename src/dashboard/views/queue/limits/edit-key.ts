import { createContext } from "react";
import type { OneKeyLimitOptions } from "../../../../core/limits.ts";

/** A limit key whose limits are to be changed. */
export interface EditedKey {
  /** Null: all jobs without a key. */
  readonly key: string | null;
  readonly own: OneKeyLimitOptions | null;
  /** How many of its jobs run, if that is known. */
  readonly running?: number | undefined;
}

/** Opens the dialog with the limits of a key; null if the user may not change them. */
export const EditKey = createContext<((edited: EditedKey) => void) | null>(null);

/** What stands for a limit key; null means all jobs without one. */
export const WITHOUT_KEY = "jobs without a key";
