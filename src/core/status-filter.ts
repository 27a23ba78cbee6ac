import { invalid } from "./errors.ts";
import { type Status, STATUSES } from "./job.ts";

/** The filter word for jobs in status `failed`, without dead ones. */
const FAILED_ONLY = "failed_only";

/** Names from other queues. `failed` also finds dead jobs, because it usually means all jobs that failed for good. */
const ALIASES: Readonly<Record<string, readonly Status[]>> = {
  queued: ["pending"],
  processing: ["running"],
  active: ["running"],
  done: ["completed"],
  dead_letter: ["dead"],
  dead_lettered: ["dead"],
  failed: ["failed", "dead"],
  [FAILED_ONLY]: ["failed"],
};

/** The words that are offered for filters: the statuses, and the exact one for `failed`. */
export const STATUS_WORDS: readonly string[] = [...STATUSES, FAILED_ONLY];

const OTHER_NAMES = Object.keys(ALIASES).filter((name) => !(STATUSES as readonly string[]).includes(name));
const MUST_BE = `one of ${STATUSES.join(", ")}, or an alias: ${OTHER_NAMES.join(", ")}`;

/** The statuses that a filter names, one or several, in any case; undefined for all. Throws `invalid_input`. */
export function readStatusFilter(input: unknown): readonly Status[] | undefined {
  if (input === undefined || input === null) return undefined;
  const names: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (names.length === 0) throw invalid("status", `${MUST_BE}, or a list of them`, input);
  return [...new Set(names.flatMap(readName))];
}

function readName(name: unknown): readonly Status[] {
  const lower = typeof name === "string" ? name.toLowerCase() : "";
  if (Object.hasOwn(ALIASES, lower)) return ALIASES[lower]!;
  if ((STATUSES as readonly string[]).includes(lower)) return [lower as Status];
  throw invalid("status", MUST_BE, name);
}

/** The filter words that mean exactly these statuses: read again, they are the same ones. */
export function statusWords(statuses: readonly Status[]): string[] {
  const isExact = statuses.includes("dead");
  return statuses.map((status) => (status === "failed" && !isExact ? FAILED_ONLY : status));
}
