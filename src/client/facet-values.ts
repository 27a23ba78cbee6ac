import { FacetTally } from "../core/facet-tally.ts";
import { facetIn } from "../core/facets.ts";
import { MAX_PAGE } from "../core/filter.ts";
import { MAX_CANDIDATES, type Store } from "../store/store.ts";
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
  const resolved = await resolveWhere(store, query);
  const { q, ...others } = resolved.query;
  if (q === undefined && resolved.fields === null) return store.facetValues({ ...others, field: wanted, limit: MAX_VALUES });
  // A text or another payload field needs what a list reads.
  const { jobs, isCapped } = await listAll(store, { ...query, sort: "state", limit: MAX_PAGE }, MAX_CANDIDATES, MAX_PAGE);
  const tally = new FacetTally();
  for (const { facets } of jobs) tally.add(facetIn(facets, wanted), 1);
  return tally.top(MAX_VALUES, isCapped);
}
