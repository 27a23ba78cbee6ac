/** WHAT THE SEARCH SUGGESTS: names of filters, and values that the page has already loaded. It asks the server for nothing. */
import { PRIORITY_LEVELS } from "../core/job.ts";
import { STATUS_WORDS } from "../core/status-filter.ts";
import { PAYLOAD } from "./find-jobs.ts";
import { FILTER_NAMES, type FilterName, searchName, SPANS } from "./job-search.ts";

export interface KnownValues {
  readonly types: readonly string[];
  readonly queues: readonly string[];
  readonly tags: readonly string[];
  readonly limitKeys: readonly string[];
  /** Payload fields and values that jobs have: facets. */
  readonly facets: readonly (readonly [field: string, value: string])[];
}

const MAX_SHOWN = 20;

const VALUES: Partial<Record<FilterName, (known: KnownValues) => readonly string[]>> = {
  type: ({ types }) => types,
  queue: ({ queues }) => queues,
  status: () => STATUS_WORDS,
  tag: ({ tags }) => tags,
  limit_key: ({ limitKeys }) => limitKeys,
  priority: () => Object.keys(PRIORITY_LEVELS),
  from: () => SPANS.map(([span]) => span),
  ended: () => SPANS.map(([span]) => span),
};

/** Spaces divide words, except inside quotes, which may still be open. */
const WORDS = /(?:[^\s"]|"[^"]*(?:"|$))+/g;

/** The text with its last word completed in each way that fits; empty if nothing fits, or if it is complete. */
export function completions(text: string, known: KnownValues): string[] {
  const last = text.match(WORDS)?.at(-1) ?? "";
  if (last === "" || !text.endsWith(last)) return [];
  const before = text.slice(0, -last.length);
  const word = last.replaceAll('"', "").toLowerCase();
  const fields = known.facets.map(([field, value]) => [PAYLOAD + field, value] as const);
  const filters = FILTER_NAMES.filter((name) => VALUES[name] !== undefined);
  const names: readonly string[] = [...filters.map(searchName), ...new Set(fields.map(([field]) => field))];
  const values = filters.flatMap((name) => (VALUES[name]?.(known) ?? []).map((value) => [searchName(name), value] as const));
  const pairs = [...values, ...fields];
  const colon = word.indexOf(":");
  const isNamed = names.some((name) => name.toLowerCase() === word.slice(0, colon));
  const fitting = pairs.filter(([name, value]) =>
    isNamed
      ? name.toLowerCase() === word.slice(0, colon) && value.toLowerCase().includes(word.slice(colon + 1))
      : value.toLowerCase().includes(word),
  );
  const begun = isNamed ? [] : names.filter((name) => name.toLowerCase().startsWith(word)).map((name) => `${name}:`);
  return [...begun, ...fitting.map(([name, value]) => `${name}:${/\s/.test(value) ? `"${value}"` : value}`)]
    .map((end) => before + end)
    .filter((whole) => whole !== text)
    .slice(0, MAX_SHOWN);
}
