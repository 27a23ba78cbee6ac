/** WHAT THE SETTINGS OF A QUEUE SAY ABOUT ITS NEW JOBS: which payload fields are facets, and defaults for their options. */
import { type AttemptDefaults, type AttemptOption, decodeDefaults, withDefaults } from "./attempt-options.ts";
import { decodeFacets, withFacets } from "./facets.ts";
import type { NewJob } from "./job.ts";
import type { QueueSettings } from "./queue.ts";

export interface Declared {
  readonly fields: readonly string[];
  readonly defaults: AttemptDefaults | null;
}

export const NOTHING_DECLARED: Declared = { fields: [], defaults: null };

/** What the queues say that say anything. */
export function declaredByQueue(
  queues: readonly { readonly name: string; readonly settings: Pick<QueueSettings, "facets" | "defaults"> }[],
): ReadonlyMap<string, Declared> {
  const declaring = queues.filter(({ settings }) => settings.facets !== null || settings.defaults !== null);
  return new Map(
    declaring.map(({ name, settings: { facets, defaults } }) => [
      name,
      { fields: decodeFacets(facets).map(({ field }) => field), defaults: decodeDefaults(defaults) },
    ]),
  );
}

/** A new job with the facets and defaults of its queue. `isOpen` tells which options nobody has set. */
export function asDeclared(job: NewJob, { fields, defaults }: Declared, isOpen: (name: AttemptOption) => boolean): NewJob {
  return withFacets(withDefaults(job, defaults, isOpen), fields);
}
