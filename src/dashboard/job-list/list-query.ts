/** The query of a list at the current URL. */
import { useMemo, useState } from "react";
import { MINUTE_MS } from "../../core/time-units.ts";
import { type JobSearch, toListQuery } from "../job-search.ts";
import { useNow } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import type { ListJobs } from "../shapes.ts";

/**
 * Spans go back from the current minute. While a text is searched for, they go back from the minute in which the filters were set: a search
 * with another time is another search, so that one over many jobs would start over every minute and never end.
 */
export function useListQuery(search: JobSearch): ListJobs {
  const [limit] = usePreference("pageSize");
  const current = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS;
  const { cursor: _, ...filters } = search;
  const key = JSON.stringify(filters);
  const [set, setSet] = useState({ key, minute: current });
  const isKept = set.key === key && search.q !== undefined;
  const minute = isKept ? set.minute : current;
  if (set.key !== key || set.minute !== minute) setSet({ key, minute });
  return useMemo(() => toListQuery(search, limit, minute), [search, limit, minute]);
}
