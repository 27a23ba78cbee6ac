import type { Facets } from "../../core/facets.ts";
import type { StoredJob } from "./stored-job.ts";

const NONE: ReadonlySet<StoredJob> = new Set();

/** The jobs of a queue by the values of its facets. */
export class JobsByFacet {
  readonly #jobs = new Map<string, Set<StoredJob>>();

  add(job: StoredJob): void {
    for (const key of keysOf(job.record.facets!)) {
      const known = this.#jobs.get(key);
      if (known === undefined) this.#jobs.set(key, new Set([job]));
      else known.add(job);
    }
  }

  remove(job: StoredJob): void {
    for (const key of keysOf(job.record.facets!)) {
      const known = this.#jobs.get(key)!;
      known.delete(job);
      if (known.size === 0) this.#jobs.delete(key);
    }
  }

  /** Jobs with the first of these facets and a sequence below `below`, newest first. */
  newestFirst(facets: Facets, below: number): StoredJob[] {
    return [...(this.#jobs.get(keysOf(facets)[0]!) ?? NONE)].filter(({ seq }) => seq < below).sort((a, b) => b.seq - a.seq);
  }
}

/** A field has no space in it. */
function keysOf(facets: Facets): string[] {
  return Object.entries(facets).map(([field, value]) => `${field} ${value}`);
}
