import { FacetTally } from "../core/facet-tally.ts";
import { facetOf } from "../core/facets.ts";
import type { Store } from "../store/store.ts";
import type { FacetCounts } from "./client.ts";
import { readFacetQuery } from "./filter.ts";
import { listAll } from "./search.ts";
import { resolveWhere } from "./where.ts";

const MAX_VALUES = 50;

/** Dead and failed jobs by the value of a facet, among those that match every filter. */
export async function countFacetValues(
  store: Pick<Store, "find" | "list" | "queues" | "facetValues">,
  field: unknown,
  filter: unknown,
): Promise<FacetCounts> {
  const { field: wanted, ...query } = readFacetQuery(field, filter);
  const parts = await resolveWhere(store, { ...query, sort: "state" as const });
  const [{ query: resolved, fields }, ...more] = parts;
  const { q, sort: _sort, ...others } = resolved;
  if (q === undefined && fields === null && more.length === 0) return store.facetValues({ ...others, field: wanted, limit: MAX_VALUES });
  // A text or another payload field needs what a list reads.
  const { jobs, isCapped } = await listAll(store, parts);
  const tally = new FacetTally();
  for (const { facets } of jobs) tally.add(facetOf(facets, wanted), 1);
  return { ...tally.top(MAX_VALUES), isCapped };
}
