import type { Line } from "../line.ts";
import type { Tale } from "../tale.ts";
import type { Invariant } from "../violation.ts";

/** A history that breaks a promise, and what else cannot but be broken by it. */
export type BadHistory = readonly [invariant: Invariant, name: string, tell: (tale: Tale) => readonly Line[], also?: readonly Invariant[]];

/** A job that ran once and ended well: what the rest of a tale is told around. */
export function ran(tale: Tale, job = "a"): Tale {
  return tale.insert(job).claim("w", [job, 1]).complete("w", job, 1);
}
