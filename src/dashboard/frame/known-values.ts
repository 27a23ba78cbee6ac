/** Types, queues, tags, limit keys and facets in the answers that the page has. */
import { isInternalType } from "../../core/internal.ts";
import type { JobPage, QueueLimitUse, Schedule, Stats, Worker } from "../api.ts";
import { isLimitUse, queries } from "../queries.ts";
import type { KnownValues } from "../search-completions.ts";

export function knownValues(): KnownValues {
  const answers = queries.getQueryCache().findAll();
  const jobs = answers
    .filter(({ queryKey: [topic] }) => topic === "jobs" || topic === "dead")
    .flatMap(({ state }) => (state.data as JobPage | undefined)?.jobs ?? []);
  const inUse = answers
    .filter(({ queryKey }) => isLimitUse(queryKey))
    .flatMap(({ state }) => (state.data as QueueLimitUse | null | undefined)?.keys ?? []);
  const workers = queries.getQueryData<Worker[]>(["workers"]) ?? [];
  const schedules = queries.getQueryData<Schedule[]>(["schedules"]) ?? [];
  const latest = queries.getQueryData<string[]>(["types"]) ?? [];
  const handled = workers.flatMap(({ types }) => (types === "*" ? [] : types));
  const types = [...handled, ...schedules.map(({ type }) => type), ...latest, ...jobs.map(({ type }) => type)];
  return {
    types: sorted(types.filter((type) => !isInternalType(type))),
    queues: sorted(Object.keys(queries.getQueryData<Stats>(["stats"])?.queues ?? {})),
    tags: sorted(jobs.flatMap(({ tags }) => tags)),
    limitKeys: sorted([...inUse.map(({ key }) => key), ...jobs.flatMap(({ limitKey }) => limitKey ?? [])]),
    facets: pairsOf(jobs.map(({ facets }) => facets ?? {})),
  };
}

/** Each field with each of its values, once. */
function pairsOf(all: readonly Readonly<Record<string, string>>[]): [field: string, value: string][] {
  const texts = sorted(all.flatMap((facets) => Object.entries(facets).map((pair) => JSON.stringify(pair))));
  return texts.map((text) => JSON.parse(text) as [string, string]);
}

function sorted(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
