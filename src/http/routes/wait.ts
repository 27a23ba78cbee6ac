import { readDuration } from "../../core/read-fields.ts";
import { MAX_WAIT_MS } from "../contract/leases.ts";

/** How long a call would wait, in milliseconds. */
export function readWait(wait: unknown): number {
  return wait === undefined ? 0 : readDuration(wait, "wait", 'a time of at most "30s"', MAX_WAIT_MS);
}
